package memlog

import (
	"bytes"
	"context"
	"errors"
	"os"

	"remit/internal/contract"
	"remit/internal/engine/audit"
)

// announce stores the record of the call that appends an entry, and then lets the log take it. It
// runs in the goroutine of the caller, so that the records of many calls share a sync, while the
// log writes the entries before.
func (t *Ticket) announce(ctx context.Context, e *audit.Effect, c audit.Change) {
	step, refusal := e.Begin(ctx, c)
	t.log.mu.Lock()
	defer t.log.mu.Unlock()
	t.step, t.refusal, t.from, t.announcing = step, refusal, c.At, false
	t.log.work.Signal()
}

// fileEnd is where the whole lines of a file ended at some time.
type fileEnd struct {
	path string
	size int64
}

var errShortened = errors.New("the file was shortened while the entry was written")

// noteEnd notes where the file ends, so that calls need not read it.
func (l *Log) noteEnd() {
	var end *fileEnd
	if l.file.f != nil {
		end = &fileEnd{l.file.f.Name(), l.file.known.size}
	}
	l.end.Store(end)
}

// endOf returns where the whole lines of a file end, or an earlier place: the next entry is written
// there or later, also if a torn last line is removed before. If the file is cut off after that,
// the log refuses the entry.
func (m *Memory) endOf(file string, l *Log) int64 {
	if known := l.end.Load(); known != nil {
		if info, err := os.Lstat(known.path); err == nil && info.Size() >= known.size {
			return known.size
		}
	}
	f, err := m.open(file, &contract.PathPolicy{})
	if err != nil {
		return 0
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return 0
	}
	const atMost = 64 << 10
	text := make([]byte, min(info.Size(), atMost))
	from := info.Size() - int64(len(text))
	if err := readFull(f, text, from); err != nil {
		return 0
	}
	return from + int64(bytes.LastIndexByte(text, '\n')) + 1
}
