-- +goose Up
-- What the database says about itself: its id, and how much of the anchor it has seen.
CREATE TABLE meta (
	name  TEXT NOT NULL PRIMARY KEY,
	value TEXT NOT NULL
);
