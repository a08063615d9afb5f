// Package memlog stores append-only files of lines. When an append returns, its line is on disk.
// Any number of processes may append to the same file. The package does not interpret the lines,
// except to repair an incomplete last one.
package memlog

import (
	"bytes"
	"errors"
	"os"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"

	"remit/internal/engine/audit"
)

// maxBatch limits how long one batch keeps other processes from the file.
const maxBatch = 256

// ErrClosed is the error of an entry that is appended after its log was closed.
var ErrClosed = errors.New("log is closed")

// ErrUnknown is wrapped by the error of an entry that may be in the file: it was written, but the
// disk failed afterwards, or the folder was no longer at its path.
var ErrUnknown = errors.New("it is unknown whether the entry was stored")

var errLineBreak = errors.New("a JSON line cannot hold a line break")

// Files opens the files of a log.
type Files interface {
	// OpenAppend opens name for reading and appending (O_RDWR|O_APPEND|O_CREATE), and creates the
	// folders above it. It never follows a symlink.
	OpenAppend(name string) (*os.File, error)
}

// Place is the folder of a log, in whose place another one may appear: a volume is unmounted, or
// the folder is moved away.
type Place interface {
	// Before returns an error if a batch must not be written, and before the file is created.
	// durable means that a caller waits until the batch is on disk.
	Before(durable bool) error
	// After returns an error if a batch that is on disk cannot be found there.
	After() error
}

// Format is the format of the lines in a file. It determines how to treat an incomplete last line.
type Format int

// The formats of a log.
const (
	JSONLines Format = iota // one JSON value per line; a last line that is not valid JSON was torn
	Text                    // any text; an entry may have several lines
)

// Options configures a log.
type Options struct {
	Files  Files
	Name   string // e.g. "progress_log.jsonl"
	Format Format
	Place  Place // nil: any folder with that name is the right one
	// Seal, if set, appends to b the line that is stored for a body. It is called under the lock of
	// the file: prev is the last complete line in the file without its newline (nil if none), and
	// number is the 1-based number of the new line. It must not keep or change prev.
	Seal func(b, prev []byte, number int64, body []byte) []byte
	// Lost, if set, is called when entries that need not be durable could not be written.
	Lost func(error)
}

// Log appends entries to one file. Its methods are safe for concurrent use, and any number of logs,
// in any number of processes, may append to the same file.
type Log struct {
	oneLine bool  // reject a body that has a line break
	file    *file // used by the goroutine only

	mu      sync.Mutex
	work    sync.Cond // signaled when isDue may have changed
	queue   queue
	closed  bool
	stopped chan struct{} // nil until the first Append starts the goroutine
	err     error         // the last failure of an entry that need not be durable

	end atomic.Pointer[fileEnd] // nil while it is not known
}

// New returns a log. It opens nothing before the first Append.
func New(o Options) *Log {
	l := &Log{
		oneLine: o.Format == JSONLines && o.Seal == nil,
		file:    &file{Options: o, sync: dataSync},
	}
	l.work.L = &l.mu
	return l
}

// Append queues one entry and returns immediately. body comes without its newline, which is added.
// Entries queued one after another are stored in that order. An entry that is not durable is
// written with the next batch, but causes no sync of its own. The caller must not change body
// afterwards.
func (l *Log) Append(body []byte, durable bool) *Ticket {
	t := &Ticket{body: body, durable: durable}
	l.append(t)
	return t
}

// append queues an entry. It returns false if the entry is rejected.
func (l *Log) append(t *Ticket) (queued bool) {
	t.log = l
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case l.closed:
		t.settle(Position{}, ErrClosed)
		return false
	case l.oneLine && bytes.IndexByte(t.body, '\n') >= 0:
		t.settle(Position{}, errLineBreak)
		return false
	}
	l.queue.push(t)
	if l.stopped == nil {
		l.stopped = make(chan struct{})
		go l.run()
	}
	if l.queue.first == t && !t.announcing {
		l.work.Signal()
	}
	return true
}

// Close writes what is queued, stops the goroutine and closes the file. Appends after Close fail
// with ErrClosed. Close also returns the failure of entries that need not be durable, because no
// caller may have waited for them. The failure of a durable entry is returned by its Wait.
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
	return l.err // safe without the mutex: the goroutine has ended
}

// run writes batches until the log is closed and the queue is empty.
func (l *Log) run() {
	defer close(l.stopped)
	for l.await() {
		l.commit()
	}
	l.err = errors.Join(l.err, l.file.close())
}

// await waits for entries to write. It returns false when the log is closed and the queue is empty.
func (l *Log) await() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	for !l.isDue() {
		l.work.Wait()
	}
	return l.queue.first != nil
}

// isDue reports whether the first entry may be taken, or the goroutine may end. Later entries wait
// for the first one, because entries keep their order.
func (l *Log) isDue() bool {
	if first := l.queue.first; first != nil {
		return !first.announcing
	}
	return l.closed
}

// commit stores one batch and reports its outcome. It takes the batch after it has locked the file:
// entries that arrive while it waits for the lock still join, and entries withdrawn meanwhile are
// left out.
func (l *Log) commit() {
	runtime.Gosched() // let callers that the last batch answered join this one
	err := l.file.begin()
	batch := l.take()
	if err == nil {
		batch = slices.DeleteFunc(batch, l.refused)
	}
	if err == nil && len(batch) > 0 {
		err = l.file.store(batch, l.noteEnd)
	}
	err = l.file.end(err)
	l.noteEnd()
	l.answer(batch, err)
}

// take moves the oldest entries out of the queue, without the withdrawn ones.
func (l *Log) take() []*Ticket {
	l.mu.Lock()
	defer l.mu.Unlock()
	var batch []*Ticket
	for len(batch) < maxBatch && l.queue.first != nil && !l.queue.first.announcing {
		t := l.queue.pop()
		if !t.settled && t.refusal != nil {
			t.settle(Position{}, t.refusal)
		}
		if !t.settled {
			t.taken = true
			batch = append(batch, t)
		}
	}
	return batch
}

// refused settles an entry whose check fails.
func (l *Log) refused(t *Ticket) bool {
	if t.from > l.file.known.size {
		return l.failed(t, errShortened)
	}
	return t.check != nil && l.failed(t, t.check(l.file.f))
}

// failed settles an entry that is left out because of an error, and reports whether there is one.
func (l *Log) failed(t *Ticket, err error) bool {
	if err == nil {
		return false
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	t.step.Report(audit.NotMade)
	t.settle(Position{}, err)
	return true
}

func (l *Log) answer(batch []*Ticket, err error) {
	lost := err != nil && slices.ContainsFunc(batch, func(t *Ticket) bool { return !t.durable })
	if lost && l.file.Lost != nil {
		l.file.Lost(err)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if lost {
		l.err = err
	}
	for _, t := range batch {
		switch {
		case err == nil:
			t.step.Report(audit.Made)
		case !errors.Is(err, ErrUnknown):
			t.step.Report(audit.NotMade)
		}
		t.settle(t.place, err)
	}
}
