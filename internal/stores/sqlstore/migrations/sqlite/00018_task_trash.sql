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
	-- Microseconds since 1970.
	deleted_at  BIGINT   NOT NULL,
	PRIMARY KEY (user_id, id)
) WITHOUT ROWID;
CREATE INDEX task_trash_age ON task_trash (deleted_at);

-- The revision of a list grows with each change, without a statement of its own.
-- +goose StatementBegin
CREATE TRIGGER tasks_changed AFTER UPDATE ON tasks BEGIN
	UPDATE task_lists SET revision = revision + 1 WHERE user_id = NEW.user_id;
END;
-- +goose StatementEnd

-- A restored task has an older id and an older time than the newest task of its list.
DROP TRIGGER tasks_added;
-- +goose StatementBegin
CREATE TRIGGER tasks_added AFTER INSERT ON tasks BEGIN
	UPDATE task_ids SET last = max(last, NEW.id);
	INSERT INTO task_lists (user_id, total, revision, newest) VALUES (NEW.user_id, 1, 1, NEW.created_at)
	ON CONFLICT (user_id) DO UPDATE SET total = total + 1, revision = revision + 1, newest = max(newest, NEW.created_at);
END;
-- +goose StatementEnd
