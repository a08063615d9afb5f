-- +goose Up
-- An index of the audit records. It holds nothing that is not in the records: if any of
-- these tables is dropped, all are made anew by this file and filled from the records.
DROP TABLE IF EXISTS call_sources;
DROP TABLE IF EXISTS call_days;
DROP TABLE IF EXISTS call_kinds;
DROP TABLE IF EXISTS call_counts;
DROP TABLE IF EXISTS calls;

-- The records that were indexed: a database may serve several workspaces.
CREATE TABLE call_sources (
	id   INTEGER PRIMARY KEY,
	name TEXT    NOT NULL UNIQUE
);

-- How far each day is indexed. A day is the number of its source << 16 | days since 1970.
CREATE TABLE call_days (
	day    INTEGER PRIMARY KEY,
	next   BIGINT  NOT NULL,
	calls  BIGINT  NOT NULL,
	broken BIGINT  NOT NULL,
	-- The last call of the day.
	last   BIGINT
);

-- What calls are chosen by, and the last call of each kind.
CREATE TABLE call_kinds (
	id      INTEGER PRIMARY KEY,
	source  BIGINT  NOT NULL,
	tool    TEXT    NOT NULL,
	caller  TEXT    NOT NULL,
	face    TEXT    NOT NULL,
	outcome TEXT    NOT NULL,
	last    BIGINT  NOT NULL,
	UNIQUE (source, tool, caller, face, outcome)
);

-- A call is day << 39 | the place of its record. Times are microseconds since 1970, UTC.
CREATE TABLE calls (
	id       INTEGER PRIMARY KEY,
	kind     BIGINT  NOT NULL,
	began_at BIGINT  NOT NULL,
	took     BIGINT  NOT NULL,
	bytes    BIGINT  NOT NULL,
	mark     BIGINT  NOT NULL,
	client   TEXT    NOT NULL,
	version  TEXT    NOT NULL
);
CREATE INDEX calls_kind ON calls (kind, id);

-- How many calls of a kind began in an hour (width 3600) or a day (width 86400): slot
-- is the time / width. An hour also has the time of each call after its start and how
-- long it took; in parts, because the last one is written again with every batch.
CREATE TABLE call_counts (
	width BIGINT NOT NULL,
	slot  BIGINT NOT NULL,
	kind  BIGINT NOT NULL,
	day   BIGINT NOT NULL,
	part  BIGINT NOT NULL,
	calls BIGINT NOT NULL,
	times BLOB   NOT NULL,
	PRIMARY KEY (width, slot, kind, day, part)
) WITHOUT ROWID;
