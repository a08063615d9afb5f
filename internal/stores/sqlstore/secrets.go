package sqlstore

import (
	"context"
	"crypto/rand"
	"errors"
)

const insertNamed = `
INSERT INTO secrets (name, value) VALUES ($1, $2)
ON CONFLICT (name) DO NOTHING`

const valueByName = `SELECT value FROM secrets WHERE name = $1`

// Secret returns 32 random bytes, which are generated once and are the same for all processes that
// share the database. It returns an error for a SQLite file, which stores no secrets because it can
// be copied.
func (db *DB) Secret(ctx context.Context, name string) ([]byte, error) {
	if !db.Shared() {
		return nil, errors.New("read a secret: only a shared database keeps secrets")
	}
	made := make([]byte, 32)
	_, _ = rand.Read(made) // never fails
	return transacted(ctx, db, "read a secret", func(ctx context.Context, tx runner) ([]byte, error) {
		if err := exec(ctx, tx, insertNamed, name, made); err != nil {
			return nil, err
		}
		return findOne(ctx, tx, valueByName, scanValue[[]byte], name)
	})
}
