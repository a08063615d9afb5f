package sqlstore

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"runtime"
	"slices"
	"sync"
	"time"
)

// Source gives a database, which it opens when that is first asked for. What is kept
// for all who share a database of PostgreSQL comes from one: a program starts, and goes
// on, while the database cannot be reached.
type Source func(ctx context.Context) (*DB, error)

// A log is a row that counts, and a row for each entry. Whoever has locked the row
// that counts may append; entries that were appended never change. The table knows
// the number of an entry's first line: one of text may have several.

const lockLog = `SELECT lines, bytes, tip FROM logs WHERE log = $1 FOR UPDATE`

const startLog = `
INSERT INTO logs (log, lines, bytes, changed_at) VALUES ($1, 0, 0, $2)
ON CONFLICT (log) DO NOTHING`

const addEntries = `
INSERT INTO log_lines (log, line, body)
SELECT * FROM unnest($1::text[], $2::bigint[], $3::bytea[])`

// A change is seen by its time, so no two have the same.
const countEntries = `
UPDATE logs SET lines = $2, bytes = $3, changed_at = greatest(changed_at + 1, $4), tip = $5
WHERE log = $1`

// logCount is what a log holds.
type logCount struct {
	lines int64
	bytes int64  // with a newline for each line
	tip   []byte // what the next entry builds on, if it builds on any
}

// lockCount gives the calling transaction a log for itself, and tells whether that is new.
func lockCount(ctx context.Context, tx runner, log string, now time.Time) (count logCount, isNew bool, err error) {
	read := into(&count.lines, &count.bytes, &count.tip)
	if _, found, err := find(ctx, tx, lockLog, read, log); found || err != nil {
		return count, false, err
	}
	if isNew, err = changesOne(tx.ExecContext(ctx, startLog, log, micros(now))); err != nil {
		return count, false, fmt.Errorf("start a log: %w", err)
	}
	_, err = findOne(ctx, tx, lockLog, read, log)
	return count, isNew, err
}

// addLines adds rows, which are the log, the number and the body of an entry each.
func addLines(ctx context.Context, tx runner, rows [][]any) error {
	return doing("add entries", exec(ctx, tx, addEntries, columnsOf(rows)...))
}

// keepCount writes what a log holds now.
func keepCount(ctx context.Context, tx runner, log string, count logCount, now time.Time) error {
	return doing("count entries", exec(ctx, tx, countEntries, log, count.lines, count.bytes, micros(now), count.tip))
}

// ErrClosed is what an entry fails with when its log was closed before.
var ErrClosed = errors.New("log is closed")

var errTooMany = errors.New("too many entries wait for the database")

const (
	mostBatched = 256                   // entries that one transaction keeps others waiting for
	mostWaiting = 1 << 16               // entries that nobody waits for, while the database is slow
	lull        = 50 * time.Millisecond // for which such an entry may wait for company
)

// lineQueue gathers what many append, and has it stored in that order, a batch a
// transaction. It has a goroutine only while there is something to do.
type lineQueue struct {
	// store keeps a batch, all of it or nothing, and tells each entry its place.
	store func(ctx context.Context, batch []*entry) error

	mu      sync.Mutex
	waiting []*entry
	running chan struct{} // closed when the goroutine ends; nil while there is none
	timer   *time.Timer   // which starts it; nil while none is set
	closed  bool
	lost    error // the last failure of an entry that nobody waits for
}

// entry is something on its way into a log.
type entry struct {
	queue   *lineQueue
	body    []byte
	day     string // of a record
	durable bool   // whether somebody waits for it

	// The queue's mutex guards what follows, except that line and size are its
	// goroutine's own until done is closed.
	taken   bool // in a batch: only the database knows how it ends; before, it may be withdrawn
	settled bool
	line    int64 // the number of its first line
	size    int   // in bytes, with its newline
	err     error
	done    chan struct{}
}

