package sqlstore

import (
	"context"

	"remit/internal/toolsets/codebase/sessions"
)

const (
	notePruned = `
INSERT INTO client_sessions_pruned (workspace, id, pruned_at) VALUES ($1, $2, $3) ON CONFLICT (workspace, id) DO NOTHING`

	// The newest id beyond the limit, and all older ones.
	limitPruned = `
DELETE FROM client_sessions_pruned WHERE workspace = $1 AND (pruned_at, id) <= (
	SELECT pruned_at, id FROM client_sessions_pruned WHERE workspace = $1 ORDER BY pruned_at DESC, id DESC LIMIT 1 OFFSET CAST($2 AS BIGINT))`

	prunedSessions = `
SELECT id FROM client_sessions_pruned WHERE workspace = $1 ORDER BY pruned_at, id LIMIT CAST($2 AS BIGINT)`

	deletePruned = `
DELETE FROM client_sessions_pruned WHERE workspace = $1 AND id = $2`
)

// prune removes the sessions beyond the limit after a new one has started, and records their ids.
func (s clientSessions) prune(ctx context.Context, tx runner, started sessions.Session) error {
	ids, err := collect(ctx, tx, pruneSessions, scanValue[string], s.workspace, started.ID, sessions.MaxSessions)
	if err != nil || len(ids) == 0 {
		return err
	}
	for _, id := range ids {
		if err := exec(ctx, tx, notePruned, s.workspace, id, started.Last.UnixMicro()); err != nil {
			return err
		}
	}
	return exec(ctx, tx, limitPruned, s.workspace, sessions.MaxPruned)
}

// Pruned implements sessions.Store.
func (s clientSessions) Pruned(ctx context.Context, limit int) ([]string, error) {
	return list(ctx, s.db, "list pruned sessions", prunedSessions, scanValue[string], s.workspace, max(0, limit))
}

// Forget implements sessions.Store.
func (s clientSessions) Forget(ctx context.Context, ids []string) error {
	if len(ids) == 0 {
		return nil
	}
	return s.db.transact(ctx, "delete pruned sessions", func(ctx context.Context, tx runner) error {
		for _, id := range ids {
			if err := exec(ctx, tx, deletePruned, s.workspace, id); err != nil {
				return err
			}
		}
		return nil
	})
}
