package sqlstore

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"runtime"
	"slices"
	"sync"
	"time"

	"remit/internal/engine/audit"
	"remit/internal/toolsets/learning"
)

// Source returns a database, which it opens on first use. The stores that processes share on
// PostgreSQL use a Source, so that a program can start, and keep running, while the database is
// unreachable.
type Source func(ctx context.Context) (*DB, error)

// A log consists of one row with its counts, and one row for each entry. A transaction that has
// locked the row with the counts may append. Appended entries never change. The table holds the
// number of the first line of an entry, because a text entry may have several lines.

const lockLog = `SELECT lines, bytes, tip FROM logs WHERE log = $1 FOR UPDATE`

const startLog = `
INSERT INTO logs (log, lines, bytes, changed_at) VALUES ($1, 0, 0, $2)
ON CONFLICT (log) DO NOTHING`

const addEntries = `
INSERT INTO log_lines (log, line, body)
SELECT * FROM unnest($1::text[], $2::bigint[], $3::bytea[])`

// Readers detect a change by its time, so no two changes get the same time.
const countEntries = `
UPDATE logs SET lines = $2, bytes = $3, changed_at = greatest(changed_at + 1, $4), tip = $5
WHERE log = $1`

// logCount is the size of a log.
type logCount struct {
	lines int64
	bytes int64  // including a newline for each line
	tip   []byte // state that the next entry builds on, if any
}

// lockCount locks a log for the calling transaction. isNew reports whether it created the log.
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

// addLines adds rows. Each row holds the log, the number and the body of an entry.
func addLines(ctx context.Context, tx runner, rows [][]any) error {
	return wrap("add entries", exec(ctx, tx, addEntries, columnsOf(rows)...))
}

// storeCount stores the new counts of a log.
func storeCount(ctx context.Context, tx runner, log string, count logCount, now time.Time) error {
	return wrap("count entries", exec(ctx, tx, countEntries, log, count.lines, count.bytes, micros(now), count.tip))
}

// ErrClosed is the error of an entry that is appended after its log was closed.
var ErrClosed = errors.New("log is closed")

var errTooMany = errors.New("too many entries wait for the database")

const (
	// Maximum number of entries in one transaction, which others wait for.
	maxBatch   = 256
	maxWaiting = 1 << 16 // maximum number of queued entries that no caller waits for
	// How long such an entry may wait for more entries to join its batch.
	batchDelay = 25 * time.Millisecond
)

// lineQueue collects entries from many callers and stores them in order, one batch per transaction.
// Its goroutine runs only while there is work.
type lineQueue struct {
	// store stores a batch, all of it or nothing, and sets the place of each entry.
	store func(ctx context.Context, batch []*entry) error

	mu      sync.Mutex
	waiting []*entry
	running chan struct{} // closed when the goroutine ends; nil while none runs
	timer   *time.Timer   // starts the goroutine; nil while not set
	urgent  bool          // what is queued must not wait for more
	closed  bool
	lost    error // the last error of an entry that no caller waits for
}

// entry is an entry that is queued or being written.
type entry struct {
	queue   *lineQueue
	body    []byte
	day     string           // of an audit record
	call    string           // of an audit record that takes the place of a row in the outbox
	since   []audit.Place    // of a record of recovery; see AppendSince
	effect  *audit.Effect    // of an entry of a memory file; nil if it has none
	durable bool             // a caller waits for it
	follows *learning.Extent // of a memory file: the entry is stored only after this text

	// The queue's mutex guards the fields below, except that line, size and refused belong to its
	// goroutine until done is closed.
	refused error // why store left the entry out
	// Part of a batch, so its outcome depends on the database; until then it can be withdrawn.
	taken   bool
	settled bool
	line    int64 // the number of its first line
	size    int   // in bytes, including the newline
	err     error
	done    chan struct{}
}

