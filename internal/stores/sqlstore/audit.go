package sqlstore

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"remit/internal/engine/audit"
)

// Records keeps the audit records in PostgreSQL, in one hash chain for all who share
// the database: whoever appends holds the row that knows the last hash.
type Records struct {
	source Source
	lost   func(error)
	queue  lineQueue

	mu   sync.Mutex
	told time.Time // when lost was last called
}

var _ audit.Keeper = (*Records)(nil)

// Records returns the audit records in a database of PostgreSQL. lost is told, once a
// minute at most, that records which nobody waited for were not kept.
func (s Source) Records(lost func(error)) *Records {
	r := &Records{source: s, lost: lost}
	r.queue.store = r.store
	return r
}

const (
	auditChain = "audit"  // the log that counts all records, and knows the last
	auditDays  = "audit/" // and the day of each
)

const countDay = `
INSERT INTO logs AS l (log, lines, bytes, changed_at) VALUES ($1, $2, $3, $4)
ON CONFLICT (log) DO UPDATE SET lines = l.lines + excluded.lines, bytes = l.bytes + excluded.bytes,
	changed_at = greatest(l.changed_at + 1, excluded.changed_at)`

// Ready keeps the promise of audit.Keeper. Once the database was reached that is all it
// asks: what a call changes is there too, so while it is lost nothing changes.
func (r *Records) Ready(string) error {
	if r.queue.isClosed() {
		return ErrClosed
	}
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	_, err := r.source(ctx)
	return err
}

// Keep keeps the promise of audit.Keeper.
func (r *Records) Keep(day string, record []byte, durable bool) (func(context.Context) error, error) {
	if r.queue.isClosed() {
		return nil, ErrClosed
	}
	return r.queue.append(&entry{body: record, day: day, durable: durable}).wait, nil
}

// store adds a batch to the chain, and tells of what is lost.
func (r *Records) store(ctx context.Context, batch []*entry) error {
	db, err := r.source(ctx)
	if err == nil {
		err = db.change(ctx, func(ctx context.Context, tx runner) error { return chain(ctx, tx, batch) })
	}
	if err != nil {
		err = fmt.Errorf("keep audit records: %w", err)
		r.tell(batch, err)
	}
	return err
}

// chain adds a batch to the chain.
func chain(ctx context.Context, tx runner, batch []*entry) error {
	count, _, err := lockCount(ctx, tx, auditChain, time.Now())
	if err != nil {
		return fmt.Errorf("lock the chain: %w", err)
	}
	link := tipOf(count.tip)
	var rows [][]any
	days := map[string]*logCount{}
	for _, e := range batch {
		line := link.follow(e)
		count.add(line)
		if days[link.day] == nil {
			days[link.day] = &logCount{}
		}
		days[link.day].add(line)
		rows = append(rows, []any{auditDays + link.day, count.lines, line})
	}
	count.tip = []byte(link.day + " " + link.hash)
	return keepRecords(ctx, tx, rows, count, days)
}

// chainLink is where the chain ends.
type chainLink struct{ day, hash string }

func tipOf(tip []byte) chainLink {
	if len(tip) == 0 {
		return chainLink{hash: audit.Genesis}
	}
	day, hash, _ := strings.Cut(string(tip), " ")
	return chainLink{day, hash}
}

// follow seals a record into the chain. It goes to the day that the chain has come
// to: a call may end after midnight that began before.
func (c *chainLink) follow(e *entry) []byte {
	line := audit.Seal(c.hash, e.body)
	*c = chainLink{max(c.day, e.day), audit.HashOf(line)}
	return line
}

func keepRecords(ctx context.Context, tx runner, rows [][]any, count logCount, days map[string]*logCount) error {
	if err := addLines(ctx, tx, rows); err != nil {
		return err
	}
	now := time.Now()
	for day, c := range days { // all rows are those of whoever has locked the chain
		if err := exec(ctx, tx, countDay, auditDays+day, c.lines, c.bytes, micros(now)); err != nil {
			return fmt.Errorf("count the records of a day: %w", err)
		}
	}
	return keepCount(ctx, tx, auditChain, count, now)
}

// tell speaks for the records that nobody waits for.
func (r *Records) tell(batch []*entry, err error) {
	lost := slices.ContainsFunc(batch, func(e *entry) bool { return !e.durable })
	r.mu.Lock()
	now := time.Now()
	silent := !lost || r.lost == nil || now.Sub(r.told) < time.Minute
	if !silent {
		r.told = now
	}
	r.mu.Unlock()
	if !silent {
		r.lost(err)
	}
}

// Close keeps what is queued. It also tells whether a record that nobody waited for
// could not be kept.
func (r *Records) Close() error { return r.queue.close() }

// RecordReader reads the records that Records keeps.
func (s Source) RecordReader() audit.Reader { return recordReader{s} }

// recordReader reads records from the tables. The place of a line is its number.
type recordReader struct{ source Source }

const listDays = `
SELECT log, bytes, (SELECT coalesce(max(line) + 1, 0) FROM log_lines n WHERE n.log = l.log) FROM logs l
WHERE starts_with(log, 'audit/') ORDER BY log COLLATE "C"`

const linesFrom = `
SELECT line, body FROM log_lines
WHERE log = $1 AND line >= $2 ORDER BY line LIMIT $3`

const linesBefore = `
SELECT line, body FROM log_lines
WHERE log = $1 AND line < $2 ORDER BY line DESC LIMIT $3`

// Days keeps the promise of audit.Reader.
func (r recordReader) Days(ctx context.Context) ([]audit.Day, error) {
	return readRecords(ctx, r.source, listDays, func(row scanner) (day audit.Day, err error) {
		err = row.Scan(&day.Name, &day.Size, &day.End)
		day.Name = strings.TrimPrefix(day.Name, auditDays)
		return day, err
	})
}

// From keeps the promise of audit.Reader.
func (r recordReader) From(ctx context.Context, day string, place int64, limit int) ([]audit.Line, error) {
	return readRecords(ctx, r.source, linesFrom, scanLine, auditDays+day, place, limit)
}

// Before keeps the promise of audit.Reader.
func (r recordReader) Before(ctx context.Context, day string, place int64, limit int) ([]audit.Line, error) {
	return readRecords(ctx, r.source, linesBefore, scanLine, auditDays+day, place, limit)
}

func scanLine(row scanner) (line audit.Line, err error) {
	err = row.Scan(&line.Place, &line.Text)
	line.Next = line.Place + 1
	return line, err
}

func readRecords[T any](ctx context.Context, source Source, query string, read func(scanner) (T, error), args ...any) ([]T, error) {
	ctx, cancel := withPatience(ctx)
	defer cancel()
	db, err := source(ctx)
	if err != nil {
		return nil, fmt.Errorf("read audit records: %w", err)
	}
	all, err := collect(ctx, db.reader(ctx), query, read, args...)
	return all, doing("read audit records", db.plain(err))
}
