package sqlstore

import "context"

// Counts says how much a database holds. What SQLite does not hold is 0: memory files and audit
// records are files then.
type Counts struct {
	Bytes       int64
	Tasks       int64
	MemoryFiles int64
	MemoryBytes int64
	Records     int64
}

const countSQLite = `
SELECT (SELECT page_count * page_size FROM pragma_page_count(), pragma_page_size()), (SELECT count(*) FROM tasks), 0, 0, 0`

const countPostgres = `
SELECT pg_database_size(current_database()), (SELECT count(*) FROM tasks),
	count(*) FILTER (WHERE starts_with(log, 'memory/')),
	coalesce(sum(bytes) FILTER (WHERE starts_with(log, 'memory/')), 0)::bigint,
	coalesce(sum(lines) FILTER (WHERE starts_with(log, 'audit/')), 0)::bigint
FROM logs`

// Counts returns how much the database holds.
func (db *DB) Counts(ctx context.Context) (Counts, error) {
	query := countSQLite
	if db.shared {
		query = countPostgres
	}
	c, _, err := lookUp(ctx, db, "count what the database holds", query, func(row scanner) (c Counts, err error) {
		err = row.Scan(&c.Bytes, &c.Tasks, &c.MemoryFiles, &c.MemoryBytes, &c.Records)
		return c, err
	})
	return c, db.plain(err)
}
