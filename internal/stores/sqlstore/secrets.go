package sqlstore

import (
	"context"
	"crypto/rand"
	"errors"
)

const makeNamed = `
INSERT INTO secrets (name, value) VALUES ($1, $2)
ON CONFLICT (name) DO NOTHING`

const valueByName = `SELECT value FROM secrets WHERE name = $1`

// Secret returns 32 random bytes that are made once, the same for all who share the
// database. A database that is a file keeps none: it can be copied.
func (db *DB) Secret(ctx context.Context, name string) ([]byte, error) {
	if !db.Shared() {
		return nil, errors.New("read a secret: only a shared database keeps secrets")
	}
	made := make([]byte, 32)
	_, _ = rand.Read(made) // it never fails
	return transacted(ctx, db, "read a secret", func(ctx context.Context, tx runner) ([]byte, error) {
		if err := exec(ctx, tx, makeNamed, name, made); err != nil {
			return nil, err
		}
		return findOne(ctx, tx, valueByName, scanValue[[]byte], name)
	})
}
