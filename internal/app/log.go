package app

import (
	"context"
	"io"
	"log/slog"
	"os"
	"sync"
	"time"

	"github.com/lmittmann/tint"
	"golang.org/x/term"
)

// logs makes loggers and sees to it that nothing of them is lost at the end.
type logs struct {
	mu      sync.Mutex
	writers []*batch
}

// logger writes to a person's terminal in colour, to anything else plainly.
func (l *logs) logger(w io.Writer, level slog.Level) *slog.Logger {
	file, ok := w.(*os.File)
	colour := ok && term.IsTerminal(int(file.Fd()))
	b := &batch{out: w}
	l.mu.Lock()
	l.writers = append(l.writers, b)
	l.mu.Unlock()
	lines := tint.NewTextHandler(b, &tint.Options{Level: level, TimeFormat: time.RFC3339, NoColor: !colour})
	return slog.New(prompt{lines, b})
}

// flush writes what is left.
func (l *logs) flush() {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, b := range l.writers {
		b.flush()
	}
}

// prompt lets what matters out at once.
type prompt struct {
	slog.Handler
	batch *batch
}

// Handle writes a line.
func (p prompt) Handle(ctx context.Context, r slog.Record) error {
	err := p.Handler.Handle(ctx, r)
	if r.Level >= slog.LevelWarn {
		p.batch.flush()
	}
	return err
}

// WithAttrs keeps being prompt.
func (p prompt) WithAttrs(attrs []slog.Attr) slog.Handler {
	return prompt{p.Handler.WithAttrs(attrs), p.batch}
}

// WithGroup keeps being prompt.
func (p prompt) WithGroup(name string) slog.Handler {
	return prompt{p.Handler.WithGroup(name), p.batch}
}

// batch collects lines for a moment: a busy server writes one for every call, and
// each write is a call of the system.
type batch struct {
	out   io.Writer
	mu    sync.Mutex
	lines []byte
}

const (
	batchDelay = 50 * time.Millisecond
	batchSize  = 32 << 10
)

// Write takes a line.
func (b *batch) Write(line []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(b.lines) == 0 {
		time.AfterFunc(batchDelay, b.flush)
	}
	b.lines = append(b.lines, line...)
	if len(b.lines) > batchSize {
		b.write()
	}
	return len(line), nil
}

func (b *batch) flush() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.write()
}

// write is called with the lock held.
func (b *batch) write() {
	if len(b.lines) > 0 {
		_, _ = b.out.Write(b.lines) // there is nowhere to tell of a log that cannot be written
		b.lines = b.lines[:0]
	}
}
