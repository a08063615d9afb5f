-- +goose Up
-- Audit records of changes in this database. The transaction that makes a change adds its record
-- here; soon after that the record is moved to the chain, which is in files.
CREATE TABLE outbox (
	id       INTEGER PRIMARY KEY,
	call     TEXT    NOT NULL UNIQUE, -- the id of the call
	owner    TEXT    NOT NULL,        -- the process that moves it
	body     BLOB    NOT NULL,        -- the record, as if the call succeeded
	-- Microseconds since 1970.
	added_at BIGINT  NOT NULL DEFAULT (CAST(unixepoch('subsec') * 1000000 AS INTEGER))
);
