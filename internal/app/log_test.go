package app

import (
	"bytes"
	"errors"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/lmittmann/tint"
)

// TestPlainLogsReadLikeTint checks that logs are the same with and without colors.
func TestPlainLogsReadLikeTint(t *testing.T) {
	var ours, theirs bytes.Buffer
	handlers := []slog.Handler{
		&plain{level: slog.LevelDebug, out: &ours},
		tint.NewTextHandler(&theirs, &tint.Options{Level: slog.LevelDebug, TimeFormat: time.RFC3339, NoColor: true}),
	}
	for _, h := range handlers {
		log := slog.New(h)
		log.Info("call", "tool", "learning-os/hello", "took", 1500*time.Microsecond, "bytes", 12)
		log.Warn("odd values", "empty", "", "spaces", "a b", "quote", `a"b`, "equals", "a=b", "line", "a\nb")
		log.With("caller", "local").Error("failed", "cause", errors.New("no such file"), "on", true, "share", 0.5)
		log.WithGroup("g").Debug("grouped", "x", 1, slog.Group("h", "y", 2))
	}
	if ours.String() != theirs.String() {
		t.Errorf("ours:\n%s\ntint's:\n%s", &ours, &theirs)
	}
}

// TestLogsAreBatched checks that a warning is written immediately, other lines soon, and that
// nothing is lost at the end.
func TestLogsAreBatched(t *testing.T) {
	var out bytes.Buffer
	all := &logs{}
	log := all.logger(&out, slog.LevelInfo)
	log.Info("first")
	if out.Len() > 0 {
		t.Errorf("an ordinary line left at once: %s", &out)
	}
	log.Warn("second")
	if !strings.Contains(out.String(), "first") || !strings.Contains(out.String(), "second") {
		t.Errorf("after a warning: %s", &out)
	}
	log.Debug("never")
	log.Info("third")
	all.flush()
	if !strings.Contains(out.String(), "third") || strings.Contains(out.String(), "never") {
		t.Errorf("at the end: %s", &out)
	}
}

// stuck is a reader that reads nothing until it is released.
type stuck struct {
	let  chan struct{}
	mu   sync.Mutex
	read bytes.Buffer
}

func (s *stuck) Write(data []byte) (int, error) {
	<-s.let
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.read.Write(data)
}

// TestStuckLogDoesNotBlock checks that calls continue when nobody reads the log, and that a later
// reader learns how many lines are missing.
func TestStuckLogDoesNotBlock(t *testing.T) {
	out := &stuck{let: make(chan struct{})}
	all := &logs{}
	log := all.logger(out, slog.LevelInfo)
	line := strings.Repeat("x", 1000)
	log.Warn("stuck from here on")
	for range 3000 {
		log.Info(line)
	}
	close(out.let)
	for range 100 {
		all.flush()
		out.mu.Lock()
		reported := strings.Contains(out.read.String(), "lines of the log were dropped")
		out.mu.Unlock()
		if reported {
			return
		}
	}
	t.Errorf("nothing is said of what was dropped; %d bytes were read", out.read.Len())
}
