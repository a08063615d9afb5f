-- +goose Up
-- Tells a database of Remit from that of another program: "remi" in ASCII. See damage.go.
PRAGMA application_id = 1919249769;
