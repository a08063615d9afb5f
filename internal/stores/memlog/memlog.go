// Package memlog keeps append-only files of lines; an acknowledged line is on disk.
package memlog

import (
	"bytes"
	"context"
	"errors"
	"os"
	"sync"

	"remit/internal/batchwriter"
)

// ErrClosed is what an entry fails with when its log was closed before.
var ErrClosed = batchwriter.ErrClosed

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
	// Seal, if set, turns a body into the line that is stored, under the file's
	// lock: prev is the last whole line in the file without newline (nil if none),
	// number the 1-based number the line gets. It must not keep or change prev.
	Seal func(prev []byte, number int64, body []byte) []byte
	// Lost is called when entries that need not be durable were not written; may be nil.
	Lost func(error)
}

// Log appends entries to one file. Its methods are safe for concurrent use, and
// any number of logs, in any number of processes, may append to the same file.
type Log struct {
	oneLine bool  // whether a body is refused if it has a line break
	file    *file // its writer's own
	lines   batchwriter.Lines
	end     func() error
}

// New makes a log. Nothing is opened before the first Append.
func New(o Options) *Log {
	l := &Log{
		oneLine: o.Format == JSONLines && o.Seal == nil,
		file:    &file{Options: o, sync: dataSync},
	}
	l.lines.Write = l.commit
	l.lines.Lost = o.Lost
	l.end = sync.OnceValue(func() error { return errors.Join(l.lines.Close(), l.file.close()) })
	return l
}

// Place says where an entry went.
type Place struct {
	Line  int64 // the 1-based number of the entry's first line
	Bytes int   // appended to the file for this entry, with every newline that took
}

// Ticket stands for an entry on its way to disk.
type Ticket batchwriter.Line

// Append queues one entry (without its newline; it is stored with one) and
// returns at once; entries queued one after another are stored in that order.
// An entry that is not durable is written with the next batch but not synced for
// its own sake. The caller may reuse body.
func (l *Log) Append(body []byte, durable bool) *Ticket {
	if l.oneLine && bytes.IndexByte(body, '\n') >= 0 {
		return (*Ticket)(l.lines.Refuse(errLineBreak))
	}
	return (*Ticket)(l.lines.Append(&batchwriter.Line{Body: bytes.Clone(body)}, durable))
}

// Wait returns when the entry is durable. If ctx ends first and the entry has not
// been taken into a batch, it is withdrawn (never written) and ctx's error
// returned; once taken into a batch, Wait waits for the batch's outcome. For an
// entry that need not be durable, Wait returns when it is written.
func (t *Ticket) Wait(ctx context.Context) (Place, error) {
	line := (*batchwriter.Line)(t)
	err := line.Wait(ctx)
	return Place{line.Number, line.Bytes}, err
}

// Close writes what is queued and closes the file. Appends
// after Close fail with ErrClosed. Close also reports the failure of entries that
// need not be durable: nobody may have waited for them. A durable one is waited for,
// sooner or later, and tells its caller itself.
func (l *Log) Close() error { return l.end() }

// commit stores one batch, which is taken after the file is locked.
func (l *Log) commit(take func() []*batchwriter.Line) error {
	err := l.file.begin()
	batch := take()
	if err == nil && len(batch) > 0 {
		err = l.file.store(batch)
	}
	return l.file.end(err)
}
