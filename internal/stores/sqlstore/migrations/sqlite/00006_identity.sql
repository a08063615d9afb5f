-- +goose Up
-- The tokens of agents, without their secrets. Times are microseconds since 1970, UTC.
CREATE TABLE agent_tokens (
	id            TEXT   NOT NULL PRIMARY KEY,
	name          TEXT   NOT NULL,
	-- The name while the token is neither revoked nor known to have expired, NULL
	-- afterwards: UNIQUE leaves no room for two live tokens of one name.
	live_name     TEXT   UNIQUE,
	user_id       TEXT   NOT NULL,
	scopes        TEXT   NOT NULL,
	-- How many requests in how many nanoseconds; zero is no rate of its own.
	rate_requests BIGINT NOT NULL,
	rate_per      BIGINT NOT NULL,
	made_by       TEXT   NOT NULL,
	created_at    BIGINT NOT NULL,
	expires_at    BIGINT,
	revoked_at    BIGINT,
	used_at       BIGINT,
	hash          TEXT   NOT NULL UNIQUE,
	-- Proves that the token was made here; a database can be copied.
	seal          TEXT   NOT NULL
);

-- The sessions of people at the console, by the hash of their cookie.
CREATE TABLE console_sessions (
	hash       TEXT   NOT NULL PRIMARY KEY,
	name       TEXT   NOT NULL,
	role       TEXT   NOT NULL,
	created_at BIGINT NOT NULL,
	expires_at BIGINT NOT NULL,
	seen_at    BIGINT NOT NULL,
	-- Proves that the person signed in here.
	seal       TEXT   NOT NULL
);
CREATE INDEX console_sessions_expiry ON console_sessions (expires_at);

-- Whose links to the console are void if they were made until then. Whose is a hash of
-- the name and the workspace.
CREATE TABLE console_voids (
	whose TEXT   NOT NULL PRIMARY KEY,
	until BIGINT NOT NULL
);