// append gives an entry its place in the queue and returns at once.
func (q *lineQueue) append(e *entry) *entry {
	e.queue, e.done = q, make(chan struct{})
	q.mu.Lock()
	defer q.mu.Unlock()
	switch {
	case q.closed:
		e.settle(ErrClosed)
		return e
	case !e.durable && len(q.waiting) >= mostWaiting:
		q.lost = errTooMany
		e.settle(errTooMany)
		return e
	}
	q.waiting = append(q.waiting, e)
	switch {
	case e.durable:
		q.start()
	case q.timer == nil && q.running == nil:
		q.timer = time.AfterFunc(lull, func() {
			q.mu.Lock()
			defer q.mu.Unlock()
			q.start()
		})
	}
	return e
}

func (q *lineQueue) isClosed() bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.closed
}

// start sees to it that what waits is stored. The mutex is held.
func (q *lineQueue) start() {
	if q.timer != nil {
		q.timer.Stop()
		q.timer = nil
	}
	if q.running == nil && len(q.waiting) > 0 {
		q.running = make(chan struct{})
		go q.run(q.running)
	}
}

// run stores batch after batch until nothing waits.
func (q *lineQueue) run(done chan struct{}) {
	defer close(done)
	for {
		runtime.Gosched() // let those that the last batch answered join this one
		batch := q.take()
		if batch == nil {
			return
		}
		// Whoever waits for it waits on: only its end tells whether it was kept.
		ctx, cancel := withPatience(context.Background())
		err := q.store(ctx, batch)
		cancel()
		q.answer(batch, err)
	}
}

// take moves the oldest entries out of the queue; nil if there are none, and then
// the goroutine is over.
func (q *lineQueue) take() []*entry {
	q.mu.Lock()
	defer q.mu.Unlock()
	var batch []*entry
	for len(batch) < mostBatched && len(q.waiting) > 0 {
		e := q.waiting[0]
		q.waiting[0], q.waiting = nil, q.waiting[1:]
		if !e.settled {
			e.taken = true
			batch = append(batch, e)
		}
	}
	if batch == nil {
		q.running, q.waiting = nil, nil
	}
	return batch
}

func (q *lineQueue) answer(batch []*entry, err error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if err != nil && q.closed { // nobody waits for the end to try the rest, batch by batch
		batch, q.waiting = slices.Concat(batch, q.waiting), nil
	}
	for _, e := range batch {
		if e.settled {
			continue // withdrawn
		}
		if err != nil && !e.durable {
			q.lost = err
		}
		e.settle(err)
	}
}

// settle records how it ended. The queue's mutex is held.
func (e *entry) settle(err error) {
	e.settled, e.err, e.body = true, err, nil
	close(e.done)
}

// wait returns when the entry is kept. If ctx ends before it was taken into a batch
// it is withdrawn; once taken, wait waits for what becomes of the batch.
func (e *entry) wait(ctx context.Context) error {
	select {
	case <-e.done:
		return e.err
	case <-ctx.Done():
	}
	e.queue.mu.Lock()
	if !e.taken && !e.settled {
		e.settle(ctx.Err())
	}
	e.queue.mu.Unlock()
	<-e.done
	return e.err
}

// close has what waits stored. It reports the failure of entries that nobody waited
// for: they have no other way to say so.
func (q *lineQueue) close() error {
	q.mu.Lock()
	q.closed = true
	q.start()
	running := q.running
	q.mu.Unlock()
	if running != nil {
		<-running
	}
	return q.lost // the goroutine is gone
}

// logInfo describes a log as if it were a file.
type logInfo struct {
	db      *DB
	name    string
	lines   int64
	size    int64
	changed time.Time
}

func (i *logInfo) Name() string       { return i.name }
func (i *logInfo) Size() int64        { return i.size }
func (i *logInfo) Mode() fs.FileMode  { return 0o400 }
func (i *logInfo) ModTime() time.Time { return i.changed }
func (i *logInfo) IsDir() bool        { return false }
func (i *logInfo) Sys() any           { return nil }
