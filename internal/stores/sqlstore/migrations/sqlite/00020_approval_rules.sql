-- +goose Up
-- Standing permissions and denials of people. Times are microseconds since 1970, UTC.
CREATE TABLE approval_rules (
	id         TEXT    NOT NULL PRIMARY KEY,
	allow      BOOLEAN NOT NULL, -- a permission; otherwise a denial
	request    TEXT    NOT NULL, -- the request that it was made from
	workspace  TEXT    NOT NULL,
	principal  TEXT    NOT NULL,
	tool       TEXT    NOT NULL,
	version    TEXT    NOT NULL,
	digest     TEXT    NOT NULL,
	scope      TEXT    NOT NULL, -- which arguments calls must have, as JSON
	calls      INTEGER NOT NULL, -- how many a permission lets pass
	reason     TEXT    NOT NULL,
	made_by    TEXT    NOT NULL,
	created_at BIGINT  NOT NULL,
	expires_at BIGINT  NOT NULL,
	seal       TEXT    NOT NULL, -- proves that a person made the rule here; a database can be copied
	proof      TEXT    NOT NULL, -- the signature of a passkey, as JSON; '' if there is none
	used       INTEGER NOT NULL DEFAULT 0,
	used_at    BIGINT,
	revoked_at BIGINT,
	revoked_by TEXT    NOT NULL DEFAULT ''
);

CREATE INDEX approval_rules_of_caller ON approval_rules (principal, tool, expires_at);
CREATE INDEX approval_rules_by_age ON approval_rules (created_at);
