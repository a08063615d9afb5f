-- +goose Up
-- How often a file of a workspace was read, and when last, in microseconds since 1970, UTC.
CREATE TABLE file_accesses (
	workspace TEXT   NOT NULL,
	-- BYTEA, for a file system lets a name be anything.
	path      BYTEA  NOT NULL,
	reads     BIGINT NOT NULL,
	last_at   BIGINT NOT NULL,
	PRIMARY KEY (workspace, path)
);
CREATE INDEX file_accesses_recent ON file_accesses (workspace, last_at);
