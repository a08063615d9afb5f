package sqlstore

import (
	"context"
	"fmt"

	"remit/internal/contract"
	"remit/internal/engine/passkey"
)

// passkeys stores the passkeys of people. It implements passkey.Store.
type passkeys struct{ db *DB }

// Passkeys returns the store of passkeys in this database.
func (db *DB) Passkeys() passkey.Store { return passkeys{db} }

const keyColumns = `credential_id, person, name, public_key, sign_count, synced, transports, created_at, used_at, seal`

const countKeys = `SELECT count(*) FROM passkeys`

const addPasskey = `
INSERT INTO passkeys (` + keyColumns + `, alone) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)
ON CONFLICT DO NOTHING`

func (s passkeys) Add(ctx context.Context, p passkey.Passkey, alone bool) error {
	return s.db.transact(ctx, "add a passkey", func(ctx context.Context, tx runner) error {
		n, err := findOne(ctx, tx, countKeys, scanValue[int])
		switch {
		case err != nil:
			return fmt.Errorf("count passkeys: %w", err)
		case alone && n > 0:
			return passkey.NotAlone()
		case n >= passkey.MaxPasskeys:
			return passkey.TooMany()
		}
		var only any // NULL is never a duplicate
		if alone {
			only = true
		}
		added, err := changesOne(tx.ExecContext(ctx, addPasskey, p.ID, p.Person, p.Name, p.PublicKey, int64(p.SignCount), p.Synced, p.Transports,
			micros(p.Created), micros(p.Used), p.Seal, only))
		switch {
		case err != nil:
			return err
		case added:
			return s.db.record(ctx, tx)
		case alone:
			return passkey.NotAlone()
		}
		return contract.Errorf(contract.Conflict, "This passkey is registered already")
	})
}

const listPasskeys = `SELECT ` + keyColumns + ` FROM passkeys ORDER BY created_at, credential_id`

func (s passkeys) List(ctx context.Context) ([]passkey.Passkey, error) {
	return list(ctx, s.db, "list passkeys", listPasskeys, scanPasskey)
}

func scanPasskey(row scanner) (p passkey.Passkey, err error) {
	err = row.Scan(&p.ID, &p.Person, &p.Name, &p.PublicKey, &p.SignCount, &p.Synced, &p.Transports,
		(*timeColumn)(&p.Created), (*timeColumn)(&p.Used), &p.Seal)
	return p, err
}

const usePasskey = `UPDATE passkeys SET sign_count = $3, used_at = $4, seal = $5 WHERE credential_id = $1 AND sign_count = $2`

func (s passkeys) Use(ctx context.Context, p passkey.Passkey, before uint32) (bool, error) {
	return transacted(ctx, s.db, "record the use of a passkey", func(ctx context.Context, tx runner) (bool, error) {
		return changesOne(tx.ExecContext(ctx, usePasskey, p.ID, int64(before), int64(p.SignCount), micros(p.Used), p.Seal))
	})
}

const removePasskey = `DELETE FROM passkeys WHERE credential_id = $1`

func (s passkeys) Remove(ctx context.Context, id string) error {
	return s.db.transact(ctx, "remove a passkey", func(ctx context.Context, tx runner) error {
		if err := exec(ctx, tx, removePasskey, id); err != nil {
			return err
		}
		return s.db.record(ctx, tx)
	})
}