// append queues an entry and returns immediately.
func (q *lineQueue) append(e *entry) *entry {
	e.queue, e.done = q, make(chan struct{})
	q.mu.Lock()
	defer q.mu.Unlock()
	switch {
	case q.closed:
		e.settle(ErrClosed)
		return e
	case !e.durable && len(q.waiting) >= maxWaiting:
		if e.mayBeLost() {
			q.lost = errTooMany
		}
		e.settle(errTooMany)
		return e
	}
	q.waiting = append(q.waiting, e)
	switch {
	case e.durable:
		q.urgent = true
		q.start()
	case q.timer == nil && q.running == nil:
		q.startLater()
	}
	return e
}

// startLater makes sure that queued entries are stored after a while. The caller holds the mutex.
func (q *lineQueue) startLater() {
	q.timer = time.AfterFunc(batchDelay, func() {
		q.mu.Lock()
		defer q.mu.Unlock()
		q.start()
	})
}

func (q *lineQueue) isClosed() bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.closed
}

// start makes sure that queued entries are stored. The caller holds the mutex.
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

// run stores a batch, and more as long as that is urgent or a batch is full.
func (q *lineQueue) run(done chan struct{}) {
	defer close(done)
	for isFirst := true; ; isFirst = false {
		runtime.Gosched() // let callers that the last batch answered join this one
		batch := q.take(isFirst)
		if batch == nil {
			return
		}
		// The callers wait on without a deadline of their own: only the end of the transaction
		// tells whether the batch was stored.
		ctx, cancel := withTimeout(context.Background())
		err := q.store(ctx, batch)
		cancel()
		q.answer(batch, err)
	}
}

// take moves the oldest entries out of the queue. It returns nil if the queue is empty, or if what
// is queued can wait for more; then the goroutine ends.
func (q *lineQueue) take(isFirst bool) []*entry {
	q.mu.Lock()
	defer q.mu.Unlock()
	if n := len(q.waiting); !isFirst && !q.urgent && 0 < n && n < maxBatch {
		q.running = nil
		q.startLater()
		return nil
	}
	var batch []*entry
	for len(batch) < maxBatch && len(q.waiting) > 0 {
		e := q.waiting[0]
		q.waiting[0], q.waiting = nil, q.waiting[1:]
		if !e.settled {
			e.taken = true
			batch = append(batch, e)
		}
	}
	q.urgent = q.urgent && len(q.waiting) > 0
	if batch == nil {
		q.running, q.waiting = nil, nil
	}
	return batch
}

func (q *lineQueue) answer(batch []*entry, err error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if err != nil && q.closed { // nobody waits while the rest is tried batch by batch
		batch, q.waiting = slices.Concat(batch, q.waiting), nil
	}
	for _, e := range batch {
		if e.settled {
			continue // withdrawn
		}
		if err != nil && e.mayBeLost() {
			q.lost = err
		}
		e.settle(cmp.Or(err, e.refused))
	}
}

// mayBeLost reports whether nothing is left of the entry if it cannot be stored: no caller waits
// for it, and it is not in the outbox.
func (e *entry) mayBeLost() bool { return !e.durable && e.call == "" }

// settle records the outcome of an entry. The caller holds the queue's mutex.
func (e *entry) settle(err error) {
	e.settled, e.err, e.body = true, err, nil
	close(e.done)
}

// wait returns when the entry is stored. If ctx ends before the entry is part of a batch, the entry
// is withdrawn; after that, wait waits for the outcome of the batch.
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

// flush stores what is queued, without waiting for more. It returns when that has succeeded or
// failed, or when ctx ends, which is the only error.
func (q *lineQueue) flush(ctx context.Context) error {
	q.mu.Lock()
	q.urgent = len(q.waiting) > 0
	q.start()
	done := q.running
	if n := len(q.waiting); n > 0 {
		done = q.waiting[n-1].done
	}
	q.mu.Unlock()
	if done == nil {
		return nil
	}
	select {
	case <-done:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// close stores what is queued. It returns the error of entries that no caller waited for, because
// no one else reports it.
func (q *lineQueue) close() error {
	q.mu.Lock()
	q.closed, q.urgent = true, true
	q.start()
	running := q.running
	q.mu.Unlock()
	if running != nil {
		<-running
	}
	return q.lost // safe without the mutex: the goroutine has ended
}

// logInfo describes a log as an fs.FileInfo.
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
