package app

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"os"
	"slices"
	"strconv"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/lmittmann/tint"
	"golang.org/x/term"

	"remit/internal/batchwriter"
)

// logs creates loggers and flushes them at the end of the program.
type logs struct {
	mu      sync.Mutex
	writers []*batch
}

// logger returns a logger that writes to a terminal in color, and to anything else without.
func (l *logs) logger(w io.Writer, level slog.Level) *slog.Logger {
	file, ok := w.(*os.File)
	colour := ok && term.IsTerminal(int(file.Fd()))
	b := newBatch(w)
	l.mu.Lock()
	l.writers = append(l.writers, b)
	l.mu.Unlock()
	if !colour {
		return slog.New(flushingHandler{&plain{level: level, out: b}, b})
	}
	return slog.New(flushingHandler{tint.NewTextHandler(b, &tint.Options{Level: level, TimeFormat: time.RFC3339}), b})
}

// flush writes the buffered lines.
func (l *logs) flush() {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, b := range l.writers {
		b.flushSoon()
	}
}

// flushingHandler is a slog.Handler that flushes warnings and errors immediately.
type flushingHandler struct {
	slog.Handler
	batch *batch
}

// Handle writes a line, and flushes if it is a warning or an error.
func (h flushingHandler) Handle(ctx context.Context, r slog.Record) error {
	err := h.Handler.Handle(ctx, r)
	if r.Level >= slog.LevelWarn {
		h.batch.flushSoon()
	}
	return err
}

// WithAttrs implements slog.Handler.
func (h flushingHandler) WithAttrs(attrs []slog.Attr) slog.Handler {
	return flushingHandler{h.Handler.WithAttrs(attrs), h.batch}
}

// WithGroup implements slog.Handler.
func (h flushingHandler) WithGroup(name string) slog.Handler {
	return flushingHandler{h.Handler.WithGroup(name), h.batch}
}

// plain writes the same lines as tint without colors, in a third of the time: a server writes a
// line for every call.
type plain struct {
	level slog.Level
	out   io.Writer
	given []byte // formatted attributes of the logger
	group string
}

// Enabled reports whether a level is written.
func (p *plain) Enabled(_ context.Context, level slog.Level) bool { return level >= p.level }

// Handle writes a line.
func (p *plain) Handle(_ context.Context, r slog.Record) error {
	b := r.Time.AppendFormat(make([]byte, 0, 256), time.RFC3339)
	b = append(append(b, ' '), levelName(r.Level)...)
	b = append(append(b, ' '), r.Message...)
	b = append(b, p.given...)
	r.Attrs(func(a slog.Attr) bool {
		b = appendAttr(b, p.group, a)
		return true
	})
	_, err := p.out.Write(append(b, '\n'))
	return err
}

// WithAttrs returns a handler that adds the attributes to each line.
func (p *plain) WithAttrs(attrs []slog.Attr) slog.Handler {
	next := *p
	next.given = slices.Clone(p.given)
	for _, a := range attrs {
		next.given = appendAttr(next.given, p.group, a)
	}
	return &next
}

// WithGroup returns a handler that adds a prefix to the following attributes.
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

// appendAttr appends name=value, and quotes a value that could be ambiguous.
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
	for _, c := range text {
		if c <= ' ' || c == '"' || c == '=' || c == utf8.RuneError || !strconv.IsPrint(c) {
			return strconv.AppendQuote(b, text)
		}
	}
	if text == "" {
		return append(b, '"', '"')
	}
	return append(b, text...)
}

const (
	batchDelay    = 50 * time.Millisecond
	maxBatchBytes = 1 << 20                // maximum number of buffered bytes
	flushWait     = 200 * time.Millisecond // maximum wait for a flush
)

// batch buffers lines briefly, because a busy server writes one for every call and each write is a
// system call. Logging never blocks on a slow reader: lines that exceed the buffer are dropped and
// counted.
type batch struct {
	out    io.Writer
	writer *batchwriter.Writer[[]byte]
}

func newBatch(out io.Writer) *batch {
	b := &batch{out: out}
	b.writer = batchwriter.New(batchwriter.Options[[]byte]{
		Write: b.writeOut, Delay: batchDelay, Max: maxBatchBytes, Size: func(lines []byte) int { return len(lines) },
		// All lines are merged into one item.
		Key: func([]byte) string { return "" }, Merge: func(lines, line []byte) []byte { return append(lines, line...) },
	})
	return b
}

// Write buffers a line.
func (b *batch) Write(line []byte) (int, error) {
	b.writer.Add(line)
	return len(line), nil
}

// writeOut writes the buffered lines.
func (b *batch) writeOut(_ context.Context, batch [][]byte) (retry [][]byte, _ error) {
	lines := batch[0]
	if n := b.writer.TakeDropped(); n > 0 {
		lines = fmt.Appendf(lines, "%s WRN %d lines of the log were dropped, because nothing reads them\n",
			time.Now().Format(time.RFC3339), n)
	}
	_, _ = b.out.Write(lines) // there is no place to report that the log cannot be written
	return nil, nil
}

// flushSoon flushes, but does not wait long, because the reader may be stuck.
func (b *batch) flushSoon() {
	ctx, cancel := context.WithTimeout(context.Background(), flushWait)
	defer cancel()
	b.writer.Flush(ctx)
}
