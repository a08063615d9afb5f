package sqlstore

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"remit/internal/engine/audit"
)

// Records stores the audit records in PostgreSQL, in one hash chain for all processes that share
// the database. A process that appends first locks the row that holds the last hash.
type Records struct {
	source Source
	lost   func(error)
	queue  lineQueue

	count  atomic.Int64 // how many records there were when this process last stored one
	behind atomic.Bool  // there are fewer now
}

var (
	_ audit.Storage         = (*Records)(nil)
	_ audit.RecoveryStorage = (*Records)(nil)
)

// Records returns the audit records in a PostgreSQL database. It calls lost when
// records that no caller waited for could not be stored.
func (s Source) Records(lost func(error)) *Records {
	r := &Records{source: s, lost: lost}
	r.queue.store = r.store
	return r
}

const (
	auditChain = "audit"  // the log that counts all records and holds the last hash
	auditDays  = "audit/" // prefix of the log of each day
)

const countDay = `
INSERT INTO logs AS l (log, lines, bytes, changed_at) VALUES ($1, $2, $3, $4)
ON CONFLICT (log) DO UPDATE SET lines = l.lines + excluded.lines, bytes = l.bytes + excluded.bytes,
	changed_at = greatest(l.changed_at + 1, excluded.changed_at)`

// Ready implements audit.Storage. It only checks that the database was reached once: the data that
// a call changes is in the same database, so nothing changes while it is unreachable.
func (r *Records) Ready(string) error {
	if r.queue.isClosed() {
		return ErrClosed
	}
	ctx, cancel := context.WithTimeout(context.Background(), defaultTimeout)
	defer cancel()
	_, err := r.source(ctx)
	return err
}

// Append implements audit.Storage.
func (r *Records) Append(day string, record []byte, durable bool) (func(context.Context) error, error) {
	if r.queue.isClosed() {
		return nil, ErrClosed
	}
	return r.queue.append(&entry{body: record, day: day, durable: durable}).wait, nil
}

// AppendSince implements audit.RecoveryStorage.
func (r *Records) AppendSince(ctx context.Context, day string, record []byte, since []audit.Place) error {
	if r.queue.isClosed() {
		return ErrClosed
	}
	return r.queue.append(&entry{body: record, day: day, durable: true, since: since}).wait(ctx)
}

// Replace implements audit.Storage.
func (r *Records) Replace(day string, record []byte, call string) error {
	if r.queue.isClosed() {
		return ErrClosed
	}
	r.queue.append(&entry{body: record, day: day, call: call})
	return nil
}

// store appends a batch to the chain. It reports lost records if that fails.
func (r *Records) store(ctx context.Context, batch []*entry) error {
	db, err := r.source(ctx)
	if err == nil {
		err = r.append(ctx, db, batch)
	}
	if err != nil {
		err = fmt.Errorf("store audit records: %w", err)
		r.reportLost(batch, err)
	}
	return err
}

// append appends a batch to the chain, unless the chain has become shorter.
func (r *Records) append(ctx context.Context, db *DB, batch []*entry) error {
	return r.chain(ctx, db, func(ctx context.Context, tx runner) ([]*entry, error) { return replaceRows(ctx, tx, batch) })
}

// chain appends the entries that next returns to the chain, in one transaction.
func (r *Records) chain(ctx context.Context, db *DB, next func(context.Context, runner) ([]*entry, error)) error {
	var count int64
	err := db.change(ctx, func(ctx context.Context, tx runner) error {
		batch, err := next(ctx, tx)
		if err != nil || len(batch) == 0 {
			return err
		}
		count, err = chain(ctx, tx, batch, r.count.Load())
		return err
	})
	switch {
	case errors.Is(err, errShortChain):
		r.behind.Store(true)
	case err == nil:
		for old := r.count.Load(); old < count && !r.count.CompareAndSwap(old, count); old = r.count.Load() {
		}
	}
	return err
}

// errShortChain says that records are missing that were stored before.
var errShortChain = errors.New("the database has fewer records than before: it was put back to an earlier time")

// IsBehind reports whether it was noticed that records are missing that this process has stored.
func (r *Records) IsBehind() bool { return r != nil && r.behind.Load() }

// Behind looks whether records are still missing, if that was noticed.
func (r *Records) Behind(ctx context.Context, db *DB) (bool, error) {
	if !r.IsBehind() {
		return false, nil
	}
	count, _, err := lookUp(ctx, db, "count the records", `SELECT lines FROM logs WHERE log = $1`, scanValue[int64], auditChain)
	if err == nil && count >= r.count.Load() {
		r.behind.Store(false)
	}
	return r.behind.Load(), err
}

// chain appends a batch to the chain within a transaction, and returns how many records it has
// then. It returns errShortChain if there are fewer than atLeast before.
func chain(ctx context.Context, tx runner, batch []*entry, atLeast int64) (int64, error) {
	count, _, err := lockCount(ctx, tx, auditChain, time.Now())
	if err != nil {
		return 0, fmt.Errorf("lock the chain: %w", err)
	}
	if count.lines < atLeast {
		return 0, errShortChain
	}
	link := tipOf(count.tip)
	if batch, err = withoutSettled(ctx, tx, batch, link.day); err != nil || len(batch) == 0 {
		return count.lines, err
	}
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
	return count.lines, storeRecords(ctx, tx, rows, count, days)
}

