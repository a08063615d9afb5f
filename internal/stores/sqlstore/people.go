package sqlstore

import (
	"context"
	"fmt"
	"time"

	"remit/internal/engine/identity"
)

// people keeps the sessions of people at the console.
type people struct{ db *DB }

// People returns the sessions of people at the console that are in this database.
func (db *DB) People() identity.SessionStore { return people{db} }

const forgetPeople = `DELETE FROM console_sessions WHERE expires_at <= $1`

const admitPerson = `
INSERT INTO console_sessions (hash, name, role, created_at, expires_at, seen_at, seal)
VALUES ($1, $2, $3, $4, $5, $6, $7)`

func (s people) Add(ctx context.Context, n identity.Session) error {
	return s.db.transact(ctx, "begin a session", func(ctx context.Context, tx runner) error {
		if err := exec(ctx, tx, forgetPeople, micros(n.Created)); err != nil {
			return fmt.Errorf("forget old sessions: %w", err)
		}
		return exec(ctx, tx, admitPerson, n.Hash, n.Name, n.Role.String(), micros(n.Created), micros(n.Expires), micros(n.Seen), n.Seal)
	})
}

const personColumns = `SELECT hash, name, role, created_at, expires_at, seen_at, seal FROM console_sessions `

const personByHash = personColumns + `WHERE hash = $1`

func (s people) ByHash(ctx context.Context, hash string) (identity.Session, bool, error) {
	return lookUp(ctx, s.db, "find a session", personByHash, scanPerson, hash)
}

const listPeople = personColumns + `ORDER BY created_at DESC, hash`

func (s people) List(ctx context.Context) ([]identity.Session, error) {
	return list(ctx, s.db, "list the sessions", listPeople, scanPerson)
}

func scanPerson(row scanner) (n identity.Session, err error) {
	var role string
	err = row.Scan(&n.Hash, &n.Name, &role, (*timeColumn)(&n.Created), (*timeColumn)(&n.Expires), (*timeColumn)(&n.Seen), &n.Seal)
	if err != nil {
		return identity.Session{}, err
	}
	if n.Role, err = identity.ParseRole(role); err != nil {
		n.Role = identity.Nobody // nobody here can have written it, so it gives no rights
	}
	return n, nil
}

const seePerson = `UPDATE console_sessions SET seen_at = $2 WHERE hash = $1 AND seen_at < $2`

func (s people) Touch(ctx context.Context, hash string, now time.Time) error {
	return s.db.execAlone(ctx, "note the use of a session", seePerson, hash, micros(now))
}

const signOut = `DELETE FROM console_sessions WHERE hash = $1`

func (s people) End(ctx context.Context, hash string) error {
	return s.db.execAlone(ctx, "end a session", signOut, hash)
}

const forgetVoids = `DELETE FROM console_voids WHERE until < $1`

const voidLinks = `
INSERT INTO console_voids (whose, until) VALUES ($1, $2)
ON CONFLICT (whose) DO UPDATE SET until = excluded.until WHERE excluded.until > console_voids.until`

func (s people) Void(ctx context.Context, whose string, until, forget time.Time) error {
	return s.db.transact(ctx, "void links", func(ctx context.Context, tx runner) error {
		if err := exec(ctx, tx, forgetVoids, micros(forget)); err != nil {
			return err
		}
		return exec(ctx, tx, voidLinks, whose, micros(until))
	})
}

const linksVoided = `SELECT until FROM console_voids WHERE whose = $1`

func (s people) Voided(ctx context.Context, whose ...string) (latest time.Time, err error) {
	for _, one := range whose {
		until, _, err := lookUp(ctx, s.db, "look whether a link is void", linksVoided, scanValue[timeColumn], one)
		if err != nil {
			return time.Time{}, err
		}
		if at := time.Time(until); at.After(latest) {
			latest = at
		}
	}
	return latest, nil
}
