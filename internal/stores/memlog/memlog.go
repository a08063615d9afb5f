// Package memlog keeps append-only files of lines; an acknowledged line is on disk.
package memlog

import (
	"bytes"
	"errors"
	"os"
	"runtime"
	"sync"
)

// maxBatch bounds how long one batch keeps other processes from the file.
const maxBatch = 256

// ErrClosed is what an entry fails with when its log was closed before.
var ErrClosed = errors.New("log is closed")

var errLineBreak = errors.New("a JSON line cannot hold a line break")

// Files opens the files of a log.
type Files interface {
	// OpenAppend opens name for reading and appending (O_RDWR|O_APPEND|O_CREATE),
	// creating the folders above it. Never follows a symlink.
	OpenAppend(name string) (*os.File, error)
}

// Format says what the lines of a file are, and so what an unfinished one means.
type Format int

// The formats of a log.
const (
	JSONLines Format = iota // one JSON value a line; a last line that is none was torn
	Text                    // any text; an entry may have several lines
)

// Options say which file a log keeps, and how.
type Options struct {
	Files  Files
	Name   string // e.g. "progress_log.jsonl"
	Format Format
	// Seal, if set, appends to b the line that is stored for a body, under the file's
	// lock: prev is the last whole line in the file without newline (nil if none),
	// number the 1-based number the line gets. It must not keep or change prev.
	Seal func(b, prev []byte, number int64, body []byte) []byte
}

// Log appends entries to one file. Its methods are safe for concurrent use, and
// any number of logs, in any number of processes, may append to the same file.
type Log struct {
	oneLine bool  // whether a body is refused if it has a line break
	file    *file // the goroutine's own

	mu      sync.Mutex
	work    sync.Cond // signalled when there is something to write, or the end
	queue   queue
	closed  bool
	stopped chan struct{} // nil until the first Append starts the goroutine
	err     error         // the last failure of an entry that need not be durable
}

// New makes a log. Nothing is opened before the first Append.
func New(o Options) *Log {
	l := &Log{
		oneLine: o.Format == JSONLines && o.Seal == nil,
		file:    &file{Options: o, sync: dataSync},
	}
	l.work.L = &l.mu
	return l
}

// Append queues one entry (without its newline; it is stored with one) and
// returns at once; entries queued one after another are stored in that order.
// An entry that is not durable is written with the next batch but not synced for
// its own sake. Nobody may change body afterwards.
func (l *Log) Append(body []byte, durable bool) *Ticket {
	t := &Ticket{log: l, body: body, durable: durable}
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case l.closed:
		t.settle(Place{}, ErrClosed)
		return t
	case l.oneLine && bytes.IndexByte(body, '\n') >= 0:
		t.settle(Place{}, errLineBreak)
		return t
	}
	l.queue.push(t)
	if l.stopped == nil {
		l.stopped = make(chan struct{})
		go l.run()
	}
	l.work.Signal()
	return t
}

// Close writes what is queued, stops the goroutine and closes the file. Appends
// after Close fail with ErrClosed. Close also reports the failure of entries that
// need not be durable: nobody may have waited for them. A durable one is waited for,
// sooner or later, and tells its caller itself.
func (l *Log) Close() error {
	l.mu.Lock()
	l.closed = true
	stopped := l.stopped
	l.work.Signal()
	l.mu.Unlock()
	if stopped == nil {
		return nil
	}
	<-stopped
	return l.err // the goroutine is gone
}

// run writes batch after batch until the log is closed and nothing is queued.
func (l *Log) run() {
	defer close(l.stopped)
	for l.await() {
		l.commit()
	}
	l.err = errors.Join(l.err, l.file.close())
}

// await returns true when there are entries to write, false at the end.
func (l *Log) await() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	for l.queue.first == nil && !l.closed {
		l.work.Wait()
	}
	return l.queue.first != nil
}

// commit stores one batch and answers it. The batch is taken after the file is
// locked: whoever comes while we wait for the lock still gets in, and whoever
// gives up meanwhile gets out.
func (l *Log) commit() {
	runtime.Gosched() // let those that the last batch answered join this one
	err := l.file.begin()
	batch := l.take()
	if err == nil && len(batch) > 0 {
		err = l.file.store(batch)
	}
	l.answer(batch, l.file.end(err))
}

// take moves the oldest entries out of the queue, leaving out those withdrawn.
func (l *Log) take() []*Ticket {
	l.mu.Lock()
	defer l.mu.Unlock()
	var batch []*Ticket
	for len(batch) < maxBatch && l.queue.first != nil {
		if t := l.queue.pop(); !t.settled {
			t.taken = true
			batch = append(batch, t)
		}
	}
	return batch
}

func (l *Log) answer(batch []*Ticket, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, t := range batch {
		if err != nil && !t.durable {
			l.err = err
		}
		t.settle(t.place, err)
	}
}
