-- +goose Up
-- What a workspace knows, in pieces. Times are microseconds since 1970, UTC.

-- Each change has a number, counted here: who changes anything holds the row.
CREATE TABLE knowledge_workspaces (
	workspace  TEXT   NOT NULL PRIMARY KEY,
	generation BIGINT NOT NULL,
	-- The last change of what is gone so long that nothing is left of it.
	forgotten  BIGINT NOT NULL
) WITHOUT ROWID;

-- Files and the like, and that they are gone.
CREATE TABLE knowledge_sources (
	id          INTEGER NOT NULL PRIMARY KEY,
	workspace   TEXT    NOT NULL,
	path        TEXT    NOT NULL,
	hash        BLOB    NOT NULL,
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

-- Texts are too long for a table without rowids, which would keep most of each elsewhere.
CREATE TABLE knowledge_pieces (
	source_id  BIGINT NOT NULL,
	number     BIGINT NOT NULL,
	key        BLOB   NOT NULL,
	source     TEXT   NOT NULL,
	type       TEXT   NOT NULL,
	name       TEXT   NOT NULL,
	body       TEXT   NOT NULL,
	module     TEXT   NOT NULL,
	session    TEXT   NOT NULL,
	dated_at   BIGINT,
	first_line BIGINT NOT NULL,
	last_line  BIGINT NOT NULL,
	PRIMARY KEY (source_id, number)
);
CREATE INDEX knowledge_pieces_key ON knowledge_pieces (key);

-- Vectors are of a model and a text, whoever has it. A sweep reads the index alone.
CREATE TABLE knowledge_vectors (
	model      TEXT   NOT NULL,
	key        BLOB   NOT NULL,
	created_at BIGINT NOT NULL,
	-- How many numbers there should be: float32, little-endian.
	dims       BIGINT NOT NULL,
	vector     BLOB   NOT NULL,
	PRIMARY KEY (model, key)
);

-- Which models a workspace wants vectors of, and when it last said so.
CREATE TABLE knowledge_models (
	model     TEXT   NOT NULL,
	workspace TEXT   NOT NULL,
	wanted_at BIGINT NOT NULL,
	PRIMARY KEY (model, workspace)
) WITHOUT ROWID;

-- Who does the bulk of the work, and until when that counts.
CREATE TABLE knowledge_leases (
	workspace   TEXT   NOT NULL PRIMARY KEY,
	holder      TEXT   NOT NULL,
	lease_until BIGINT NOT NULL
) WITHOUT ROWID;

-- What clients did in a stretch of work.
CREATE TABLE client_sessions (
	workspace  TEXT    NOT NULL,
	id         TEXT    NOT NULL,
	key        TEXT    NOT NULL,
	-- SHA-256 of the key, which may be too long for an index.
	key_hash   BLOB    NOT NULL,
	principal  TEXT    NOT NULL,
	client     TEXT    NOT NULL,
	started_at BIGINT  NOT NULL,
	last_at    BIGINT  NOT NULL,
	ended      BOOLEAN NOT NULL,
	-- Lists as JSON.
	files      BLOB    NOT NULL,
	searches   BLOB    NOT NULL,
	tasks      BLOB    NOT NULL,
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
) WITHOUT ROWID;
CREATE INDEX client_sessions_pruned_order ON client_sessions_pruned (workspace, pruned_at, id);
