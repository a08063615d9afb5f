-- +goose Up
-- A decision is bound to what the person saw, an approval can be withdrawn, and one whose effect
-- would be another now becomes changed.
ALTER TABLE approvals
	ADD COLUMN shown TEXT NOT NULL DEFAULT '',
	DROP CONSTRAINT approvals_state_check,
	ADD CONSTRAINT approvals_state_check CHECK (state IN ('pending', 'approved', 'denied', 'changed', 'withdrawn'));

-- A token with a role belongs to a person and is good for decisions alone. elicits: what the person
-- at the client of an agent answers counts as a decision.
ALTER TABLE agent_tokens ADD COLUMN role TEXT NOT NULL DEFAULT '';
ALTER TABLE agent_tokens ADD COLUMN elicits BOOLEAN NOT NULL DEFAULT FALSE;
