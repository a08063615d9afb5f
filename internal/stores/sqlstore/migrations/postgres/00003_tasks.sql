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
);

-- A sequence never goes down, so no id comes twice.
CREATE SEQUENCE task_ids AS BIGINT;

-- What was answered to a call that is to be carried out once.
CREATE TABLE once_keys (
	principal   TEXT   NOT NULL,
	tool        TEXT   NOT NULL,
	key         TEXT   NOT NULL,
	request     TEXT   NOT NULL,
	state       TEXT   NOT NULL,
	answer      BYTEA,
	created_at  BIGINT NOT NULL,
	-- Until when the claim of one who carries it out counts.
	lease_until BIGINT,
	PRIMARY KEY (principal, tool, key)
);
CREATE INDEX once_keys_age ON once_keys (created_at);

-- What replicas share, and a single process keeps in memory and files.

-- When a caller's allowance is full again, the latest clock reading of those who asked,
-- and whether the last of them passed. Times are nanoseconds. Lost in a crash, and no
-- harm done. An index on a time would slow every call down.
CREATE UNLOGGED TABLE rate_limits (
	key     TEXT    NOT NULL PRIMARY KEY,
	full_at BIGINT  NOT NULL,
	seen_at BIGINT  NOT NULL,
	passed  BOOLEAN NOT NULL
) WITH (fillfactor = 50);

-- Append-only logs: one row a log, locked by who appends, and one row a line.
CREATE TABLE logs (
	log        TEXT   NOT NULL PRIMARY KEY,
	lines      BIGINT NOT NULL,
	bytes      BIGINT NOT NULL,
	changed_at BIGINT NOT NULL,
	tip        BYTEA
);
CREATE TABLE log_lines (
	log  TEXT   NOT NULL,
	line BIGINT NOT NULL,
	body BYTEA  NOT NULL,
	PRIMARY KEY (log, line)
);

-- Random keys, made by whoever needs one first.
CREATE TABLE secrets (
	name  TEXT  NOT NULL PRIMARY KEY,
	value BYTEA NOT NULL
);
