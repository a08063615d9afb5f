-- +goose Up
-- The task before its last change, as JSON; NULL if it was never changed.
ALTER TABLE tasks ADD COLUMN previous TEXT;

-- Deleted tasks, which can be restored for some time.
CREATE TABLE task_trash (
	user_id     TEXT     NOT NULL,
	id          BIGINT   NOT NULL,
	title       TEXT     NOT NULL,
	description TEXT,
	completed   BOOLEAN  NOT NULL,
	priority    SMALLINT NOT NULL,
	due_date    TEXT,
	created_at  BIGINT   NOT NULL,
	updated_at  BIGINT   NOT NULL,
	depends_on  TEXT,
	fence       BIGINT   NOT NULL,
	previous    TEXT,
	claimed_by  TEXT,
	lease_until BIGINT,
	-- Microseconds since 1970, by the clock of the database.
	deleted_at  BIGINT   NOT NULL DEFAULT (extract(epoch FROM clock_timestamp()) * 1000000)::bigint,
	PRIMARY KEY (user_id, id)
);
CREATE INDEX task_trash_age ON task_trash (deleted_at);
