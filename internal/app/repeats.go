package app

import (
	"context"
	"errors"
	"log/slog"
	"strconv"
	"sync"
	"syscall"
	"time"
)

const (
	// repeatInterval is how often a problem that goes on is logged.
	repeatInterval = time.Minute
	// maxProblems bounds how many problems are told apart; others are logged every time.
	maxProblems = 1000
)

// repeats is a slog.Handler that logs a problem once, then once a minute with a count while it goes
// on, and once when it is over. Otherwise every call would log that the disk is full. A problem is
// a warning or an error with a cause.
type repeats struct {
	slog.Handler
	problems *problems
}

// problems holds the problems that were logged within the last minute.
type problems struct {
	mu    sync.Mutex
	known map[string]*problem
}

type problem struct {
	key        string
	handler    slog.Handler
	last       slog.Record // the last record that was not logged
	suppressed int         // since it was last logged
	total      int
}

func newRepeats(h slog.Handler) repeats {
	return repeats{h, &problems{known: map[string]*problem{}}}
}

// Handle logs a record, unless it repeats a problem.
func (h repeats) Handle(ctx context.Context, r slog.Record) error {
	if r.Level >= slog.LevelWarn && h.problems.isRepeated(h.Handler, &r) {
		return nil
	}
	return h.Handler.Handle(ctx, r)
}

// WithAttrs implements slog.Handler.
func (h repeats) WithAttrs(attrs []slog.Attr) slog.Handler {
	return repeats{h.Handler.WithAttrs(attrs), h.problems}
}

// WithGroup implements slog.Handler.
func (h repeats) WithGroup(name string) slog.Handler {
	return repeats{h.Handler.WithGroup(name), h.problems}
}

// isRepeated counts a problem, and reports whether it was logged within the last minute.
func (p *problems) isRepeated(h slog.Handler, r *slog.Record) bool {
	key := problemKey(r)
	if key == "" {
		return false
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if known := p.known[key]; known != nil {
		known.last, known.handler = r.Clone(), h
		known.suppressed++
		known.total++
		return true
	}
	if len(p.known) < maxProblems {
		p.known[key] = &problem{key: key, handler: h, total: 1}
		time.AfterFunc(repeatInterval, func() { p.review(key) })
	}
	return false
}

// review logs a problem that went on, or that a problem is over.
func (p *problems) review(key string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	known := p.known[key]
	if known.suppressed > 0 {
		known.log()
		time.AfterFunc(repeatInterval, func() { p.review(key) })
		return
	}
	delete(p.known, key)
	if known.total > 1 {
		over := slog.NewRecord(time.Now(), slog.LevelWarn, "a problem has not occurred for a minute", 0)
		over.Add("problem", known.last.Message, "times", known.total)
		known.last.Attrs(func(a slog.Attr) bool {
			if _, isError := a.Value.Any().(error); isError {
				over.AddAttrs(a)
			}
			return true
		})
		_ = known.handler.Handle(context.Background(), over) // like every line, it may be lost
	}
}

// log logs the last occurrence, with how many were not logged.
func (p *problem) log() {
	r := p.last.Clone()
	r.Add("repeated", p.suppressed)
	p.suppressed = 0
	_ = p.handler.Handle(context.Background(), r) // like every line, it may be lost
}

// flush logs what was not logged yet.
func (p *problems) flush() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, known := range p.known {
		if known.suppressed > 0 {
			known.log()
		}
	}
}

// problemKey identifies the problem of a record; "" if the record has no error. Errors of the
// system and of SQLite are told apart by their number, because their texts name different files.
func problemKey(r *slog.Record) (key string) {
	var about string
	r.Attrs(func(a slog.Attr) bool {
		err, isError := a.Value.Any().(error)
		switch {
		case a.Key == "tool" || a.Key == "check":
			about += " " + a.Value.String()
		case isError && err != nil:
			key = r.Message + ": " + problemOf(err)
		}
		return true
	})
	if key == "" || key[len(key)-1] == problemNumber {
		return key
	}
	return key + about
}

// problemNumber ends the key of an error with a number.
const problemNumber = '#'

func problemOf(err error) string {
	var sqlite interface{ Code() int }
	if number, ok := errors.AsType[syscall.Errno](err); ok {
		return strconv.Itoa(int(number)) + string(problemNumber)
	}
	if errors.As(err, &sqlite) {
		return "SQLite " + strconv.Itoa(sqlite.Code()) + string(problemNumber)
	}
	return err.Error()
}
