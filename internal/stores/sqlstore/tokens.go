package sqlstore

import (
	"context"
	"fmt"
	"time"
)

const pruneSpent = `DELETE FROM spent_tokens WHERE expires_at <= $1`

const spendOnce = `
INSERT INTO spent_tokens (token, expires_at) VALUES ($1, $2)
ON CONFLICT (token) DO NOTHING`

// Spend uses up a token that is good for one use until expires. It is fresh for
// exactly one of all who ever spend it, in whichever process, and for nobody once it
// has expired.
func (db *DB) Spend(ctx context.Context, token string, now, expires time.Time) (fresh bool, _ error) {
	if !now.Before(expires) {
		return false, nil // it may be forgotten already that it was spent
	}
	return transacted(ctx, db, "spend a token", func(ctx context.Context, tx runner) (bool, error) {
		if err := exec(ctx, tx, pruneSpent, micros(now)); err != nil {
			return false, fmt.Errorf("prune expired tokens: %w", err)
		}
		return changesOne(tx.ExecContext(ctx, spendOnce, token, micros(expires)))
	})
}
