package sqlstore

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"strings"
)

// Hold keeps everybody else from changing the data, while it is moved to another database. They can
// go on reading. It must be released.
type Hold struct {
	db   *DB
	conn *sql.Conn
	end  func() error
}

// Hold waits until nobody changes the data, and keeps it so.
func (db *DB) Hold(ctx context.Context) (h *Hold, err error) {
	h = &Hold{db: db, end: func() error { return nil }}
	from := db.write
	if !db.shared { // the connection of db.write belongs to its writer
		if from, err = pool(db.file, 1, "_synchronous=FULL", "_busy_timeout=5000"); err != nil {
			return nil, err
		}
		h.end = from.Close
	}
	if h.conn, err = from.Conn(ctx); err != nil {
		return nil, errors.Join(fmt.Errorf("lock the data: %w", db.plain(err)), h.end())
	}
	if err := h.lock(ctx); err != nil {
		h.Release()
		return nil, fmt.Errorf("lock the data: %w", db.plain(err))
	}
	return h, nil
}

func (h *Hold) lock(ctx context.Context) error {
	if !h.db.shared {
		return exec(ctx, h.conn, "BEGIN IMMEDIATE")
	}
	if err := exec(ctx, h.conn, "BEGIN"); err != nil {
		return err
	}
	names, err := h.tables(ctx)
	if err != nil {
		return err
	}
	for _, query := range []string{
		"SET LOCAL idle_in_transaction_session_timeout = 0", "SET LOCAL lock_timeout = '10s'",
		"LOCK TABLE " + strings.Join(names, ", ") + " IN SHARE MODE",
	} {
		if err := exec(ctx, h.conn, query); err != nil {
			return err
		}
	}
	return nil
}

// HoldChain waits until no process adds audit records to PostgreSQL, and keeps it so.
func (db *DB) HoldChain(ctx context.Context) (*Hold, error) {
	conn, err := db.write.Conn(ctx)
	if err != nil {
		return nil, fmt.Errorf("hold the audit records: %w", db.plain(err))
	}
	h := &Hold{db: db, conn: conn, end: func() error { return nil }}
	if err = exec(ctx, conn, "BEGIN"); err == nil {
		// Books are listed meanwhile.
		err = exec(ctx, conn, "SET LOCAL idle_in_transaction_session_timeout = '5min'")
	}
	if err == nil {
		var found bool
		if _, found, err = find(ctx, conn, `SELECT lines FROM logs WHERE log = $1 FOR UPDATE`, scanValue[int64], auditChain); err == nil && !found {
			err = exec(ctx, conn, "LOCK TABLE logs IN SHARE MODE") // there is no record yet
		}
	}
	if err != nil {
		h.Release()
		return nil, fmt.Errorf("hold the audit records: %w", db.plain(err))
	}
	return h, nil
}

// End releases what HoldChain holds. The error means that it was not held until now.
func (h *Hold) End() error {
	defer h.Release()
	ctx, cancel := context.WithTimeout(context.Background(), defaultTimeout)
	defer cancel()
	return wrap("hold the audit records", h.db.plain(exec(ctx, h.conn, "SELECT 1")))
}

// tables returns the tables of PostgreSQL that hold data.
func (h *Hold) tables(ctx context.Context) ([]string, error) {
	names, err := exportedTables(ctx, h.db, h.conn)
	if err == nil {
		names[len(names)-1] = "logs" // instead of the sequence
	}
	return names, err
}

// Move notes that the data is at another location now, and releases it. Nobody can change it here
// any more.
func (h *Hold) Move(ctx context.Context, location string) error {
	defer h.Release()
	err := exec(ctx, h.conn, setMeta, metaMoved, location)
	if err == nil && h.db.shared {
		err = h.refuseWrites(ctx)
	}
	if err == nil {
		err = exec(ctx, h.conn, "COMMIT")
	}
	return wrap("note where the data is", h.db.plain(err))
}

