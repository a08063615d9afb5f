package app

import (
	"context"
	"fmt"
	"time"

	"remit/internal/engine/approval"
	"remit/internal/engine/audit"
)

// anchoredApprovals is a store in which no approval is used twice, even if the database is put
// back.
type anchoredApprovals struct {
	approval.Store
	anchor *anchor
}

// Take implements approval.Store.
func (s *anchoredApprovals) Take(ctx context.Context, key, shown string, now time.Time) (approval.Request, bool, error) {
	for {
		r, found, err := s.Store.Take(ctx, key, shown, now)
		if err != nil || !found || r.State != approval.Approved {
			return r, found, err
		}
		fresh, err := s.anchor.use("approval "+r.ID, now, r.ExpiresAt)
		if err != nil {
			return r, false, fmt.Errorf("record that approval %s is used: %w", r.ID, err)
		}
		if fresh {
			return r, true, nil
		}
	}
}

// anchoredRecords is a log that is not ready while the database is in doubt, so that nothing is
// written then.
type anchoredRecords struct {
	*audit.Log
	anchor *anchor
	tips   *tipKeeper // nil for a shared database
}

// Write stores one record.
func (r *anchoredRecords) Write(ctx context.Context, record *audit.Record, durable bool) error {
	err := r.Log.Write(ctx, record, durable)
	r.tips.touch()
	return err
}

// Ready returns an error if a record could not be stored now, or should not be.
func (r *anchoredRecords) Ready(now time.Time) error {
	if err := r.anchor.check(context.Background()); err != nil {
		return err
	}
	return r.Log.Ready(now)
}
