package sqlstore

import (
	"context"
	"strings"
	"time"
)

// One row for all requests, read from the index approvals_open alone: pages ask twice a second, and
// the rows hold the arguments. SQLite would choose another index, which has requests that expired.
const (
	waitingIDs       = "SELECT coalesce(string_agg(id, ','), '') FROM approvals WHERE state = 'pending' AND expires_at > $1"
	waitingIDsInFile = "SELECT coalesce(string_agg(id, ','), '') FROM approvals INDEXED BY approvals_open WHERE state = 'pending' AND expires_at > $1"
)

// WaitingIDs implements approval.Store.
func (s approvals) WaitingIDs(ctx context.Context, now time.Time) ([]string, error) {
	query := waitingIDsInFile
	if s.db.shared {
		query = waitingIDs
	}
	all, _, err := lookUp(ctx, s.db, "find waiting requests", query, scanValue[string], micros(now))
	if err != nil || all == "" {
		return nil, err
	}
	return strings.Split(all, ","), nil
}
