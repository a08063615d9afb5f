package sqlstore

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"remit/internal/engine/identity"
)

// people keeps the sessions of people at the console.
type people struct{ db *DB }

var _ identity.SessionStore = people{}

// People returns the sessions of people at the console that are in this database.
func (db *DB) People() identity.SessionStore { return people{db} }

const forgetPeople = `DELETE FROM console_sessions WHERE expires_at <= $1`

const admitPerson = `
INSERT INTO console_sessions (hash, name, role, created_at, expires_at, seen_at, seal)
VALUES ($1, $2, $3, $4, $5, $6, $7)`

func (s people) Add(ctx context.Context, n identity.Session) error {
	err := s.db.change(ctx, func(ctx context.Context, tx runner) error {
		if _, err := tx.ExecContext(ctx, forgetPeople, micros(n.Created)); err != nil {
			return fmt.Errorf("forget old sessions: %w", err)
		}
		_, err := tx.ExecContext(ctx, admitPerson, n.Hash, n.Name, n.Role.String(), micros(n.Created), micros(n.Expires), micros(n.Seen), n.Seal)
		return err
	})
	if err != nil {
		return fmt.Errorf("begin a session: %w", err)
	}
	return nil
}

const personColumns = `SELECT hash, name, role, created_at, expires_at, seen_at, seal FROM console_sessions `

const personByHash = personColumns + `WHERE hash = $1`

func (s people) ByHash(ctx context.Context, hash string) (n identity.Session, found bool, err error) {
	n, err = scanPerson(s.db.reader(ctx).QueryRowContext(ctx, personByHash, hash))
	if errors.Is(err, sql.ErrNoRows) {
		return identity.Session{}, false, nil
	}
	if err != nil {
		return identity.Session{}, false, fmt.Errorf("find a session: %w", err)
	}
	return n, true, nil
}

const listPeople = personColumns + `ORDER BY created_at DESC, hash`

func (s people) List(ctx context.Context) ([]identity.Session, error) {
	list, err := collect(ctx, s.db.reader(ctx), listPeople, scanPerson)
	if err != nil {
		return nil, fmt.Errorf("list the sessions: %w", err)
	}
	return list, nil
}

func scanPerson(row scanner) (n identity.Session, err error) {
	var created, expires, seen sql.NullInt64
	var role string
	if err := row.Scan(&n.Hash, &n.Name, &role, &created, &expires, &seen, &n.Seal); err != nil {
		return identity.Session{}, err
	}
	n.Created, n.Expires, n.Seen = fromMicros(created), fromMicros(expires), fromMicros(seen)
	if n.Role, err = identity.ParseRole(role); err != nil {
		n.Role = identity.Nobody // nobody here can have written it, so it gives no rights
	}
	return n, nil
}

const seePerson = `UPDATE console_sessions SET seen_at = $2 WHERE hash = $1 AND seen_at < $2`

func (s people) Touch(ctx context.Context, hash string, now time.Time) error {
	return s.do(ctx, "note the use of a session", seePerson, hash, micros(now))
}

const signOut = `DELETE FROM console_sessions WHERE hash = $1`

func (s people) End(ctx context.Context, hash string) error {
	return s.do(ctx, "end a session", signOut, hash)
}

const forgetVoids = `DELETE FROM console_voids WHERE until < $1`

const voidLinks = `
INSERT INTO console_voids (whose, until) VALUES ($1, $2)
ON CONFLICT (whose) DO UPDATE SET until = excluded.until WHERE excluded.until > console_voids.until`

func (s people) Void(ctx context.Context, whose string, until, forget time.Time) error {
	err := s.db.change(ctx, func(ctx context.Context, tx runner) error {
		if _, err := tx.ExecContext(ctx, forgetVoids, micros(forget)); err != nil {
			return err
		}
		_, err := tx.ExecContext(ctx, voidLinks, whose, micros(until))
		return err
	})
	if err != nil {
		return fmt.Errorf("void links: %w", err)
	}
	return nil
}

const linksVoided = `SELECT until FROM console_voids WHERE whose = $1`

func (s people) Voided(ctx context.Context, whose ...string) (latest time.Time, err error) {
	for _, one := range whose {
		var until sql.NullInt64
		err := s.db.reader(ctx).QueryRowContext(ctx, linksVoided, one).Scan(&until)
		if err != nil && !errors.Is(err, sql.ErrNoRows) {
			return time.Time{}, fmt.Errorf("look whether a link is void: %w", err)
		}
		if at := fromMicros(until); at.After(latest) {
			latest = at
		}
	}
	return latest, nil
}

// do changes what one statement says.
func (s people) do(ctx context.Context, act, query string, args ...any) error {
	err := s.db.change(ctx, func(ctx context.Context, tx runner) error {
		_, err := tx.ExecContext(ctx, query, args...)
		return err
	})
	if err != nil {
		return fmt.Errorf("%s: %w", act, err)
	}
	return nil
}
