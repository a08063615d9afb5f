-- +goose Up
-- Which files with a snapshot of the index were written by processes that use this database, and
-- the last change that each contains.
CREATE TABLE knowledge_snapshots (
	workspace  TEXT   NOT NULL,
	id         BYTEA  NOT NULL,
	generation BIGINT NOT NULL,
	made_at    BIGINT NOT NULL,
	PRIMARY KEY (workspace, id)
);
