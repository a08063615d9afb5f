package app

import (
	"bytes"
	"errors"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"remit/internal/frontends/cli"
	"remit/internal/visible"
)

// TestLogLines checks the lines of the log, and that on a terminal no text can control it.
func TestLogLines(t *testing.T) {
	var file, screen bytes.Buffer
	all := &logs{}
	for _, w := range []io.Writer{&file, &visible.Writer{Terminal: &screen}} {
		log := newLogger(t, all, w, cli.LogOptions{Level: slog.LevelDebug})
		log.Info("call", "tool", "learning-os/hello", "took", 1500*time.Microsecond, "bytes", 12)
		log.Warn("odd values", "empty", "", "spaces", "a b", "quote", `a"b`, "equals", "a=b", "line", "a\nb")
		log.With("caller", "local").Error("failed", "cause", errors.New("no such file"), "on", true, "share", 0.5)
		log.WithGroup("g").Debug("grouped", "x", 1, slog.Group("h", "y", 2))
		log.Warn("masked", "cause", errors.New("dial postgres://app:hunter@db: refused"), "path", "docs/ghp_aB3dE5gH7jK9mN1pQ3sT5vW7yZ9b/a.md")
		log.Info("hidden \x1b[2J\u202e", "escape", "\x1b[31m", "spelled", `\x1b[31m x`, "blank", "a\u3164", "none", "a\u200b")
	}
	all.flush()
	const want = `INF call tool=learning-os/hello took=1.5ms bytes=12
WRN odd values empty="" spaces="a b" quote="a\"b" equals="a=b" line="a\nb"
ERR failed caller=local cause="no such file" on=true share=0.5
DBG grouped g.x=1 g.h.y=2
WRN masked cause="dial postgres://app:***@db: refused" path=docs/ghp_***/a.md
`
	const hidden = "INF hidden \x1b[2J\u202e escape=\"\\x1b[31m\" spelled=\"\\\\x1b[31m x\" blank=a\u3164 none=\"a\\u200b\"\n"
	if got := cut(file.String()); got != want+hidden {
		t.Errorf("in a file:\n%s\nwant\n%s", got, want+hidden)
	}
	plain := regexp.MustCompile("\x1b\\[(0|2|9[123])m").ReplaceAllString(screen.String(), "")
	shown := strings.NewReplacer("\x1b", `\x1b`, "\u202e", `\u202e`, "\u3164", `\u3164`).Replace(hidden)
	if got := cut(plain); got != want+shown {
		t.Errorf("on a terminal:\n%s\nwant\n%s", got, want+shown)
	}
	if first, _, _ := strings.Cut(screen.String(), "\n"); !strings.Contains(first, "\x1b[92mINF\x1b[0m call \x1b[2mtool=\x1b[0mlearning-os/hello") {
		t.Errorf("a terminal shows no colors: %q", first)
	}
}

func newLogger(t *testing.T, all *logs, w io.Writer, o cli.LogOptions) *slog.Logger {
	t.Helper()
	log, err := all.logger(w, o)
	if err != nil {
		t.Fatal(err)
	}
	return log
}

// TestLogAsJSON checks the lines of the log as JSON.
func TestLogAsJSON(t *testing.T) {
	var out bytes.Buffer
	all := &logs{}
	log := newLogger(t, all, &out, cli.LogOptions{Format: cli.LogJSON})
	log.Info("call", "tool", "learning-os/hello", "took", 1500*time.Millisecond, "bytes", 12)
	log.With("caller", "local").Warn("masked", "cause", errors.New("dial postgres://app:hunter@db: refused"), "on", true)
	all.flush()
	const want = `{"level":"INFO","msg":"call","tool":"learning-os/hello","took":1.5,"bytes":12}
{"level":"WARN","msg":"masked","caller":"local","cause":"dial postgres://app:***@db: refused","on":true}
`
	if got := regexp.MustCompile(`"time":"[^"]+",`).ReplaceAllString(out.String(), ""); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

// TestLogFileIsRotated checks that lines go to the file of the name, also after it was renamed or
// removed, that only its owner can read it, and that lines are not lost if there can be none.
func TestLogFileIsRotated(t *testing.T) {
	path := filepath.Join(t.TempDir(), "logs", "remit.log")
	if err := os.Mkdir(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	var errOut bytes.Buffer
	all := &logs{}
	log := newLogger(t, all, &errOut, cli.LogOptions{File: path})
	log.Warn("first")
	if info, err := os.Stat(path); err != nil || info.Mode() != 0o600 {
		t.Errorf("mode %v, %v", info.Mode(), err)
	}
	if err := os.Rename(path, path+".1"); err != nil {
		t.Fatal(err)
	}
	log.Warn("second")
	first, err := os.ReadFile(path + ".1")
	second, secondErr := os.ReadFile(path)
	if cut(string(first)) != "WRN first\n" || cut(string(second)) != "WRN second\n" {
		t.Errorf("after a rename: %q and %q, %v", first, second, errors.Join(err, secondErr))
	}
	if err := os.RemoveAll(filepath.Dir(path)); err != nil {
		t.Fatal(err)
	}
	log.Warn("third")
	log.Warn("fourth")
	if err := os.Mkdir(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	log.Warn("fifth")
	text, err := os.ReadFile(path)
	if got := cut(string(text)); err != nil || got != "WRN fifth\n" {
		t.Errorf("in the file: %q, %v", got, err)
	}
	want := "remit: cannot write the log to " + path + ", so it goes here: no such file or directory\nWRN third\nWRN fourth\n"
	if got := cut(errOut.String()); got != want {
		t.Errorf("on stderr: %q, want %q", got, want)
	}
}

// cut removes the time from each line.
func cut(lines string) string {
	return regexp.MustCompile(`(?m)^[0-9T:Z+-]+ `).ReplaceAllString(lines, "")
}

// TestLogsAreBatched checks that a warning is written immediately, other lines soon, and that
// nothing is lost at the end.
func TestLogsAreBatched(t *testing.T) {
	var out bytes.Buffer
	all := &logs{}
	log := newLogger(t, all, &out, cli.LogOptions{})
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
	log := newLogger(t, all, out, cli.LogOptions{})
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
