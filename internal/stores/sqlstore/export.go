package sqlstore

import (
	"bytes"
	"context"
	"database/sql"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// Snapshot is the content of the database at one moment, while others go on writing. Its tables and
// logs are the same bytes on SQLite and PostgreSQL if they hold the same data. It must be closed.
type Snapshot struct {
	db    *DB
	conn  *sql.Conn
	place string
}

// notExported are the beginnings of the names of tables that are no part of an export: indexes of
// other data, which are built again, and what is only valid for one database.
var notExported = []string{
	"announcers",                                  // processes that run
	"call_", "calls", "knowledge_", "rate_limits", // built again
	"meta", "secrets", "announcers", // of one database
	"logs", "log_lines", // exported as files
	"goose_", "sqlite_",
}

// placed are the tables whose column workspace names the workspace by its place. An export has
// thisPlace there instead, because the place is another one after a restore.
var placed = []string{"file_accesses", "client_sessions", "client_sessions_pruned"}

const thisPlace = "."

// taskIDs is the table with the last id of a task. In PostgreSQL it is a sequence.
const taskIDs = "task_ids"

// Snapshot begins to read the database as it is now. place names the workspace in it.
func (db *DB) Snapshot(ctx context.Context, place string) (*Snapshot, error) {
	conn, err := db.read.Conn(ctx)
	if err != nil {
		return nil, fmt.Errorf("begin a snapshot: %w", db.plain(err))
	}
	s := &Snapshot{db, conn, place}
	begin := "BEGIN"
	if db.shared {
		begin = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY"
	}
	if err = exec(ctx, conn, begin); err == nil {
		// The moment is that of the first read.
		_, err = findOne(ctx, conn, `SELECT count(*) FROM meta`, scanValue[int64])
	}
	if err == nil && db.shared { // what is read is written elsewhere in between
		err = exec(ctx, conn, `SET LOCAL idle_in_transaction_session_timeout = 0`)
	}
	if err != nil {
		s.Close()
		return nil, fmt.Errorf("begin a snapshot: %w", db.plain(err))
	}
	return s, nil
}

// Close ends the snapshot.
func (s *Snapshot) Close() {
	ctx, cancel := context.WithTimeout(context.Background(), defaultTimeout)
	defer cancel()
	_ = exec(ctx, s.conn, "ROLLBACK") // it has changed nothing; the pool drops a broken connection
	_ = s.conn.Close()
}

// Schema returns the version of the tables.
func (s *Snapshot) Schema(ctx context.Context) (int64, error) {
	v, err := findOne(ctx, s.conn, `SELECT max(version_id) FROM goose_db_version`, scanValue[int64])
	return v, wrap("read version", s.db.plain(err))
}

// Tables lists the tables of an export, in the order in which they must be imported.
func (s *Snapshot) Tables(ctx context.Context) ([]string, error) {
	names, err := exportedTables(ctx, s.db, s.conn)
	return names, wrap("list tables", s.db.plain(err))
}

func exportedTables(ctx context.Context, db *DB, on runner) ([]string, error) {
	query := `SELECT name FROM sqlite_master WHERE type = 'table'`
	if db.shared {
		query = `SELECT tablename::text FROM pg_tables WHERE schemaname = current_schema()`
	}
	found, err := collect(ctx, on, query, scanValue[string])
	if err != nil {
		return nil, err
	}
	names := slices.DeleteFunc(found, func(name string) bool {
		return name == taskIDs || slices.ContainsFunc(notExported, func(start string) bool { return strings.HasPrefix(name, start) })
	})
	slices.Sort(names)
	// In SQLite, adding a task counts it in task_lists and task_ids, so these come after the tasks.
	if at := slices.Index(names, "task_lists"); at >= 0 {
		names = append(slices.Delete(names, at, at+1), "task_lists")
	}
	return append(names, taskIDs), nil
}

// column is a column of a table.
type column struct {
	name string
	kind string // in lower case, as the database calls it
	key  int64  // its position in the primary key, from 1; 0 if it is no part of it
}

const columnsSQLite = `SELECT name, lower(type), pk FROM pragma_table_info($1)`

const columnsPostgres = `
SELECT a.attname::text, t.typname::text, coalesce(array_position(i.indkey::int2[], a.attnum) + 1, 0)::bigint
FROM pg_attribute a JOIN pg_type t ON t.oid = a.atttypid
LEFT JOIN pg_index i ON i.indrelid = a.attrelid AND i.indisprimary
WHERE a.attrelid = to_regclass($1) AND a.attnum > 0 AND NOT a.attisdropped`

func columnsOfTable(ctx context.Context, db *DB, on runner, table string) ([]column, error) {
	query := columnsSQLite
	if db.shared {
		query = columnsPostgres
	}
	columns, err := collect(ctx, on, query, func(row scanner) (c column, err error) {
		err = row.Scan(&c.name, &c.kind, &c.key)
		return c, err
	}, table)
	// Migrations may have added columns in another order.
	slices.SortFunc(columns, func(a, b column) int { return strings.Compare(a.name, b.name) })
	return columns, err
}

// isText reports whether the column holds text or bytes.
func (c *column) isText() bool { return c.kind == "text" || c.isBlob() }

func (c *column) isBlob() bool { return c.kind == "blob" || c.kind == "bytea" }

func (c *column) isBool() bool { return c.kind == "boolean" || c.kind == "bool" }

// WriteTable writes the rows of a table in the order of their keys, one JSON object on each line,
// and returns their number.
func (s *Snapshot) WriteTable(ctx context.Context, table string, w io.Writer) (rows int64, err error) {
	emit := func(line []byte) error {
		rows++
		_, err := w.Write(line)
		return err
	}
	if err := s.writeTable(ctx, table, emit); err != nil {
		return 0, fmt.Errorf("export table %s: %w", table, s.db.plain(err))
	}
	return rows, nil
}

func (s *Snapshot) writeTable(ctx context.Context, table string, emit func(line []byte) error) error {
	if table == taskIDs {
		return s.writeTaskIDs(ctx, emit)
	}
	columns, err := columnsOfTable(ctx, s.db, s.conn, table)
	if err != nil {
		return err
	}
	e := rowEncoder{columns: columns}
	if slices.Contains(placed, table) {
		e.place = s.place
	}
	return each(ctx, s.conn, selectAll(s.db, table, columns), func(row scanner) error {
		line, err := e.encode(row)
		if err != nil {
			return err
		}
		return emit(line)
	})
}

// selectAll returns the query for a whole table. The order of texts is that of their bytes.
func selectAll(db *DB, table string, columns []column) string {
	var names, order []string
	for _, c := range columns {
		names = append(names, c.name)
	}
	keys := slices.DeleteFunc(slices.Clone(columns), func(c column) bool { return c.key == 0 })
	slices.SortFunc(keys, func(a, b column) int { return int(a.key - b.key) })
	for _, c := range keys {
		if db.shared && c.kind == "text" {
			c.name += ` COLLATE "C"`
		}
		order = append(order, c.name)
	}
	return "SELECT " + strings.Join(names, ", ") + " FROM " + table + " ORDER BY " + strings.Join(order, ", ")
}

func (s *Snapshot) writeTaskIDs(ctx context.Context, emit func(line []byte) error) error {
	query := `SELECT last FROM task_ids`
	if s.db.shared {
		query = `SELECT CASE WHEN is_called THEN last_value ELSE last_value - 1 END FROM task_ids`
	}
	last, err := findOne(ctx, s.conn, query, scanValue[int64])
	if err != nil {
		return err
	}
	return emit(fmt.Appendf(nil, "{\"last\":%d}\n", last))
}

// rowEncoder encodes rows as JSON. Text and bytes are strings, or {"base64":"..."} if they are not
// valid UTF-8: a column may be TEXT in one database and BYTEA in the other.
type rowEncoder struct {
	columns []column
	place   string // replaced in the column workspace; "" replaces nothing
	values  []any
	line    bytes.Buffer
}

func (e *rowEncoder) encode(row scanner) ([]byte, error) {
	if e.values == nil {
		e.values = make([]any, len(e.columns))
		for i := range e.values {
			e.values[i] = new(any)
		}
	}
	if err := row.Scan(e.values...); err != nil {
		return nil, err
	}
	e.line.Reset()
	for i := range e.columns {
		c := &e.columns[i]
		e.line.WriteByte("{,"[min(i, 1)])
		e.line.WriteString(strconv.Quote(c.name) + ":")
		value := *e.values[i].(*any)
		if e.place != "" && c.name == "workspace" && value == e.place {
			value = thisPlace
		}
		if err := e.write(c, value); err != nil {
			return nil, fmt.Errorf("column %s: %w", c.name, err)
		}
	}
	e.line.WriteString("}\n")
	return e.line.Bytes(), nil
}

func (e *rowEncoder) write(c *column, value any) error {
	switch v := value.(type) {
	case nil:
		e.line.WriteString("null")
	case bool:
		e.line.WriteString(strconv.FormatBool(v))
	case int64:
		if c.isBool() {
			e.line.WriteString(strconv.FormatBool(v != 0))
			return nil
		}
		e.line.WriteString(strconv.FormatInt(v, 10))
	case string:
		return e.text([]byte(v))
	case []byte:
		return e.text(v)
	default:
		return fmt.Errorf("unexpected type %T", value)
	}
	return nil
}

func (e *rowEncoder) text(text []byte) error {
	if !utf8.Valid(text) {
		fmt.Fprintf(&e.line, `{"base64":%q}`, base64.StdEncoding.EncodeToString(text))
		return nil
	}
	encoder := json.NewEncoder(&e.line)
	encoder.SetEscapeHTML(false)
	err := encoder.Encode(string(text))
	e.line.Truncate(e.line.Len() - 1) // without the newline
	return err
}

// Log is an append-only log in PostgreSQL: a memory file, or the audit records of a day.
type Log struct {
	Name  string // the file, or the day
	Bytes int64
}

// MemoryLogs lists the memory files in the database.
func (s *Snapshot) MemoryLogs(ctx context.Context) ([]Log, error) { return s.logs(ctx, memoryLog("")) }

// AuditLogs lists the days with audit records in the database.
func (s *Snapshot) AuditLogs(ctx context.Context) ([]Log, error) { return s.logs(ctx, auditDays) }

func (s *Snapshot) logs(ctx context.Context, prefix string) ([]Log, error) {
	if !s.db.shared {
		return nil, nil
	}
	all, err := collect(ctx, s.conn, `SELECT log, bytes FROM logs WHERE starts_with(log, $1) ORDER BY log COLLATE "C"`,
		func(row scanner) (l Log, err error) {
			err = row.Scan(&l.Name, &l.Bytes)
			l.Name = strings.TrimPrefix(l.Name, prefix)
			return l, err
		}, prefix)
	return all, wrap("list logs", s.db.plain(err))
}

// WriteMemory writes a memory file.
func (s *Snapshot) WriteMemory(ctx context.Context, file string, w io.Writer) error {
	return s.writeLog(ctx, memoryLog(file), w)
}

// WriteAudit writes the audit records of a day.
func (s *Snapshot) WriteAudit(ctx context.Context, day string, w io.Writer) error {
	return s.writeLog(ctx, auditDays+day, w)
}

func (s *Snapshot) writeLog(ctx context.Context, log string, w io.Writer) error {
	err := each(ctx, s.conn, `SELECT body FROM log_lines WHERE log = $1 ORDER BY line`, func(row scanner) error {
		var body sql.RawBytes
		if err := row.Scan(&body); err != nil {
			return err
		}
		_, err := w.Write(append(slices.Clip([]byte(body)), '\n'))
		return err
	}, log)
	return wrap("export "+log, s.db.plain(err))
}

// Secrets returns the keys that only this database has.
func (s *Snapshot) Secrets(ctx context.Context) (map[string][]byte, error) {
	found := map[string][]byte{}
	if !s.db.shared {
		return found, nil
	}
	err := each(ctx, s.conn, `SELECT name, value FROM secrets`, func(row scanner) error {
		name, value := "", []byte(nil)
		err := row.Scan(&name, &value)
		found[name] = value
		return err
	})
	return found, wrap("read the keys", s.db.plain(err))
}
