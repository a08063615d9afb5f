-- +goose Up
-- Who asks, through which front end, and why in the caller's own words; what the call changes; and a
-- proof that the request was made here as it says. Requests from before have none of it.
ALTER TABLE approvals ADD COLUMN target TEXT NOT NULL DEFAULT '';
ALTER TABLE approvals ADD COLUMN frontend TEXT NOT NULL DEFAULT '';
ALTER TABLE approvals ADD COLUMN client TEXT NOT NULL DEFAULT '';
ALTER TABLE approvals ADD COLUMN session TEXT NOT NULL DEFAULT '';
ALTER TABLE approvals ADD COLUMN caller_reason TEXT NOT NULL DEFAULT '';
ALTER TABLE approvals ADD COLUMN asked_seal TEXT NOT NULL DEFAULT '';
-- What a search finds the request by, in lower case.
ALTER TABLE approvals ADD COLUMN words TEXT NOT NULL DEFAULT '';
UPDATE approvals SET words = lower(id || ' ' || tool || ' ' || principal);

-- Lists by agent, by tool and by state, newest first, and what was decided before.
CREATE INDEX approvals_by_agent ON approvals (principal, created_at, id);
CREATE INDEX approvals_by_tool ON approvals (tool, created_at, id);
CREATE INDEX approvals_by_state ON approvals (state, created_at, id);
CREATE INDEX approvals_decided ON approvals (principal, tool, decided_at) WHERE decided_at IS NOT NULL;
