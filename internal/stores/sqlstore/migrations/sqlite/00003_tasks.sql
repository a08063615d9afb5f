-- +goose Up
-- What is said of all tasks of a user without reading them.
CREATE TABLE task_lists (
	user_id  TEXT   NOT NULL PRIMARY KEY,
	total    BIGINT NOT NULL,
	revision BIGINT NOT NULL,
	-- When the newest was created: those with higher ids are not older.
	newest   BIGINT NOT NULL
);

-- Times are microseconds since 1970, UTC; a due date is YYYY-MM-DD.
CREATE TABLE tasks (
	user_id     TEXT     NOT NULL,
	id          BIGINT   NOT NULL,
	title       TEXT     NOT NULL,
	description TEXT,
	completed   BOOLEAN  NOT NULL,
	priority    SMALLINT NOT NULL,
	due_date    TEXT,
	created_at  BIGINT   NOT NULL,
	updated_at  BIGINT   NOT NULL,
	PRIMARY KEY (user_id, id)
) WITHOUT ROWID;

-- The last id that was given to a task. It never goes down, so no id comes twice.
CREATE TABLE task_ids (last BIGINT NOT NULL);
INSERT INTO task_ids (last) VALUES (0);

-- An add is one statement for its caller: what it counts is done here, at a third of
-- what it costs to ask for it.
-- +goose StatementBegin
CREATE TRIGGER tasks_added AFTER INSERT ON tasks BEGIN
	UPDATE task_ids SET last = NEW.id;
	INSERT INTO task_lists (user_id, total, revision, newest) VALUES (NEW.user_id, 1, 1, NEW.created_at)
	ON CONFLICT (user_id) DO UPDATE SET total = total + 1, revision = revision + 1, newest = NEW.created_at;
END;
-- +goose StatementEnd

-- What was answered to a call that is to be carried out once.
CREATE TABLE once_keys (
	principal   TEXT   NOT NULL,
	tool        TEXT   NOT NULL,
	key         TEXT   NOT NULL,
	request     TEXT   NOT NULL,
	state       TEXT   NOT NULL,
	answer      BLOB,
	created_at  BIGINT NOT NULL,
	-- Until when the claim of one who carries it out counts.
	lease_until BIGINT,
	PRIMARY KEY (principal, tool, key)
);
CREATE INDEX once_keys_age ON once_keys (created_at);
