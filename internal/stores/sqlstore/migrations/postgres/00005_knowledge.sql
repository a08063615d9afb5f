-- +goose Up
-- What a workspace knows, in pieces. Times are microseconds since 1970, UTC.

-- Each change has a number, counted here: who changes anything holds the row.
CREATE TABLE knowledge_workspaces (
	workspace  TEXT   NOT NULL PRIMARY KEY,
	generation BIGINT NOT NULL,
	-- The last change of what is gone so long that nothing is left of it.
	forgotten  BIGINT NOT NULL
);

-- Files and the like, and that they are gone.
CREATE TABLE knowledge_sources (
	id          BIGINT  GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
	workspace   TEXT    NOT NULL,
	-- BYTEA, for a file system lets a name be anything, and a text may hold U+0000.
	path        BYTEA   NOT NULL,
	hash        BYTEA   NOT NULL,
	size        BIGINT  NOT NULL,
	modified_at BIGINT,
	generation  BIGINT  NOT NULL,
	changed_at  BIGINT  NOT NULL,
	gone        BOOLEAN NOT NULL,
	-- Whether there are discoveries among its pieces, which are wanted before all else.
	discoveries BOOLEAN NOT NULL,
	pieces      BIGINT  NOT NULL,
	UNIQUE (workspace, path)
);
CREATE UNIQUE INDEX knowledge_sources_changes ON knowledge_sources (workspace, generation, path);
CREATE INDEX knowledge_sources_discoveries ON knowledge_sources (workspace, generation, path) WHERE discoveries;
CREATE INDEX knowledge_sources_gone ON knowledge_sources (workspace, changed_at) WHERE gone;

CREATE TABLE knowledge_pieces (
	source_id  BIGINT NOT NULL,
	number     BIGINT NOT NULL,
	key        BYTEA  NOT NULL,
	source     BYTEA  NOT NULL,
	type       BYTEA  NOT NULL,
	name       BYTEA  NOT NULL,
	body       BYTEA  NOT NULL,
	module     BYTEA  NOT NULL,
	session    BYTEA  NOT NULL,
	dated_at   BIGINT,
	first_line BIGINT NOT NULL,
	last_line  BIGINT NOT NULL,
	PRIMARY KEY (source_id, number)
);
CREATE INDEX knowledge_pieces_key ON knowledge_pieces (key);

-- Vectors are of a model and a text, whoever has it. There is nothing in numbers to compress.
CREATE TABLE knowledge_vectors (
	model      TEXT   NOT NULL,
	key        BYTEA  NOT NULL,
	created_at BIGINT NOT NULL,
	-- How many numbers there should be: float32, little-endian.
	dims       BIGINT NOT NULL,
	vector     BYTEA  NOT NULL,
	PRIMARY KEY (model, key)
);
ALTER TABLE knowledge_vectors ALTER COLUMN vector SET STORAGE EXTERNAL;

-- Which models a workspace wants vectors of, and when it last said so.
CREATE TABLE knowledge_models (
	model     TEXT   NOT NULL,
	workspace TEXT   NOT NULL,
	wanted_at BIGINT NOT NULL,
	PRIMARY KEY (model, workspace)
);

-- Who does the bulk of the work, and until when that counts.
CREATE TABLE knowledge_leases (
	workspace   TEXT   NOT NULL PRIMARY KEY,
	holder      BYTEA  NOT NULL,
	lease_until BIGINT NOT NULL
);

-- What clients did in a stretch of work.
CREATE TABLE client_sessions (
	workspace  TEXT    NOT NULL,
	id         TEXT    NOT NULL,
	key        BYTEA   NOT NULL,
	-- SHA-256 of the key, which may be too long for an index.
	key_hash   BYTEA   NOT NULL,
	principal  BYTEA   NOT NULL,
	client     BYTEA   NOT NULL,
	started_at BIGINT  NOT NULL,
	last_at    BIGINT  NOT NULL,
	ended      BOOLEAN NOT NULL,
	-- Lists as JSON.
	files      BYTEA   NOT NULL,
	searches   BYTEA   NOT NULL,
	tasks      BYTEA   NOT NULL,
	PRIMARY KEY (workspace, id)
);
-- One client has one open session.
CREATE UNIQUE INDEX client_sessions_open ON client_sessions (workspace, key_hash) WHERE NOT ended;
CREATE INDEX client_sessions_recent ON client_sessions (workspace, last_at, id);

-- Sessions that are no longer kept, until those who know of them have been told.
CREATE TABLE client_sessions_pruned (
	workspace TEXT   NOT NULL,
	id        TEXT   NOT NULL,
	pruned_at BIGINT NOT NULL,
	PRIMARY KEY (workspace, id)
);
CREATE INDEX client_sessions_pruned_order ON client_sessions_pruned (workspace, pruned_at, id);
