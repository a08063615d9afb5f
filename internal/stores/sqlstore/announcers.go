package sqlstore

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"remit/internal/engine/audit"
)

// Announcers lists the processes that have announced changes outside of the database and may not
// have recorded whether they made them. It is for processes that share a PostgreSQL database.
type Announcers struct {
	source Source
	owner  string
	lease  time.Duration
}

// Announcers returns the list for a process, which is dead if Put was not called for as long as
// lease, by the clock of the database.
func (s Source) Announcers(owner string, lease time.Duration) *Announcers {
	return &Announcers{s, owner, lease}
}

const (
	databaseMicros = `(extract(epoch FROM clock_timestamp()) * 1000000)::bigint`

	putAnnouncer = `
INSERT INTO announcers (owner, settled, seen_at) VALUES ($1, $2, ` + databaseMicros + `)
ON CONFLICT (owner) DO UPDATE SET settled = excluded.settled, seen_at = excluded.seen_at`

	removeAnnouncer = `DELETE FROM announcers WHERE owner = $1`

	// Who finds a dead process has its lease.
	claimAnnouncers = `
UPDATE announcers SET seen_at = ` + databaseMicros + `
WHERE owner IN (SELECT owner FROM announcers WHERE seen_at < ` + databaseMicros + ` - $1 AND owner <> $2 FOR UPDATE SKIP LOCKED)
RETURNING owner, settled`

	// A process that another one claimed, to settle its changes, counts as alive until then.
	announcerLives = `SELECT true FROM announcers WHERE owner = $1 AND seen_at >= ` + databaseMicros + ` - $2`

	releaseAnnouncer = `UPDATE announcers SET seen_at = 0 WHERE owner = $1`
)

// Put adds this process, or keeps it alive. All of its changes before some places are settled.
func (a *Announcers) Put(ctx context.Context, settled []audit.Place) error {
	text, err := json.Marshal(settled)
	if err != nil {
		return fmt.Errorf("encode places: %w", err)
	}
	return a.exec(ctx, "note that this process makes changes", putAnnouncer, a.owner, string(text))
}

// Announce adds a process that has ended. It is for records that are imported.
func (i *Import) Announce(ctx context.Context, owner string, settled []audit.Place) error {
	text, err := json.Marshal(settled)
	if err != nil {
		return fmt.Errorf("encode places: %w", err)
	}
	return i.change(ctx, "note whose changes are open", func(ctx context.Context, tx runner) error {
		return errors.Join(exec(ctx, tx, putAnnouncer, owner, string(text)), exec(ctx, tx, releaseAnnouncer, owner))
	})
}

// Remove removes this process.
func (a *Announcers) Remove(ctx context.Context) error { return a.Forget(ctx, a.owner) }

// Forget removes another process, which is dead.
func (a *Announcers) Forget(ctx context.Context, owner string) error {
	return a.exec(ctx, "note that all changes are settled", removeAnnouncer, owner)
}

// Dead returns the dead processes. No other process gets them before release is called, or the
// lease is over.
func (a *Announcers) Dead(ctx context.Context) (ended map[string][]audit.Place, release func(), err error) {
	db, err := a.source(ctx)
	if err != nil {
		return nil, nil, err
	}
	ended = map[string][]audit.Place{}
	err = db.transact(ctx, "find processes that have ended", func(ctx context.Context, tx runner) error {
		return each(ctx, tx, claimAnnouncers, func(row scanner) error {
			var owner, text string
			if err := row.Scan(&owner, &text); err != nil {
				return err
			}
			var settled []audit.Place
			if json.Unmarshal([]byte(text), &settled) != nil {
				settled = nil // then nothing counts as settled
			}
			ended[owner] = settled
			return nil
		}, a.lease.Microseconds(), a.owner)
	})
	release = func() {
		for owner := range ended { // those that are forgotten are not there
			// The lease ends in any case.
			_ = a.exec(context.WithoutCancel(ctx), "release a process", releaseAnnouncer, owner)
		}
	}
	return ended, release, err
}

// Lives reports whether a process lives, or another one settles its changes now.
func (a *Announcers) Lives(ctx context.Context, owner string) (bool, error) {
	db, err := a.source(ctx)
	if err != nil {
		return false, err
	}
	_, lives, err := lookUp(ctx, db, "look whether a process lives", announcerLives, scanValue[bool], owner, a.lease.Microseconds())
	return lives, err
}

func (a *Announcers) exec(ctx context.Context, act, statement string, args ...any) error {
	ctx, cancel := withTimeout(ctx)
	defer cancel()
	db, err := a.source(ctx)
	if err != nil {
		return err
	}
	return db.transact(ctx, act, func(ctx context.Context, tx runner) error { return exec(ctx, tx, statement, args...) })
}
