package sqlstore

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"encoding/json"
	"fmt"
	"slices"
	"time"
)

// scanner is a row that can be scanned.
type scanner interface{ Scan(dest ...any) error }

// collect runs a query and returns all of its rows.
func collect[T any](ctx context.Context, on runner, query string, read func(scanner) (T, error), args ...any) ([]T, error) {
	var all []T
	err := each(ctx, on, query, func(row scanner) error {
		one, err := read(row)
		all = append(all, one)
		return err
	}, args...)
	if err != nil {
		return nil, err
	}
	return all, nil
}

// each runs a query and calls visit for each row.
func each(ctx context.Context, on runner, query string, visit func(scanner) error, args ...any) error {
	rows, err := on.QueryContext(ctx, query, args...)
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		if err := visit(rows); err != nil {
			return err
		}
	}
	return rows.Err()
}

// list collects rows from the reader that belongs to ctx. It wraps errors with act.
func list[T any](ctx context.Context, db *DB, act, query string, read func(scanner) (T, error), args ...any) ([]T, error) {
	all, err := collect(ctx, db.reader(ctx), query, read, args...)
	return all, wrap(act, err)
}

// find reads the first row of a query. It returns false if there is none.
func find[T any](ctx context.Context, on runner, query string, read func(scanner) (T, error), args ...any) (one T, found bool, err error) {
	rows, err := on.QueryContext(ctx, query, args...)
	if err != nil {
		return one, false, err
	}
	defer rows.Close()
	if !rows.Next() {
		return one, false, rows.Err()
	}
	if one, err = read(rows); err == nil {
		err = rows.Close()
	}
	if err != nil {
		return *new(T), false, err
	}
	return one, true, nil
}

// lookUp finds a row with the reader that belongs to ctx. It wraps errors with act.
func lookUp[T any](ctx context.Context, db *DB, act, query string, read func(scanner) (T, error), args ...any) (T, bool, error) {
	one, found, err := find(ctx, db.reader(ctx), query, read, args...)
	return one, found, wrap(act, err)
}

// findOne is find for a row that must exist.
func findOne[T any](ctx context.Context, on runner, query string, read func(scanner) (T, error), args ...any) (T, error) {
	one, found, err := find(ctx, on, query, read, args...)
	if err == nil && !found {
		err = sql.ErrNoRows
	}
	return one, err
}

// into returns a function that scans a row into variables.
func into(dest ...any) func(scanner) (struct{}, error) {
	return func(row scanner) (struct{}, error) { return struct{}{}, row.Scan(dest...) }
}

// scanValue scans a row that has one column.
func scanValue[T any](row scanner) (value T, err error) {
	err = row.Scan(&value)
	return value, err
}

// exec runs a statement and discards its result.
func exec(ctx context.Context, on runner, query string, args ...any) error {
	_, err := on.ExecContext(ctx, query, args...)
	return err
}

// changed returns how many rows a statement changed.
func changed(result sql.Result, err error) (int64, error) {
	if err != nil {
		return 0, err
	}
	return result.RowsAffected()
}

// changesOne reports whether a statement changed exactly one row.
func changesOne(result sql.Result, err error) (bool, error) {
	n, err := changed(result, err)
	return n == 1, err
}

// perEngine returns the statement for many rows and the parameters of each of its runs. SQLite runs
// the statement one for each row, which takes microseconds. PostgreSQL runs the statement all once,
// and its parameters are arrays, one for each column.
func (db *DB) perEngine(one, all string, rows [][]any) (query string, args [][]any) {
	if !db.shared || len(rows) == 0 {
		return one, rows
	}
	return all, [][]any{columnsOf(rows)}
}

// putRows runs a statement for many rows. The parameters in same come first and are the same for
// each row.
func (db *DB) putRows(ctx context.Context, tx runner, one, all string, rows [][]any, same ...any) error {
	query, rows := db.perEngine(one, all, rows)
	for _, row := range rows {
		if err := exec(ctx, tx, query, slices.Concat(same, row)...); err != nil {
			return err
		}
	}
	return nil
}

// columnsOf transposes rows into arrays, one for each column, as PostgreSQL takes them. Strings
// become BYTEA.
func columnsOf(rows [][]any) []any {
	columns := make([]any, len(rows[0]))
	for i := range columns {
		column := make([]any, len(rows))
		for j, row := range rows {
			column[j] = row[i]
			if text, ok := row[i].(string); ok {
				column[j] = []byte(text)
			}
		}
		columns[i] = column
	}
	return columns
}

// micros converts a time to the value in the database; the zero time is NULL.
func micros(t time.Time) sql.NullInt64 {
	return sql.NullInt64{Int64: t.UnixMicro(), Valid: !t.IsZero()}
}

func timeOf(micros int64) time.Time { return time.UnixMicro(micros).UTC() }

// timeColumn scans a column that micros wrote into a time.
type timeColumn time.Time

// Scan implements sql.Scanner.
func (c *timeColumn) Scan(from any) error {
	switch n := from.(type) {
	case nil:
		*c = timeColumn{}
	case int64:
		*c = timeColumn(timeOf(n))
	default:
		return fmt.Errorf("scan time: unexpected type %T", from)
	}
	return nil
}

// jsonColumn stores the value that it points to as JSON; nil and empty lists become NULL.
type jsonColumn struct{ of any }

// Value implements driver.Valuer.
func (c jsonColumn) Value() (driver.Value, error) {
	text, err := json.Marshal(c.of)
	if err != nil || string(text) == "null" || string(text) == "[]" {
		return nil, err
	}
	return text, nil
}

// Scan implements sql.Scanner.
func (c jsonColumn) Scan(from any) error {
	var text sql.Null[[]byte]
	if err := text.Scan(from); err != nil || !text.Valid {
		return err
	}
	return json.Unmarshal(text.V, c.of)
}
