-- +goose Up
-- The passkeys with which people sign approvals. Times are microseconds since 1970, UTC.
CREATE TABLE passkeys (
	credential_id TEXT    NOT NULL PRIMARY KEY, -- in hex
	person        TEXT    NOT NULL,
	name          TEXT    NOT NULL,
	public_key    BLOB   NOT NULL,
	sign_count    BIGINT  NOT NULL,
	synced        BOOLEAN NOT NULL,
	transports    TEXT    NOT NULL,
	created_at    BIGINT  NOT NULL,
	used_at       BIGINT,
	-- True for a passkey that was registered without the signature of another one: UNIQUE leaves no
	-- room for two of them.
	alone         BOOLEAN UNIQUE,
	-- Proves that the passkey was registered here; a database can be copied.
	seal          TEXT    NOT NULL
);

-- The signature of a passkey under the approval, as JSON; '' if there is none.
ALTER TABLE approvals ADD COLUMN proof TEXT NOT NULL DEFAULT '';
