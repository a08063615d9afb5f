-- The requests of a key that passed within the last period: their times, and how many had passed in
-- all after each (base: before the first). Then the latest clock reading of those who asked, how
-- long the last of them must wait, and when the key is idle. Times are nanoseconds. Lost in a
-- crash, and no harm done. An index on a time would slow every call down.
DROP TABLE rate_limits;
CREATE UNLOGGED TABLE rate_limits (
	key     TEXT     NOT NULL PRIMARY KEY,
	passes  BIGINT[] NOT NULL,
	counts  BIGINT[] NOT NULL,
	base    BIGINT   NOT NULL,
	seen_at BIGINT   NOT NULL,
	wait    BIGINT   NOT NULL,
	idle_at BIGINT   NOT NULL
) WITH (fillfactor = 50);
