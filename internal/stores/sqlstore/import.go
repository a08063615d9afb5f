package sqlstore

import (
	"bufio"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"hash"
	"io"
	"slices"
	"time"
)

// Import fills an empty database with the tables and logs of a Snapshot. Until Finish, the database
// is marked as unfinished. An import that was interrupted goes on where it stopped if it is begun
// again with the same source.
type Import struct {
	db    *DB
	place string
}

// ErrNotEmpty means that a database holds other data already.
var ErrNotEmpty = errors.New("the database holds other data already; use an empty one")

// ErrSourceChanged means that rows were imported before that the source no longer has. The table is
// empty now and must be imported from the beginning.
var ErrSourceChanged = errors.New("the source has changed since the import began")

// importTimeout bounds one transaction of an import.
const importTimeout = 10 * time.Minute

// BeginImport begins an import of what source names. place names the workspace in this database.
func (db *DB) BeginImport(ctx context.Context, source, place string) (*Import, error) {
	i := &Import{db, place}
	err := i.change(ctx, "begin an import", func(ctx context.Context, tx runner) error {
		old, begun, err := find(ctx, tx, `SELECT value FROM meta WHERE name = $1`, scanValue[string], metaImporting)
		if err == nil && !begun {
			err = checkEmpty(ctx, db, tx)
		}
		if err != nil {
			return err
		}
		if begun && old != source {
			return ErrNotEmpty
		}
		if db.shared { // their order counts, so that they are imported from the beginning
			err = emptyTables(ctx, tx, "log_lines", "logs")
		}
		if err != nil {
			return err
		}
		return exec(ctx, tx, setMeta, metaImporting, source)
	})
	if err != nil {
		return nil, err // so that nobody can abort what is there
	}
	return i, nil
}

// checkEmpty returns ErrNotEmpty if a table of an export, or a log, has a row.
func checkEmpty(ctx context.Context, db *DB, tx runner) error {
	names, err := exportedTables(ctx, db, tx)
	if err != nil {
		return err
	}
	names = names[:len(names)-1] // a last id without tasks does no harm
	if db.shared {
		names = append(names, "logs")
	}
	for _, name := range names {
		_, found, err := find(ctx, tx, "SELECT 1 FROM "+name+" LIMIT 1", scanValue[int64])
		if err != nil {
			return err
		}
		if found {
			return fmt.Errorf("table %s: %w", name, ErrNotEmpty)
		}
	}
	return nil
}

// change runs one transaction of the import.
func (i *Import) change(ctx context.Context, act string, f work) error {
	ctx, cancel := context.WithTimeout(ctx, importTimeout)
	defer cancel()
	return wrap(act, i.db.plain(i.db.change(ctx, f)))
}

// Table is the state of a table: how many rows it has, and the hash of its export.
type Table struct {
	Rows int64
	Hash string // SHA-256 in hex
}

// cursor says how far a table is imported: how many rows, and their hash.
type cursor struct {
	Rows int64  `json:"rows"`
	Hash string `json:"sha256"`
}

const (
	importRows = 200 // rows in a statement
	importStep = 25  // statements in a transaction
	maxRow     = 256 << 20
)

// Table imports a table from what Snapshot.WriteTable has written.
func (i *Import) Table(ctx context.Context, table string, r io.Reader) (Table, error) {
	t, err := i.table(ctx, table, r)
	if err != nil {
		return Table{}, fmt.Errorf("import table %s: %w", table, err)
	}
	return t, nil
}

func (i *Import) table(ctx context.Context, table string, r io.Reader) (Table, error) {
	known, err := exportedTables(ctx, i.db, i.db.reads)
	if err != nil {
		return Table{}, err
	}
	if !slices.Contains(known, table) {
		return Table{}, errors.New("this program has no such table; it was exported by a newer version")
	}
	t := &tableImport{Import: i, table: table, sum: sha256.New(), lines: bufio.NewReaderSize(r, 64<<10)}
	if table == taskIDs {
		return t.taskIDs(ctx)
	}
	if t.columns, err = columnsOfTable(ctx, i.db, i.db.reads, table); err != nil {
		return Table{}, err
	}
	if err := t.resume(ctx); err != nil {
		return Table{}, err
	}
	for {
		done, err := t.step(ctx)
		if err != nil || done {
			return t.state(), err
		}
	}
}

// tableImport is the import of one table.
type tableImport struct {
	*Import
	table   string
	columns []column // of the database; after the first row, those that the rows have
	names   []string // their names; nil before the first row
	lines   *bufio.Reader
	rows    int64
	sum     hash.Hash
}

func (t *tableImport) state() Table { return Table{t.rows, hex.EncodeToString(t.sum.Sum(nil))} }

// next returns the next line with its newline, or nil at the end.
func (t *tableImport) next() ([]byte, error) {
	var line []byte
	for {
		part, err := t.lines.ReadSlice('\n')
		line = append(line, part...)
		switch {
		case errors.Is(err, bufio.ErrBufferFull) && len(line) <= maxRow:
			continue
		case errors.Is(err, bufio.ErrBufferFull):
			return nil, fmt.Errorf("row %d is larger than %d bytes", t.rows+1, maxRow)
		case errors.Is(err, io.EOF) && len(line) == 0:
			return nil, nil
		case errors.Is(err, io.EOF):
			return nil, fmt.Errorf("row %d is cut off", t.rows+1)
		}
		t.rows++
		t.sum.Write(line)
		return line, err
	}
}

