package sqlstore

import (
	"context"
	"fmt"
	"time"

	"remit/internal/engine/identity"
)

// consoleSessions stores the console sessions of people. It implements identity.SessionStore.
type consoleSessions struct{ db *DB }

// ConsoleSessions returns the store of console sessions in this database.
func (db *DB) ConsoleSessions() identity.SessionStore { return consoleSessions{db} }

const deleteOldSessions = `DELETE FROM console_sessions WHERE expires_at <= $1`

const addConsoleSession = `
INSERT INTO console_sessions (hash, name, role, created_at, expires_at, seen_at, seal)
VALUES ($1, $2, $3, $4, $5, $6, $7)`

func (s consoleSessions) Add(ctx context.Context, n identity.Session) error {
	return s.db.transact(ctx, "begin a session", func(ctx context.Context, tx runner) error {
		if err := exec(ctx, tx, deleteOldSessions, micros(n.Created)); err != nil {
			return fmt.Errorf("delete old sessions: %w", err)
		}
		err := exec(ctx, tx, addConsoleSession, n.Hash, n.Name, n.Role.String(),
			micros(n.Created), micros(n.Expires), micros(n.Seen), n.Seal)
		if err != nil {
			return err
		}
		return s.db.record(ctx, tx)
	})
}

const selectConsoleSessions = `SELECT hash, name, role, created_at, expires_at, seen_at, seal FROM console_sessions `

const consoleSessionByHash = selectConsoleSessions + `WHERE hash = $1`

func (s consoleSessions) ByHash(ctx context.Context, hash string) (identity.Session, bool, error) {
	return lookUp(ctx, s.db, "find a session", consoleSessionByHash, scanConsoleSession, hash)
}

const listConsoleSessions = selectConsoleSessions + `ORDER BY created_at DESC, hash`

func (s consoleSessions) List(ctx context.Context) ([]identity.Session, error) {
	return list(ctx, s.db, "list the sessions", listConsoleSessions, scanConsoleSession)
}

func scanConsoleSession(row scanner) (n identity.Session, err error) {
	var role string
	err = row.Scan(&n.Hash, &n.Name, &role, (*timeColumn)(&n.Created), (*timeColumn)(&n.Expires), (*timeColumn)(&n.Seen), &n.Seal)
	if err != nil {
		return identity.Session{}, err
	}
	if n.Role, err = identity.ParseRole(role); err != nil {
		n.Role = identity.NoRole // an unknown role gives no rights
	}
	return n, nil
}

const touchConsoleSession = `UPDATE console_sessions SET seen_at = $2 WHERE hash = $1 AND seen_at < $2`

func (s consoleSessions) Touch(ctx context.Context, hash string, now time.Time) error {
	return s.db.execAlone(ctx, "record the use of a session", touchConsoleSession, hash, micros(now))
}

const deleteConsoleSession = `DELETE FROM console_sessions WHERE hash = $1`

func (s consoleSessions) End(ctx context.Context, hash string) error {
	return s.db.transact(ctx, "end a session", func(ctx context.Context, tx runner) error {
		if err := exec(ctx, tx, deleteConsoleSession, hash); err != nil {
			return err
		}
		return s.db.record(ctx, tx)
	})
}

const deleteOldVoids = `DELETE FROM console_voids WHERE until < $1`

const voidLinks = `
INSERT INTO console_voids (whose, until) VALUES ($1, $2)
ON CONFLICT (whose) DO UPDATE SET until = excluded.until WHERE excluded.until > console_voids.until`

func (s consoleSessions) Void(ctx context.Context, whose string, until, forget time.Time) error {
	return s.db.transact(ctx, "void links", func(ctx context.Context, tx runner) error {
		if err := exec(ctx, tx, deleteOldVoids, micros(forget)); err != nil {
			return err
		}
		if err := exec(ctx, tx, voidLinks, whose, micros(until)); err != nil {
			return err
		}
		return s.db.record(ctx, tx)
	})
}

const linksVoided = `SELECT until FROM console_voids WHERE whose = $1`

func (s consoleSessions) Voided(ctx context.Context, whose ...string) (latest time.Time, err error) {
	for _, one := range whose {
		until, _, err := lookUp(ctx, s.db, "check whether a link is void", linksVoided, scanValue[timeColumn], one)
		if err != nil {
			return time.Time{}, err
		}
		if at := time.Time(until); at.After(latest) {
			latest = at
		}
	}
	return latest, nil
}
