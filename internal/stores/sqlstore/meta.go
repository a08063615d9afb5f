package sqlstore

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"
)

// IsEmpty reports whether the PostgreSQL database at a URL has no tables of Remit. It creates
// nothing.
func IsEmpty(ctx context.Context, url string) (empty bool, err error) {
	db, err := postgresPool(url)
	if err != nil {
		return false, fmt.Errorf("open database: %w", err)
	}
	ctx, cancel := withTimeout(ctx)
	defer cancel()
	known, err := version(ctx, db, tableOfPostgres)
	return known == 0, wrap("open database", errors.Join(plainPostgres(err), db.Close()))
}

// ErrNoMeta reports that the table is missing in which the database says which one it is.
var ErrNoMeta = errors.New("the database is damaged, or not one of Remit's")

// Meta is what the database says about itself.
type Meta struct {
	// DataID tells this database from all others; "" for one that has none yet.
	DataID string
	// Sequence is the newest line of an anchor that the database has seen.
	Sequence int64
	// Identity means that a token has existed, so that callers need one.
	Identity bool
	// Importing names what is being imported into the database; "" if it is complete.
	Importing string
	// Moved says where the data was moved to; "" if this database is the one to use.
	Moved string
}

// The names of the rows of the table meta.
const (
	metaDataID   = "data_id"
	metaSequence = "anchor_sequence/" // and the name of the anchor
	metaIdentity = "identity"
	// Written by an import.
	metaImporting = "importing"
	metaImport    = "import/" // and the name of a table: how far it is imported
	metaMoved     = "moved"
)

const selectMeta = `
SELECT coalesce(max(CASE name WHEN 'data_id' THEN value END), ''),
	coalesce(max(CASE name WHEN $1 THEN CAST(value AS BIGINT) END), 0),
	coalesce(max(CASE name WHEN 'identity' THEN 1 END), 0) = 1,
	coalesce(max(CASE name WHEN 'importing' THEN value END), ''),
	coalesce(max(CASE name WHEN 'moved' THEN value END), '')
FROM meta`

// Meta returns what the database says about itself, and about the anchor with this name.
func (db *DB) Meta(ctx context.Context, anchor string) (Meta, error) {
	m, err := findOne(ctx, db.reader(ctx), selectMeta, scanMeta, metaSequence+anchor)
	if isMissingTable(err) {
		err = fmt.Errorf("%w: %w", ErrNoMeta, err)
	}
	return m, wrap("read the id of the database", err)
}

func scanMeta(row scanner) (m Meta, err error) {
	err = row.Scan(&m.DataID, &m.Sequence, &m.Identity, &m.Importing, &m.Moved)
	return m, err
}

const setMeta = `INSERT INTO meta (name, value) VALUES ($1, $2) ON CONFLICT (name) DO UPDATE SET value = excluded.value`

// SetDataID gives the database an id, unless another process has just done so. It returns the id
// that it has now. A SQLite file without an id may come from elsewhere, so it forgets its answers.
func (db *DB) SetDataID(ctx context.Context, id string) (string, error) {
	return transacted(ctx, db, "set the id of the database", func(ctx context.Context, tx runner) (string, error) {
		const insert = `INSERT INTO meta (name, value) VALUES ($1, $2) ON CONFLICT (name) DO NOTHING`
		inserted, err := changesOne(tx.ExecContext(ctx, insert, metaDataID, id))
		if err == nil && inserted && !db.shared {
			err = emptyTables(ctx, tx, answerTables...)
		}
		if err != nil {
			return "", err
		}
		return findOne(ctx, tx, `SELECT value FROM meta WHERE name = $1`, scanValue[string], metaDataID)
	})
}

// ForgetAnswers deletes what answers callers, or lets them in, without a seal.
func (db *DB) ForgetAnswers(ctx context.Context) error {
	return db.transact(ctx, "forget the answers", func(ctx context.Context, tx runner) error {
		return emptyTables(ctx, tx, answerTables...)
	})
}

// answerTables hold what answers callers or lets them in without a seal: of a database from
// elsewhere, it counts nothing.
var answerTables = []string{"once_keys", "background_tasks", "console_sessions", "console_voids"}

func emptyTables(ctx context.Context, tx runner, names ...string) error {
	for _, name := range names {
		if err := exec(ctx, tx, "DELETE FROM "+name); err != nil {
			return err
		}
	}
	return nil
}

// NoteSequence stores the newest line of an anchor that the database has seen.
func (db *DB) NoteSequence(ctx context.Context, anchor string, sequence int64) error {
	return db.execAlone(ctx, "note the anchor in the database", setMeta, metaSequence+anchor, strconv.FormatInt(sequence, 10))
}

// RequireIdentity stores that a token has existed.
func (db *DB) RequireIdentity(ctx context.Context) error {
	return db.execAlone(ctx, "note that callers need tokens", setMeta, metaIdentity, "on")
}

// Invalidate ends all tokens, console sessions, open requests for approval and standing rules of an
// imported database. Their seals are invalid already; this frees the names of tokens, and shows no
// request that nobody can decide.
func (db *DB) Invalidate(ctx context.Context, now time.Time) error {
	return db.transact(ctx, "end the tokens", func(ctx context.Context, tx runner) error {
		if err := exec(ctx, tx, `UPDATE agent_tokens SET live_name = NULL, revoked_at = coalesce(revoked_at, $1)`, micros(now)); err != nil {
			return err
		}
		if err := exec(ctx, tx, `DELETE FROM approvals WHERE state = 'pending'`); err != nil {
			return err
		}
		if err := exec(ctx, tx, `UPDATE approval_rules SET revoked_at = coalesce(revoked_at, $1)`, micros(now)); err != nil {
			return err
		}
		return emptyTables(ctx, tx, "console_sessions", "console_voids")
	})
}

// Reset deletes all tokens, console sessions, requests for approval and standing rules.
func (db *DB) Reset(ctx context.Context) error {
	return db.transact(ctx, "delete the tokens", func(ctx context.Context, tx runner) error {
		return emptyTables(ctx, tx, "agent_tokens", "console_sessions", "approvals", "approval_rules")
	})
}
