package app

import (
	"bytes"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/lmittmann/tint"
)

// TestPlainLogsReadLikeTint: who reads logs sees the same with and without colours.
func TestPlainLogsReadLikeTint(t *testing.T) {
	var ours, theirs bytes.Buffer
	b := &batch{out: &ours}
	handlers := []slog.Handler{
		&plain{level: slog.LevelDebug, batch: b},
		tint.NewTextHandler(&theirs, &tint.Options{Level: slog.LevelDebug, TimeFormat: time.RFC3339, NoColor: true}),
	}
	for _, h := range handlers {
		log := slog.New(h)
		log.Info("call", "tool", "learning-os/hello", "took", 1500*time.Microsecond, "bytes", 12)
		log.Warn("odd values", "empty", "", "spaces", "a b", "quote", `a"b`, "equals", "a=b", "line", "a\nb")
		log.With("caller", "local").Error("failed", "cause", errors.New("no such file"), "on", true, "share", 0.5)
		log.WithGroup("g").Debug("grouped", "x", 1, slog.Group("h", "y", 2))
	}
	b.flush()
	if ours.String() != theirs.String() {
		t.Errorf("ours:\n%s\ntint's:\n%s", &ours, &theirs)
	}
}

// TestLogsLeaveInBatches: a warning leaves at once, a line of a call soon, and
// nothing is lost at the end.
func TestLogsLeaveInBatches(t *testing.T) {
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
