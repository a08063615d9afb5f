package app

import (
	"context"
	"io"
	"log/slog"
	"os"
	"slices"
	"strconv"
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
	if !colour {
		return slog.New(&plain{level: level, batch: b})
	}
	return slog.New(prompt{tint.NewTextHandler(b, &tint.Options{Level: level, TimeFormat: time.RFC3339}), b})
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

// plain writes the lines of tint without its colours, with less work: a server
// writes one for every call.
type plain struct {
	level slog.Level
	batch *batch
	given []byte // attributes of the logger itself
	group string
}

// Enabled tells whether a level is written.
func (p *plain) Enabled(_ context.Context, level slog.Level) bool { return level >= p.level }

// Handle writes a line.
func (p *plain) Handle(_ context.Context, r slog.Record) error {
	var room [512]byte
	b := r.Time.AppendFormat(room[:0], time.RFC3339)
	b = append(append(b, ' '), levelName(r.Level)...)
	b = append(append(b, ' '), r.Message...)
	b = append(b, p.given...)
	r.Attrs(func(a slog.Attr) bool {
		b = appendAttr(b, p.group, a)
		return true
	})
	_, err := p.batch.Write(append(b, '\n'))
	if r.Level >= slog.LevelWarn {
		p.batch.flush()
	}
	return err
}

// WithAttrs remembers attributes.
func (p *plain) WithAttrs(attrs []slog.Attr) slog.Handler {
	next := *p
	next.given = slices.Clone(p.given)
	for _, a := range attrs {
		next.given = appendAttr(next.given, p.group, a)
	}
	return &next
}

// WithGroup puts a name in front of those to come.
func (p *plain) WithGroup(name string) slog.Handler {
	next := *p
	next.group += name + "."
	return &next
}

func levelName(level slog.Level) string {
	switch {
	case level < slog.LevelInfo:
		return "DBG"
	case level < slog.LevelWarn:
		return "INF"
	case level < slog.LevelError:
		return "WRN"
	default:
		return "ERR"
	}
}

// appendAttr writes name=value; a value that could be misread is quoted.
func appendAttr(b []byte, group string, a slog.Attr) []byte {
	value := a.Value.Resolve()
	if value.Kind() == slog.KindGroup {
		for _, member := range value.Group() {
			b = appendAttr(b, group+a.Key+".", member)
		}
		return b
	}
	b = append(append(append(b, ' '), group...), a.Key...)
	b = append(b, '=')
	if value.Kind() == slog.KindInt64 {
		return strconv.AppendInt(b, value.Int64(), 10)
	}
	return appendWord(b, value.String())
}

func appendWord(b []byte, text string) []byte {
	for i := range len(text) {
		if c := text[i]; c <= ' ' || c == '"' || c == '=' || c >= 0x7f {
			return strconv.AppendQuote(b, text)
		}
	}
	if text == "" {
		return append(b, '"', '"')
	}
	return append(b, text...)
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
