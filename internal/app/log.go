package app

import (
	"bytes"
	"context"
	"io"
	"log/slog"
	"slices"
	"strconv"
	"sync"
	"time"
	"unicode/utf8"

	"remit/internal/batchwriter"
	"remit/internal/engine/audit"
	"remit/internal/frontends/cli"
	"remit/internal/visible"
)

// logs creates loggers and flushes them at the end of the program.
type logs struct {
	mu       sync.Mutex
	writers  []*batch
	problems []*problems
}

// logger returns a logger that writes to w, or to a file if the options name one. On a terminal it
// writes in color with hidden characters escaped.
func (l *logs) logger(w io.Writer, o cli.LogOptions) (*slog.Logger, error) {
	if o.Level == nil {
		o.Level = slog.LevelInfo
	}
	screen, onScreen := w.(*visible.Writer)
	if onScreen && o.Format != cli.LogJSON {
		w = screen.Terminal // lines escapes all text itself
	}
	if o.File != "" {
		file, err := openLogFile(o.File, w)
		if err != nil {
			return nil, err
		}
		w, onScreen = file, false
	}
	format := func(out io.Writer) slog.Handler { return &lines{level: o.Level, out: out, screen: onScreen} }
	if o.Format == cli.LogJSON {
		format = func(out io.Writer) slog.Handler {
			return slog.NewJSONHandler(out, &slog.HandlerOptions{Level: o.Level, ReplaceAttr: jsonAttr})
		}
	}
	b := newBatch(w, format)
	handler := newRepeats(flushingHandler{format(b), b})
	l.mu.Lock()
	l.writers, l.problems = append(l.writers, b), append(l.problems, handler.problems)
	l.mu.Unlock()
	return slog.New(handler), nil
}

// jsonAttr masks credentials in a value, and writes durations in seconds.
func jsonAttr(_ []string, a slog.Attr) slog.Attr {
	switch value := a.Value.Resolve(); value.Kind() {
	case slog.KindString:
		a.Value = slog.StringValue(audit.Mask(value.String(), masked))
	case slog.KindDuration:
		a.Value = slog.Float64Value(value.Duration().Seconds())
	case slog.KindAny:
		if _, isLevel := value.Any().(slog.Level); !isLevel {
			a.Value = slog.StringValue(audit.Mask(value.String(), masked))
		}
	}
	return a
}

// flush writes the buffered lines.
func (l *logs) flush() {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, p := range l.problems {
		p.flush()
	}
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

// lines writes a line for each record.
type lines struct {
	level  slog.Leveler
	out    io.Writer
	screen bool   // it writes to a terminal
	given  []byte // formatted attributes of the logger
	group  string
}

// Enabled reports whether a level is written.
func (l *lines) Enabled(_ context.Context, level slog.Level) bool { return level >= l.level.Level() }

// Handle writes a line.
func (l *lines) Handle(_ context.Context, r slog.Record) error {
	name, color := levelName(r.Level)
	b := r.Time.AppendFormat(l.style(make([]byte, 0, 256), faint), time.RFC3339)
	b = l.style(append(l.style(b, reset), ' '), color)
	b = append(l.style(append(b, name...), reset), ' ')
	b = l.escape(append(b, r.Message...), len(b))
	b = append(b, l.given...)
	r.Attrs(func(a slog.Attr) bool {
		b = l.appendAttr(b, l.group, a)
		return true
	})
	_, err := l.out.Write(append(b, '\n'))
	return err
}

// WithAttrs returns a handler that adds the attributes to each line.
func (l *lines) WithAttrs(attrs []slog.Attr) slog.Handler {
	next := *l
	next.given = slices.Clone(l.given)
	for _, a := range attrs {
		next.given = l.appendAttr(next.given, l.group, a)
	}
	return &next
}

// WithGroup returns a handler that adds a prefix to the following attributes.
func (l *lines) WithGroup(name string) slog.Handler {
	next := *l
	next.group += name + "."
	return &next
}

// color is an ANSI code.
type color string

const (
	reset  color = "0"
	faint  color = "2"
	green  color = "92"
	yellow color = "93"
	red    color = "91"
)

func levelName(level slog.Level) (string, color) {
	switch {
	case level < slog.LevelInfo:
		return "DBG", faint
	case level < slog.LevelWarn:
		return "INF", green
	case level < slog.LevelError:
		return "WRN", yellow
	default:
		return "ERR", red
	}
}

// style switches to a color on a terminal.
func (l *lines) style(b []byte, c color) []byte {
	if !l.screen {
		return b
	}
	return append(append(append(b, "\x1b["...), c...), 'm')
}

// escape escapes the hidden characters from an index on, on a terminal.
func (l *lines) escape(b []byte, from int) []byte {
	if !l.screen {
		return b
	}
	return append(b[:from], visible.Line(string(b[from:]))...)
}

// appendAttr appends name=value, and quotes a value that could be ambiguous.
func (l *lines) appendAttr(b []byte, group string, a slog.Attr) []byte {
	value := a.Value.Resolve()
	if value.Kind() == slog.KindGroup {
		for _, member := range value.Group() {
			b = l.appendAttr(b, group+a.Key+".", member)
		}
		return b
	}
	b = l.style(append(b, ' '), faint)
	b = append(append(append(b, group...), a.Key...), '=')
	b = l.style(b, reset)
	if value.Kind() == slog.KindInt64 {
		return strconv.AppendInt(b, value.Int64(), 10)
	}
	return l.escape(appendWord(b, audit.Mask(value.String(), masked)), len(b))
}

// masked replaces credentials in the log.
const masked = "***"

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
	format func(io.Writer) slog.Handler // writes the line about dropped lines
	writer *batchwriter.Writer[[]byte]
}

func newBatch(out io.Writer, format func(io.Writer) slog.Handler) *batch {
	b := &batch{out: out, format: format}
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
func (b *batch) writeOut(ctx context.Context, batch [][]byte) (retry [][]byte, _ error) {
	out := bytes.NewBuffer(batch[0])
	if n := b.writer.TakeDropped(); n > 0 {
		r := slog.NewRecord(time.Now(), slog.LevelWarn, "lines of the log were dropped, because nothing reads them", 0)
		r.Add("lines", n)
		_ = b.format(out).Handle(ctx, r) // a buffer takes everything
	}
	_, _ = b.out.Write(out.Bytes()) // there is no place to report that the log cannot be written
	return nil, nil
}

// flushSoon flushes, but does not wait long, because the reader may be stuck.
func (b *batch) flushSoon() {
	ctx, cancel := context.WithTimeout(context.Background(), flushWait)
	defer cancel()
	b.writer.Flush(ctx)
}
