-- +goose Up
-- The processes that have announced changes outside of the database in audit records, and may not
-- have recorded whether they made them.
CREATE TABLE announcers (
	owner   TEXT   PRIMARY KEY,
	-- The places in the records before which all of its changes are settled, as JSON.
	settled TEXT   NOT NULL,
	-- When the process was last alive, in microseconds since 1970, by the clock of the database.
	seen_at BIGINT NOT NULL
);
