-- +goose Up
-- A decision is bound to what the person saw, an approval can be withdrawn, and one whose effect
-- would be another now becomes changed. SQLite cannot alter a CHECK, so the table is made anew.
CREATE TABLE approvals_new (
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
	arguments  BLOB   NOT NULL,
	summary    TEXT   NOT NULL,
	state      TEXT   NOT NULL CHECK (state IN ('pending', 'approved', 'denied', 'changed', 'withdrawn')),
	-- Times are microseconds since 1970, UTC.
	created_at BIGINT NOT NULL,
	expires_at BIGINT NOT NULL,
	decided_at BIGINT,
	decided_by TEXT   NOT NULL DEFAULT '',
	reason     TEXT   NOT NULL DEFAULT '',
	spent_at   BIGINT,
	-- Proves that the decision was made by a person here; a database can be copied.
	seal       TEXT   NOT NULL DEFAULT '',
	-- The state that the person saw when they decided.
	shown      TEXT   NOT NULL DEFAULT ''
);
INSERT INTO approvals_new (id, key, open_key, workspace, principal, tool, version, digest, arguments, summary, state,
	created_at, expires_at, decided_at, decided_by, reason, spent_at, seal)
SELECT id, key, open_key, workspace, principal, tool, version, digest, arguments, summary, state,
	created_at, expires_at, decided_at, decided_by, reason, spent_at, seal FROM approvals;
DROP TABLE approvals;
ALTER TABLE approvals_new RENAME TO approvals;
CREATE INDEX approvals_unspent ON approvals (key, created_at, id) WHERE spent_at IS NULL;
CREATE INDEX approvals_pending ON approvals (created_at, id) WHERE state = 'pending';
CREATE INDEX approvals_created ON approvals (created_at, id);
CREATE INDEX approvals_expiry ON approvals (expires_at);

-- A token with a role belongs to a person and is good for decisions alone. elicits: what the person
-- at the client of an agent answers counts as a decision.
ALTER TABLE agent_tokens ADD COLUMN role TEXT NOT NULL DEFAULT '';
ALTER TABLE agent_tokens ADD COLUMN elicits BOOLEAN NOT NULL DEFAULT FALSE;
