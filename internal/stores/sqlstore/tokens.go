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

// UseOnce uses up a single-use token that is valid until expires. It returns true for exactly one
// of all its callers, in whichever process, and false for every caller once the token has expired.
func (db *DB) UseOnce(ctx context.Context, token string, now, expires time.Time) (fresh bool, _ error) {
	if !now.Before(expires) {
		return false, nil // the record that it was spent may be deleted already
	}
	return transacted(ctx, db, "spend a token", func(ctx context.Context, tx runner) (bool, error) {
		if err := exec(ctx, tx, pruneSpent, micros(now)); err != nil {
			return false, fmt.Errorf("prune expired tokens: %w", err)
		}
		return changesOne(tx.ExecContext(ctx, spendOnce, token, micros(expires)))
	})
}

const findSpent = `SELECT token FROM spent_tokens WHERE token = $1`

// Used reports whether a single-use token was used. Another process may use it at the same time.
func (db *DB) Used(ctx context.Context, token string) (bool, error) {
	_, found, err := lookUp(ctx, db, "look up a spent token", findSpent, scanValue[string], token)
	return found, err
}
