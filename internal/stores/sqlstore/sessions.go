package sqlstore

import (
	"context"
	"crypto/sha256"
	"database/sql/driver"
	"encoding/json"
	"errors"
	"time"

	"remit/internal/toolsets/codebase/sessions"
)

// clientSessions stores the client sessions of one workspace. It implements sessions.Store.
type clientSessions struct {
	db        *DB
	workspace string
}

// Sessions returns the store of the client sessions of a workspace.
func (db *DB) Sessions(workspace string) sessions.Store { return clientSessions{db, workspace} }

// sessionColumns lists the columns of a session in the order in which scanSession reads them.
const sessionColumns = `id, key, principal, client, started_at, last_at, ended, files, searches, tasks`

const (
	// The update changes nothing; it locks the row.
	holdSession = `
UPDATE client_sessions SET ended = ended WHERE workspace = $1 AND key_hash = $2 AND NOT ended
RETURNING ` + sessionColumns

	renewSession = `
UPDATE client_sessions SET last_at = $3, files = $4, searches = $5, tasks = $6 WHERE workspace = $1 AND id = $2`

	endSession = `
UPDATE client_sessions SET ended = TRUE WHERE workspace = $1 AND key_hash = $2 AND NOT ended AND started_at <= $3`

	closeSession = `
UPDATE client_sessions SET ended = TRUE WHERE workspace = $1 AND id = $2`

	startSession = `
INSERT INTO client_sessions (workspace, key_hash, ended, id, key, principal, client, started_at, last_at, files, searches, tasks)
VALUES ($1, $2, FALSE, $3, $4, $5, $6, $7, $8, $9, $10, $11)
ON CONFLICT (workspace, key_hash) WHERE NOT ended DO NOTHING`

	// The newest session beyond the limit, and all older ones.
	pruneSessions = `
DELETE FROM client_sessions WHERE workspace = $1 AND id <> $2 AND (last_at, id) <= (
	SELECT last_at, id FROM client_sessions WHERE workspace = $1 ORDER BY last_at DESC, id DESC LIMIT 1 OFFSET CAST($3 AS BIGINT))
RETURNING id`
)

// Note implements sessions.Store.
func (s clientSessions) Note(ctx context.Context, n sessions.Note) (sessions.Session, error) {
	return transacted(ctx, s.db, "record client activity", func(ctx context.Context, tx runner) (sessions.Session, error) {
		for range 10 { // another process may start a session of the same client at the same time
			if now, done, err := s.note(ctx, tx, n); err != nil || done {
				return now, err
			}
		}
		return sessions.Session{}, errors.New("other processes keep starting sessions of this client")
	})
}

// note adds to the open session or starts one. done is false if another process started one first.
func (s clientSessions) note(ctx context.Context, tx runner, n sessions.Note) (now sessions.Session, done bool, err error) {
	now, found, err := find(ctx, tx, holdSession, scanSession, s.workspace, hashOf(n.Key))
	if err != nil {
		return now, false, err
	}
	if !found {
		return s.start(ctx, tx, n)
	}
	if !isActive(now, n.At, n.Idle) {
		if err := exec(ctx, tx, closeSession, s.workspace, now.ID); err != nil {
			return now, false, err
		}
		return s.start(ctx, tx, n)
	}
	addNoted(&now, n)
	return now, true, exec(ctx, tx, renewSession, s.workspace, now.ID, now.Last.UnixMicro(),
		itemColumn(now.Files), itemColumn(now.Searches), itemColumn(now.Tasks))
}

