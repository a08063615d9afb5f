// Package e2e drives Remit from outside, as its callers do: the built binary over
// stdio, the command line, and the official clients.
package e2e

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// patience is how long anything may take before a test gives up on it. It is
// there to end a hanging test, not to measure.
const patience = 5 * time.Minute

// remitBin is the program, built once for all tests.
var remitBin string

func TestMain(m *testing.M) { os.Exit(runBuilt(m)) }

// runBuilt runs the tests with the binary.
func runBuilt(m *testing.M) int {
	dir, err := os.MkdirTemp("", "remit-e2e-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(dir)
	remitBin = filepath.Join(dir, "remit")
	args := []string{"build", "-o", remitBin}
	if underRace() {
		args = append(args, "-race") // what races in there should be found too
	}
	build := exec.Command("go", append(args, "remit/cmd/remit")...)
	if out, err := build.CombinedOutput(); err != nil {
		fmt.Fprintf(os.Stderr, "build remit: %v\n%s", err, out)
		return 1
	}
	defer endBrowser()
	return m.Run()
}

// asShipped are settings to build the program with as it is shipped. All who do so share
// what was compiled, whichever folder it was in.
var asShipped = []string{"CGO_ENABLED=0", "GOFLAGS=-trimpath -buildvcs=false"}

// shipping is an environment to build the program in as it is shipped.
func shipping(more ...string) []string { return slices.Concat(os.Environ(), asShipped, more) }

// underRace tells whether the race detector watches this run.
func underRace() bool {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return false
	}
	for _, s := range info.Settings {
		if s.Key == "-race" {
			return s.Value == "true"
		}
	}
	return false
}

// space is a workspace folder.
type space struct {
	t        *testing.T
	root     string
	database string // the address of one on PostgreSQL; empty for SQLite in the workspace
	books    string // the address of the library; empty for a folder in the workspace
	env      []string
}

// newSpace makes a workspace with these files in it.
func newSpace(t *testing.T, files map[string]string) *space {
	t.Helper()
	s := &space{t: t, root: t.TempDir()}
	for name, content := range files {
		s.write(name, content)
	}
	return s
}

func (s *space) path(name string) string { return filepath.Join(s.root, filepath.FromSlash(name)) }

func (s *space) write(name, content string) {
	s.t.Helper()
	s.check(os.MkdirAll(filepath.Dir(s.path(name)), 0o755))
	s.check(os.WriteFile(s.path(name), []byte(content), 0o644))
}

func (s *space) link(name, target string) {
	s.t.Helper()
	s.check(os.MkdirAll(filepath.Dir(s.path(name)), 0o755))
	s.check(os.Symlink(target, s.path(name)))
}

func (s *space) read(name string) string {
	s.t.Helper()
	data, err := os.ReadFile(s.path(name))
	if errors.Is(err, fs.ErrNotExist) {
		return ""
	}
	s.check(err)
	return string(data)
}

// memory gives the lines of a memory file.
func (s *space) memory(file string) []string {
	s.t.Helper()
	text := s.read(".claude/memory/" + file)
	if text == "" {
		return nil
	}
	return strings.Split(strings.TrimSuffix(text, "\n"), "\n")
}

func (s *space) check(err error) {
	s.t.Helper()
	if err != nil {
		s.t.Fatal(err)
	}
}

// tree tells everything about the workspace but what lies in Remit's own folder.
func (s *space) tree() map[string]string {
	s.t.Helper()
	found := map[string]string{}
	err := filepath.WalkDir(s.root, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name, err := filepath.Rel(s.root, path)
		if err != nil || name == "." {
			return err
		}
		if name == ".remit" {
			return fs.SkipDir
		}
		info, err := entry.Info()
		if err != nil {
			return err
		}
		what := info.Mode().String()
		switch {
		case info.Mode().IsRegular():
			data, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			what += " " + info.ModTime().String() + " " + string(data)
		case info.Mode()&fs.ModeSymlink != 0:
			target, err := os.Readlink(path)
			if err != nil {
				return err
			}
			what += " -> " + target
		}
		found[filepath.ToSlash(name)] = what
		return nil
	})
	s.check(err)
	return found
}

// noRaceSleep spares a program with the race detector its second of sleep at exit.
const noRaceSleep = "GORACE=atexit_sleep_ms=0"

// unhurried makes the deadlines of contracts so long that a busy machine keeps them. A test of
// the deadlines themselves sets another factor.
const unhurried = "REMIT_DEADLINE_FACTOR=20"

// environment is what a program started by a client sees: nothing of ours but unhurried.
func environment(more ...string) []string {
	return append([]string{"PATH=" + os.Getenv("PATH"), "HOME=" + os.TempDir(), "TMPDIR=" + os.TempDir(), noRaceSleep, unhurried}, more...)
}

// outcome is how a command ended.
type outcome struct {
	code        int
	out, errOut string
}

// remit runs one command line of the binary in the workspace.
func (s *space) remit(args ...string) outcome {
	s.t.Helper()
	ctx, cancel := context.WithTimeout(s.t.Context(), patience)
	defer cancel()
	cmd := exec.CommandContext(ctx, remitBin, args...)
	cmd.Dir, cmd.Env = s.root, environment(s.env...)
	var out, errOut bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errOut
	var exit *exec.ExitError
	if err := cmd.Run(); err != nil && !errors.As(err, &exit) {
		s.t.Fatalf("remit %s: %v", strings.Join(args, " "), err)
	}
	return outcome{cmd.ProcessState.ExitCode(), out.String(), errOut.String()}
}

// auditHolds fails the test unless "remit audit verify" is content.
func (s *space) auditHolds() {
	s.t.Helper()
	if got := s.remit("audit", "verify"); got.code != 0 {
		s.t.Errorf("audit verify: exit %d\n%s%s", got.code, got.out, got.errOut)
	}
}

// syncBuffer may be read while a process writes to it.
type syncBuffer struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (b *syncBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.Write(p)
}

func (b *syncBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.String()
}

// brokenLibrary is what the log says of a library that an example breaks.
var brokenLibrary = regexp.MustCompile(`(?m)^\S+ WRN (ignoring an invalid entry of registry\.yaml|cannot read the book registry|call tool=books/\S+ caller=\S+ outcome=unavailable) .*\n`)

// complaints gives what a program says on stderr that it should not have to say.
func complaints(stderr string) string { return brokenLibrary.ReplaceAllString(stderr, "") }

// clip keeps failures readable.
func clip[T ~string | ~[]byte](text T) string {
	const most = 600
	if len(text) <= most {
		return strings.TrimSpace(string(text))
	}
	return fmt.Sprintf("%s ... (%d bytes)", string(text[:most]), len(text))
}

// quoted writes text as a JSON string.
func quoted(text string) string {
	data, err := json.Marshal(text)
	if err != nil {
		panic(err)
	}
	return string(data)
}
