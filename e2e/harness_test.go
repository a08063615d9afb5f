// Package e2e tests Remit from outside: the built binary over stdio and HTTP, the command line, and
// the official clients.
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

// timeout is how long a test waits for anything. It only ends a hanging test and does not measure
// anything.
const timeout = 5 * time.Minute

// remitBin is the path of the program, which is built once for all tests.
var remitBin string

func TestMain(m *testing.M) { os.Exit(buildAndRun(m)) }

// buildAndRun builds the program and runs the tests.
func buildAndRun(m *testing.M) int {
	dir, err := os.MkdirTemp("", "remit-e2e-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(dir)
	remitBin, keysFolder = filepath.Join(dir, "remit"), "REMIT_KEYS="+filepath.Join(dir, "keys")
	args := []string{"build", "-o", remitBin}
	if underRace() {
		args = append(args, "-race") // to find data races in the program too
	}
	build := exec.Command("go", append(args, "remit/cmd/remit")...)
	if out, err := build.CombinedOutput(); err != nil {
		fmt.Fprintf(os.Stderr, "build remit: %v\n%s", err, out)
		return 1
	}
	defer endBrowser()
	return m.Run()
}

// keysFolder makes programs store keys in a folder of this test run.
var keysFolder string

// releaseSettings are the settings of a release build. Builds with the same settings share the
// build cache, whatever folder they run in.
var releaseSettings = []string{"CGO_ENABLED=0", "GOFLAGS=-trimpath -buildvcs=false"}

// releaseEnv returns an environment for a release build.
func releaseEnv(more ...string) []string { return slices.Concat(os.Environ(), releaseSettings, more) }

// underRace reports whether the tests run with the race detector.
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

// workspace is a workspace folder.
type workspace struct {
	t        *testing.T
	root     string
	database string // URL of a PostgreSQL database; empty for SQLite in the workspace
	books    string // address of the library; empty for a folder in the workspace
	env      []string
	dialogs  string // a token whose client's answers count as a person's; made on first use
}

// newWorkspace creates a workspace with the given files.
func newWorkspace(t *testing.T, files map[string]string) *workspace {
	t.Helper()
	s := &workspace{t: t, root: t.TempDir()}
	for name, content := range files {
		s.write(name, content)
	}
	return s
}

func (s *workspace) path(name string) string { return filepath.Join(s.root, filepath.FromSlash(name)) }

func (s *workspace) write(name, content string) {
	s.t.Helper()
	s.check(os.MkdirAll(filepath.Dir(s.path(name)), 0o755))
	s.check(os.WriteFile(s.path(name), []byte(content), 0o644))
}

func (s *workspace) link(name, target string) {
	s.t.Helper()
	s.check(os.MkdirAll(filepath.Dir(s.path(name)), 0o755))
	s.check(os.Symlink(target, s.path(name)))
}

func (s *workspace) read(name string) string {
	s.t.Helper()
	data, err := os.ReadFile(s.path(name))
	if errors.Is(err, fs.ErrNotExist) {
		return ""
	}
	s.check(err)
	return string(data)
}

// memory returns the lines of a memory file.
func (s *workspace) memory(file string) []string {
	s.t.Helper()
	text := s.read(".claude/memory/" + file)
	if text == "" {
		return nil
	}
	return strings.Split(strings.TrimSuffix(text, "\n"), "\n")
}

func (s *workspace) check(err error) {
	s.t.Helper()
	if err != nil {
		s.t.Fatal(err)
	}
}

// tree returns the mode, modification time and content of every file in the workspace, except
// Remit's own folder.
func (s *workspace) tree() map[string]string {
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

// noRaceSleep turns off the second that a program with the race detector sleeps at exit.
const noRaceSleep = "GORACE=atexit_sleep_ms=0"

// longDeadlines makes the deadlines of contracts long enough for a busy machine. A test of the
// deadlines themselves sets another factor.
const longDeadlines = "REMIT_DEADLINE_FACTOR=20"

// alone makes every command work in its own process, so that tests with several processes have
// several. The tests of bridges use bridged.
const alone, bridged = "REMIT_BRIDGE=off", "REMIT_BRIDGE=on"

// environment returns the environment of a program that a client starts: nothing of ours except
// longDeadlines, alone and the folder of keys. Another HOME would not be enough for that.
func environment(more ...string) []string {
	home := []string{"PATH=" + os.Getenv("PATH"), "HOME=" + os.TempDir(), "TMPDIR=" + os.TempDir(), keysFolder}
	return append(append(home, noRaceSleep, longDeadlines, alone), more...)
}

// outcome is the result of a command.
type outcome struct {
	code        int
	out, errOut string
}

// remit runs one command of the binary in the workspace.
func (s *workspace) remit(args ...string) outcome {
	s.t.Helper()
	return s.runWith(func(cmd *exec.Cmd) (string, error) { return "", cmd.Run() }, args)
}

// runWith runs one command of the binary with run, which returns what else was shown.
func (s *workspace) runWith(run func(cmd *exec.Cmd) (shown string, err error), args []string) outcome {
	s.t.Helper()
	ctx, cancel := context.WithTimeout(s.t.Context(), timeout)
	defer cancel()
	cmd := exec.CommandContext(ctx, remitBin, args...)
	cmd.Dir, cmd.Env = s.root, environment(s.env...)
	var out, errOut bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errOut
	shown, err := run(cmd)
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		s.t.Fatalf("remit %s: %v", strings.Join(args, " "), err)
	}
	return outcome{cmd.ProcessState.ExitCode(), out.String(), errOut.String() + shown}
}

// verifyAudit fails the test unless "remit audit verify" succeeds.
func (s *workspace) verifyAudit() {
	s.t.Helper()
	if got := s.remit("audit", "verify"); got.code != 0 {
		s.t.Errorf("audit verify: exit %d\n%s%s", got.code, got.out, got.errOut)
	}
}

// syncBuffer is a buffer that can be read while a process writes to it.
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

// brokenLibraryLog matches the log lines about a library that an example breaks.
var brokenLibraryLog = regexp.MustCompile(`(?m)^\S+ WRN (ignoring an invalid entry of registry\.yaml|cannot read the book registry|call tool=books/\S+ caller=\S+ outcome=unavailable) .*\n`)

// unexpectedLog returns the part of stderr that a test does not expect.
func unexpectedLog(stderr string) string { return brokenLibraryLog.ReplaceAllString(stderr, "") }

// clip shortens a text for failure messages.
func clip[T ~string | ~[]byte](text T) string {
	const most = 600
	if len(text) <= most {
		return strings.TrimSpace(string(text))
	}
	return fmt.Sprintf("%s ... (%d bytes)", string(text[:most]), len(text))
}

// quoted returns text as a JSON string.
func quoted(text string) string {
	data, err := json.Marshal(text)
	if err != nil {
		panic(err)
	}
	return string(data)
}
