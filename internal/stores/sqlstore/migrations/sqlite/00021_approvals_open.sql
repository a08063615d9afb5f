-- +goose Up
-- Serves the query for the ids of all open requests, without their rows.
CREATE INDEX approvals_open ON approvals (expires_at, id) WHERE state = 'pending';
