package sqlstore

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"
)

// scanner is a row, of one or of many.
type scanner interface{ Scan(dest ...any) error }

// collect runs a query and reads its rows to their end.
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

// each runs a query and visits its rows to their end.
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

// list collects rows where ctx says to read. The error says what was to be done.
func list[T any](ctx context.Context, db *DB, act, query string, read func(scanner) (T, error), args ...any) ([]T, error) {
	all, err := collect(ctx, db.reader(ctx), query, read, args...)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", act, err)
	}
	return all, nil
}

// find reads the one row of a query; false if there is none.
func find[T any](ctx context.Context, on runner, query string, read func(scanner) (T, error), args ...any) (one T, found bool, err error) {
	one, err = read(on.QueryRowContext(ctx, query, args...))
	if err == nil {
		return one, true, nil
	}
	if errors.Is(err, sql.ErrNoRows) {
		err = nil
	}
	return *new(T), false, err
}

// scanValue reads a row of one column.
func scanValue[T any](row scanner) (value T, err error) {
	err = row.Scan(&value)
	return value, err
}

// exec runs a statement whose result tells nothing.
func exec(ctx context.Context, on runner, query string, args ...any) error {
	_, err := on.ExecContext(ctx, query, args...)
	return err
}

// changesOne tells whether a statement changed a row.
func changesOne(result sql.Result, err error) (bool, error) {
	if err != nil {
		return false, err
	}
	n, err := result.RowsAffected()
	return n == 1, err
}

// putRows runs one for each row in SQLite, which takes it some microseconds. PostgreSQL is told of all rows at once: the
// parameters of all are arrays of a column each. Those in same come first, and are the same for each row.
func (db *DB) putRows(ctx context.Context, tx runner, one, all string, rows [][]any, same ...any) error {
	if !db.shared {
		for _, row := range rows {
			if err := exec(ctx, tx, one, slices.Concat(same, row)...); err != nil {
				return err
			}
		}
		return nil
	}
	if len(rows) == 0 {
		return nil
	}
	return exec(ctx, tx, all, slices.Concat(same, columnsOf(rows))...)
}

// columnsOf are rows as PostgreSQL takes them: an array for each column. Texts are BYTEA there.
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

// bytesOf are texts as PostgreSQL takes them for an array of BYTEA.
func bytesOf(texts []string) [][]byte {
	list := make([][]byte, len(texts))
	for i, text := range texts {
		list[i] = []byte(text)
	}
	return list
}

// micros is how a time is kept; the zero time is NULL.
func micros(t time.Time) sql.NullInt64 {
	return sql.NullInt64{Int64: t.UnixMicro(), Valid: !t.IsZero()}
}

// fromMicros is the reverse of micros.
func fromMicros(n sql.NullInt64) time.Time {
	if !n.Valid {
		return time.Time{}
	}
	return timeOf(n.Int64)
}

func timeOf(micros int64) time.Time { return time.UnixMicro(micros).UTC() }

// timeColumn reads what micros has written into a time.
type timeColumn time.Time

// Scan keeps the promise of sql.Scanner.
func (c *timeColumn) Scan(from any) error {
	n, ok := from.(int64)
	if !ok && from != nil {
		return fmt.Errorf("a time is kept as %T", from)
	}
	*c = timeColumn(fromMicros(sql.NullInt64{Int64: n, Valid: ok}))
	return nil
}

// jsonColumn keeps what it points to as JSON; NULL if that is nil or an empty list.
type jsonColumn struct{ of any }

// Value keeps the promise of driver.Valuer.
func (c jsonColumn) Value() (driver.Value, error) {
	text, err := json.Marshal(c.of)
	if err != nil || string(text) == "null" || string(text) == "[]" {
		return nil, err
	}
	return text, nil
}

// Scan keeps the promise of sql.Scanner.
func (c jsonColumn) Scan(from any) error {
	var text sql.Null[[]byte]
	if err := text.Scan(from); err != nil || !text.Valid {
		return err
	}
	return json.Unmarshal(text.V, c.of)
}