// withoutSettled leaves out the records of recovery whose call was settled meanwhile. No record is
// added before the transaction ends, because it holds the lock on the chain. last is the day of the
// newest record.
func withoutSettled(ctx context.Context, tx runner, batch []*entry, last string) ([]*entry, error) {
	settled := map[string]bool{}
	read := map[string]bool{}
	for _, e := range batch {
		for _, from := range e.since {
			for _, day := range []string{from.Day, last} { // lines are numbered through all days
				if key := fmt.Sprint(day, from.Offset); !read[key] {
					read[key] = true
					lines, err := collect(ctx, tx, linesFrom, scanLine, auditDays+day, from.Offset, math.MaxInt32)
					if err != nil {
						return nil, fmt.Errorf("look which calls are settled: %w", err)
					}
					for _, line := range lines {
						settled[audit.CallOf(line.Text)] = settled[audit.CallOf(line.Text)] || audit.Settles(line.Text)
					}
				}
			}
		}
	}
	return slices.DeleteFunc(slices.Clone(batch), func(e *entry) bool { return e.since != nil && settled[audit.CallOf(e.body)] }), nil
}

// chainLink is the end of the chain.
type chainLink struct{ day, hash string }

func tipOf(tip []byte) chainLink {
	if len(tip) == 0 {
		return chainLink{hash: audit.InitialHash}
	}
	day, hash, _ := strings.Cut(string(tip), " ")
	return chainLink{day, hash}
}

// follow seals a record into the chain. It files the record under the latest day of the chain,
// because a call may begin before midnight and end after it.
func (c *chainLink) follow(e *entry) []byte {
	line := audit.Seal(c.hash, e.body)
	*c = chainLink{max(c.day, e.day), audit.HashOf(line)}
	return line
}

func storeRecords(ctx context.Context, tx runner, rows [][]any, count logCount, days map[string]*logCount) error {
	if err := addLines(ctx, tx, rows); err != nil {
		return err
	}
	now := time.Now()
	for day, c := range days { // the lock on the chain covers all of these rows
		if err := exec(ctx, tx, countDay, auditDays+day, c.lines, c.bytes, micros(now)); err != nil {
			return fmt.Errorf("count the records of a day: %w", err)
		}
	}
	return storeCount(ctx, tx, auditChain, count, now)
}

// reportLost calls lost for records that no caller waits for.
func (r *Records) reportLost(batch []*entry, err error) {
	if r.lost != nil && slices.ContainsFunc(batch, (*entry).mayBeLost) {
		r.lost(err)
	}
}

// Flush stores the queued records.
func (r *Records) Flush(ctx context.Context) error { return r.queue.flush(ctx) }

// Drop deletes the records of some days. The chain keeps counting them.
func (r *Records) Drop(ctx context.Context, days []string) error {
	db, err := r.source(ctx)
	for _, day := range days {
		if err != nil {
			break
		}
		err = db.transact(ctx, "drop audit records", func(ctx context.Context, tx runner) error {
			return errors.Join(exec(ctx, tx, `DELETE FROM log_lines WHERE log = $1`, auditDays+day),
				exec(ctx, tx, `DELETE FROM logs WHERE log = $1`, auditDays+day))
		})
	}
	return err
}

// Close stores the queued records. It returns an error if a record that no caller waited for could
// not be stored.
func (r *Records) Close() error { return r.queue.close() }

// RecordReader returns a reader of the records that Records stores.
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

// Days implements audit.Reader.
func (r recordReader) Days(ctx context.Context) ([]audit.Day, error) {
	return readRecords(ctx, r.source, listDays, func(row scanner) (day audit.Day, err error) {
		err = row.Scan(&day.Name, &day.Size, &day.End)
		day.Name = strings.TrimPrefix(day.Name, auditDays)
		return day, err
	})
}

// From implements audit.Reader.
func (r recordReader) From(ctx context.Context, day string, place int64, limit int) ([]audit.Line, error) {
	return readRecords(ctx, r.source, linesFrom, scanLine, auditDays+day, place, limit)
}

// Before implements audit.Reader.
func (r recordReader) Before(ctx context.Context, day string, place int64, limit int) ([]audit.Line, error) {
	return readRecords(ctx, r.source, linesBefore, scanLine, auditDays+day, place, limit)
}

func scanLine(row scanner) (line audit.Line, err error) {
	err = row.Scan(&line.Offset, &line.Text)
	line.Next = line.Offset + 1
	return line, err
}

func readRecords[T any](ctx context.Context, source Source, query string, read func(scanner) (T, error), args ...any) ([]T, error) {
	ctx, cancel := withTimeout(ctx)
	defer cancel()
	db, err := source(ctx)
	if err != nil {
		return nil, fmt.Errorf("read audit records: %w", err)
	}
	all, err := collect(ctx, db.reader(ctx), query, read, args...)
	return all, wrap("read audit records", db.plain(err))
}
