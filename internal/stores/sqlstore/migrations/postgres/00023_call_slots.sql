-- +goose Up
-- How many calls began in a minute (width 60) or a quarter of an hour (width 900) after 1970, by
-- kind and by duration: slot is the time / width. The counts of a slot are one value, which a batch
-- reads and writes again, so that charts read few rows.
DROP TABLE IF EXISTS call_slots;
CREATE TABLE call_slots (
	day   BIGINT NOT NULL, -- of the records, as in call_days
	width BIGINT NOT NULL,
	slot  BIGINT NOT NULL,
	cells BYTEA  NOT NULL,
	PRIMARY KEY (day, width, slot)
);

-- What was indexed before has no such counts, so it is indexed again.
TRUNCATE call_days, call_counts, call_kinds, calls;