// Release ends the hold. It does nothing after Move.
func (h *Hold) Release() {
	if h.conn == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), defaultTimeout)
	defer cancel()
	_ = exec(ctx, h.conn, "ROLLBACK") // after a commit there is nothing to roll back
	_ = errors.Join(h.conn.Close(), h.end())
	h.conn = nil
}

const refuseFunction = `
CREATE OR REPLACE FUNCTION remit_moved() RETURNS trigger LANGUAGE plpgsql AS
$$ BEGIN RAISE EXCEPTION 'the data was moved to another database' USING ERRCODE = 'read_only_sql_transaction'; END $$`

// refuseWrites lets PostgreSQL refuse changes, also by servers that have opened the database
// before. A SQLite file needs no such rule: nobody else has it open, and who opens it sees the
// mark.
func (h *Hold) refuseWrites(ctx context.Context) error {
	names, err := h.tables(ctx)
	if err == nil {
		err = exec(ctx, h.conn, refuseFunction)
	}
	for i := 0; i < len(names) && err == nil; i++ {
		err = exec(ctx, h.conn, fmt.Sprintf(`CREATE OR REPLACE TRIGGER remit_moved BEFORE INSERT OR UPDATE OR DELETE ON %s
FOR EACH STATEMENT EXECUTE FUNCTION remit_moved()`, names[i]))
	}
	return err
}

// Reopen makes this database the one to use again, after its data was moved elsewhere.
func (db *DB) Reopen(ctx context.Context) error {
	return db.transact(ctx, "use the database again", func(ctx context.Context, tx runner) error {
		if db.shared {
			if err := exec(ctx, tx, `DROP FUNCTION IF EXISTS remit_moved() CASCADE`); err != nil {
				return err
			}
		}
		return exec(ctx, tx, `DELETE FROM meta WHERE name = $1`, metaMoved)
	})
}

// Checkpoint writes everything that is beside a closed SQLite file into the file, so that it can be
// renamed.
func Checkpoint(ctx context.Context, url string) error {
	file, ok := File(url)
	if !ok {
		return nil
	}
	db, err := pool(file, 1, "_synchronous=FULL", "_busy_timeout=5000")
	if err != nil {
		return err
	}
	var busy, pages, written int64
	_, err = findOne(ctx, db, "PRAGMA wal_checkpoint(TRUNCATE)", into(&busy, &pages, &written))
	if err == nil && busy != 0 {
		err = errors.New("another program uses the file")
	}
	return wrap("write the database file", errors.Join(err, db.Close()))
}

// InUse reports whether another process has the database open at the moment.
func InUse(ctx context.Context, url string) (inUse bool, err error) {
	file, ok := File(url)
	if !ok {
		return postgresInUse(ctx, url)
	}
	// A connection with this mode locks out all others, so it fails if there are any.
	db, err := pool(file, 1, "_pragma=locking_mode(EXCLUSIVE)", "_busy_timeout=500")
	if err != nil {
		return false, err
	}
	conn, err := db.Conn(ctx)
	if err == nil {
		err = exec(ctx, conn, "BEGIN EXCLUSIVE")
		if err == nil {
			// This connection removes the write-ahead log when it ends. Without that, the file that
			// a killed process has left beside it would look like a log that was lost.
			_ = os.Remove(file + "-shm")
			err = exec(ctx, conn, "ROLLBACK")
		}
		err = errors.Join(err, conn.Close())
	}
	if isBusy(err) {
		return true, db.Close()
	}
	return false, wrap("see whether the database is in use", errors.Join(err, db.Close()))
}

func postgresInUse(ctx context.Context, url string) (bool, error) {
	db, err := postgresPool(url)
	if err != nil {
		return false, err
	}
	others, err := findOne(ctx, db, `SELECT count(*) FROM pg_stat_activity
WHERE datname = current_database() AND pid <> pg_backend_pid() AND backend_type = 'client backend'`, scanValue[int64])
	return others > 0, wrap("see whether the database is in use", errors.Join(plainPostgres(err), db.Close()))
}