func (s clientSessions) start(ctx context.Context, tx runner, n sessions.Note) (now sessions.Session, done bool, err error) {
	started := n.Started
	if started.IsZero() {
		started = n.At
	}
	now = sessions.Session{
		ID: n.NewID, Key: n.Key, Principal: n.Principal, Client: n.Client,
		Started: timeOf(started.UnixMicro()), Last: timeOf(n.At.UnixMicro()),
	}
	addNoted(&now, n)
	done, err = changesOne(tx.ExecContext(ctx, startSession, s.workspace, hashOf(n.Key), now.ID,
		s.db.bytesOrText(now.Key), s.db.bytesOrText(now.Principal), s.db.bytesOrText(now.Client),
		now.Started.UnixMicro(), now.Last.UnixMicro(), itemColumn(now.Files), itemColumn(now.Searches), itemColumn(now.Tasks)))
	if err != nil || !done {
		return now, false, err
	}
	return now, true, s.prune(ctx, tx, now)
}

// End implements sessions.Store.
func (s clientSessions) End(ctx context.Context, key string, at time.Time) error {
	return s.db.execAlone(ctx, "end a session", endSession, s.workspace, hashOf(key), at.UnixMicro())
}

const openSession = `
SELECT ` + sessionColumns + ` FROM client_sessions WHERE workspace = $1 AND key_hash = $2 AND NOT ended`

// Current implements sessions.Store.
func (s clientSessions) Current(ctx context.Context, key string, now time.Time, idle time.Duration) (sessions.Session, bool, error) {
	one, found, err := lookUp(ctx, s.db, "look up a session", openSession, scanSession, s.workspace, hashOf(key))
	if err != nil || !found || !isActive(one, now, idle) {
		return sessions.Session{}, false, err
	}
	return one, true, nil
}

const recentSessions = `
SELECT ` + sessionColumns + ` FROM client_sessions WHERE workspace = $1 ORDER BY last_at DESC, id DESC LIMIT CAST($2 AS BIGINT)`

// Recent implements sessions.Store.
func (s clientSessions) Recent(ctx context.Context, limit int) ([]sessions.Session, error) {
	return list(ctx, s.db, "list sessions", recentSessions, scanSession, s.workspace, max(0, limit))
}

// isActive reports whether an activity at now still belongs to an open session.
func isActive(one sessions.Session, now time.Time, idle time.Duration) bool {
	return !one.Last.Before(now.Add(-idle))
}

// hashOf returns the hash by which a key is looked up.
func hashOf(key string) []byte {
	sum := sha256.Sum256([]byte(key))
	return sum[:]
}

// addNoted adds the noted activity to a session.
func addNoted(to *sessions.Session, n sessions.Note) {
	to.Last = later(to.Last, n.At)
	to.Files, to.Searches, to.Tasks = sessions.AddItems(to.Files, n.Files), sessions.AddItems(to.Searches, n.Searches), sessions.AddItems(to.Tasks, n.Tasks)
}

// itemRecord is the stored form of an item. What is []byte, because JSON would change a string that
// is not valid UTF-8.
type itemRecord struct {
	What  []byte `json:"what"`
	At    int64  `json:"at"`
	Times int    `json:"times"`
}

// itemColumn stores items as a JSON list of records.
type itemColumn []sessions.Item

// Value implements driver.Valuer.
func (c itemColumn) Value() (driver.Value, error) {
	records := make([]itemRecord, len(c))
	for i, item := range c {
		records[i] = itemRecord{[]byte(item.What), item.At.UnixMicro(), item.Times}
	}
	return json.Marshal(records)
}

// Scan implements sql.Scanner.
func (c *itemColumn) Scan(from any) error {
	var records []itemRecord
	err := jsonColumn{&records}.Scan(from)
	for _, r := range records {
		*c = append(*c, sessions.Item{What: string(r.What), At: timeOf(r.At), Times: r.Times})
	}
	return err
}

func scanSession(row scanner) (one sessions.Session, err error) {
	err = row.Scan(&one.ID, &one.Key, &one.Principal, &one.Client, (*timeColumn)(&one.Started), (*timeColumn)(&one.Last), &one.Ended,
		(*itemColumn)(&one.Files), (*itemColumn)(&one.Searches), (*itemColumn)(&one.Tasks))
	return one, err
}
