-- +goose Up
CREATE TABLE background_tasks (
	id           TEXT    NOT NULL PRIMARY KEY,
	place        TEXT    NOT NULL,
	principal    TEXT    NOT NULL,
	tool         TEXT    NOT NULL,
	digest       TEXT    NOT NULL,
	face         TEXT    NOT NULL,
	-- BYTEA holds text that may be anything: TEXT has no place for U+0000.
	client       BYTEA   NOT NULL,
	arguments    BYTEA   NOT NULL,
	capabilities TEXT    NOT NULL,
	-- Times are microseconds since 1970, UTC; poll is microseconds.
	created_at   BIGINT  NOT NULL,
	expires_at   BIGINT  NOT NULL,
	poll         BIGINT  NOT NULL,
	status       TEXT    NOT NULL CHECK (status IN ('working', 'input_required', 'completed', 'failed', 'cancelled')),
	message      BYTEA   NOT NULL,
	updated_at   BIGINT  NOT NULL,
	-- JSON: what is asked, how it failed, and what the next run goes on from.
	questions    BYTEA,
	fault        BYTEA,
	resume       BYTEA   NOT NULL,
	body         BYTEA,
	content      BYTEA,
	is_error     BOOLEAN NOT NULL,
	-- Who runs it, and until when that counts unless they renew it.
	owner        TEXT    NOT NULL,
	lease_until  BIGINT,
	cancel_asked BOOLEAN NOT NULL,
	revision     BIGINT  NOT NULL,
	seal         TEXT    NOT NULL
);
-- Each index serves one query: how many of a principal are unfinished, what to forget.
CREATE INDEX background_tasks_unfinished ON background_tasks (principal) WHERE status IN ('working', 'input_required');
CREATE INDEX background_tasks_expiry ON background_tasks (expires_at);

-- Tokens that were good for one use, until they would have expired anyway.
CREATE TABLE spent_tokens (
	token      TEXT   NOT NULL PRIMARY KEY,
	expires_at BIGINT NOT NULL
);
CREATE INDEX spent_tokens_expiry ON spent_tokens (expires_at);
