-- +goose Up
CREATE TABLE approvals (
	id         TEXT   NOT NULL PRIMARY KEY,
	key        TEXT   NOT NULL,
	-- The key while the question is open, NULL afterwards: UNIQUE leaves no
	-- room for two open questions about one call.
	open_key   TEXT   UNIQUE,
	workspace  TEXT   NOT NULL,
	principal  TEXT   NOT NULL,
	tool       TEXT   NOT NULL,
	version    TEXT   NOT NULL,
	digest     TEXT   NOT NULL,
	arguments  BYTEA  NOT NULL,
	-- BYTEA holds text that may be anything: TEXT has no place for U+0000.
	summary    BYTEA  NOT NULL,
	state      TEXT   NOT NULL CHECK (state IN ('pending', 'approved', 'denied')),
	-- Times are microseconds since 1970, UTC.
	created_at BIGINT NOT NULL,
	expires_at BIGINT NOT NULL,
	decided_at BIGINT,
	decided_by TEXT   NOT NULL DEFAULT '',
	reason     BYTEA  NOT NULL DEFAULT '',
	spent_at   BIGINT,
	-- Proves that the decision was made by a person here; a database can be copied.
	seal       TEXT   NOT NULL DEFAULT ''
);
-- Each index serves one query: what a call may spend, what waits, what was.
CREATE INDEX approvals_unspent ON approvals (key, created_at, id) WHERE spent_at IS NULL;
CREATE INDEX approvals_pending ON approvals (created_at, id) WHERE state = 'pending';
CREATE INDEX approvals_created ON approvals (created_at, id);
CREATE INDEX approvals_expiry ON approvals (expires_at);