// resume skips the rows that an earlier attempt has imported. If they are others now, it empties
// the table and returns ErrSourceChanged.
func (t *tableImport) resume(ctx context.Context) error {
	text, found, err := find(ctx, t.db.reads, `SELECT value FROM meta WHERE name = $1`, scanValue[string], metaImport+t.table)
	if err != nil || !found {
		return err
	}
	var at cursor
	if err := json.Unmarshal([]byte(text), &at); err != nil {
		return fmt.Errorf("read how far the table is imported: %w", err)
	}
	for t.rows < at.Rows {
		line, err := t.next()
		if err != nil {
			return err
		}
		if line == nil {
			break
		}
		if t.names == nil {
			if _, err := t.decode(line); err != nil {
				return err
			}
		}
	}
	if t.rows == at.Rows && t.state().Hash == at.Hash {
		return nil
	}
	return cmp.Or(t.change(ctx, "begin again", func(ctx context.Context, tx runner) error {
		return errors.Join(emptyTables(ctx, tx, t.table), exec(ctx, tx, `DELETE FROM meta WHERE name = $1`, metaImport+t.table))
	}), ErrSourceChanged)
}

// step imports some rows in one transaction. done reports that there are no more.
func (t *tableImport) step(ctx context.Context) (done bool, err error) {
	var statements [][]any // the values of the rows of each statement
	for len(statements) < importStep && !done {
		values, err := t.batch()
		if err != nil {
			return false, err
		}
		if len(values) > 0 {
			statements = append(statements, values)
		}
		done = len(values) == 0 || len(values) < importRows*len(t.columns)
	}
	at, err := json.Marshal(cursor(t.state()))
	if err != nil {
		return false, fmt.Errorf("encode how far the table is imported: %w", err)
	}
	return done, t.change(ctx, "store rows", func(ctx context.Context, tx runner) error {
		for _, values := range statements {
			if err := exec(ctx, tx, t.insert(len(values)/len(t.columns)), values...); err != nil {
				return err
			}
		}
		return exec(ctx, tx, setMeta, metaImport+t.table, string(at))
	})
}

// batch reads the rows of one statement.
func (t *tableImport) batch() (values []any, err error) {
	for range importRows {
		line, err := t.next()
		if err != nil || line == nil {
			return values, err
		}
		row, err := t.decode(line)
		if err != nil {
			return nil, fmt.Errorf("row %d: %w", t.rows, err)
		}
		values = append(values, row...)
	}
	return values, nil
}

// taskIDs imports the last id of a task.
func (t *tableImport) taskIDs(ctx context.Context) (Table, error) {
	line, err := t.next()
	if err != nil {
		return Table{}, err
	}
	var row struct {
		Last *int64 `json:"last"`
	}
	if err := json.Unmarshal(line, &row); err != nil || row.Last == nil {
		return Table{}, errors.New("it has no last id")
	}
	query := `UPDATE task_ids SET last = $1`
	if t.db.shared {
		query = `SELECT setval('task_ids', greatest($1::bigint, 1), $1::bigint > 0)`
	}
	return t.state(), t.change(ctx, "store the last id", func(ctx context.Context, tx runner) error { return exec(ctx, tx, query, *row.Last) })
}

// SetSecret stores a key that another database had, in PostgreSQL.
func (i *Import) SetSecret(ctx context.Context, name string, value []byte) error {
	return i.change(ctx, "store a key", func(ctx context.Context, tx runner) error {
		return exec(ctx, tx, `INSERT INTO secrets (name, value) VALUES ($1, $2) ON CONFLICT (name) DO UPDATE SET value = excluded.value`, name, value)
	})
}

// Abort removes everything that was imported.
func (i *Import) Abort(ctx context.Context) error {
	return i.change(ctx, "undo the import", func(ctx context.Context, tx runner) error {
		names, err := exportedTables(ctx, i.db, tx)
		if err != nil {
			return err
		}
		names = names[:len(names)-1] // the last id of a task never goes down
		if i.db.shared {
			names = append(names, "logs", "log_lines", "announcers")
		}
		if err := emptyTables(ctx, tx, names...); err != nil {
			return err
		}
		return exec(ctx, tx, endImport, metaImporting, metaImport)
	})
}

const endImport = `DELETE FROM meta WHERE name = $1 OR substr(name, 1, 7) = $2`

// Finish marks the database as complete. The outbox belongs to owner then.
func (i *Import) Finish(ctx context.Context, owner string) error {
	return i.change(ctx, "finish the import", func(ctx context.Context, tx runner) error {
		if err := errors.Join(i.advance(ctx, tx), exec(ctx, tx, `UPDATE outbox SET owner = $1`, owner)); err != nil {
			return err
		}
		return exec(ctx, tx, endImport, metaImporting, metaImport)
	})
}

// advance lets PostgreSQL number new rows after the imported ones, in tables where it does that.
func (i *Import) advance(ctx context.Context, tx runner) error {
	if !i.db.shared {
		return nil
	}
	const numbered = `
SELECT table_name::text, column_name::text FROM information_schema.columns
WHERE table_schema = current_schema() AND pg_get_serial_sequence(quote_ident(table_name), column_name) IS NOT NULL`
	found, err := collect(ctx, tx, numbered, func(row scanner) (name [2]string, err error) {
		err = row.Scan(&name[0], &name[1])
		return name, err
	})
	for _, name := range found {
		const set = `SELECT setval(pg_get_serial_sequence('%[1]s', '%[2]s'), (SELECT max(%[2]s) FROM %[1]s)) WHERE EXISTS (SELECT 1 FROM %[1]s)`
		err = errors.Join(err, exec(ctx, tx, fmt.Sprintf(set, name[0], name[1])))
	}
	return err
}
