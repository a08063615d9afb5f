-- +goose Up
-- The ids of the tasks that must be completed first, as a JSON array; NULL if there are none.
ALTER TABLE tasks ADD COLUMN depends_on TEXT;
-- Who works on the task, and until when that counts; NULL if nobody has claimed it.
ALTER TABLE tasks ADD COLUMN claimed_by TEXT;
ALTER TABLE tasks ADD COLUMN lease_until BIGINT;
-- The number of the last claim. It only grows, so that an older claim is recognized; 0: none yet.
ALTER TABLE tasks ADD COLUMN fence BIGINT NOT NULL DEFAULT 0;
