package bench

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime/debug"
	"strings"
	"testing"
	"time"
)

// patience is how long anything may take before a test gives up on it. It is
// there to end a hanging test, not to measure.
const patience = 5 * time.Minute

// longest is how long a server may be of use to a test, for the same reason.
const longest = 9 * time.Minute

// programs is the folder of what this run built.
var programs string

func TestMain(m *testing.M) { os.Exit(run(m)) }

func run(m *testing.M) int {
	dir, err := os.MkdirTemp("", "remit-bench-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(dir)
	programs = dir
	return m.Run()
}

// program builds the command in a folder, once a run, and returns its path. It is built
// as it is shipped: without cgo, and without the race detector.
func program(t *testing.T, source string) string {
	t.Helper()
	path := filepath.Join(programs, filepath.Base(source))
	if _, err := os.Stat(path); err == nil {
		return path
	}
	cmd := exec.Command("go", "build", "-ldflags=-s -w", "-o", path, ".")
	cmd.Dir = source // peers is a module of its own
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOFLAGS=-trimpath -buildvcs=false")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("build %s: %v\n%s", source, err, out)
	}
	return path
}

const (
	remitSource    = "../cmd/remit"
	goSDKSource    = "peers/gosdk"
	bareHTTPSource = "peers/barehttp"
)

// remit is a command line of Remit in a workspace of its own. Nothing of our
// environment gets in, no rate limit gets in the way, and calls are not logged, as
// they are not by its peers; the audit record is kept.
func remit(t *testing.T, args ...string) *exec.Cmd {
	t.Helper()
	return remitOf(t, program(t, remitSource), args...)
}

// remitOf is a command line of a certain build of Remit.
func remitOf(t *testing.T, program string, args ...string) *exec.Cmd {
	t.Helper()
	cmd := exec.Command(program, args...)
	cmd.Dir = t.TempDir()
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + t.TempDir(), "REMIT_RATE_LIMITS=off", "REMIT_LOG_LEVEL=warn", "REMIT_TOOLSETS=learning-os"}
	return cmd
}

// leaveOut skips a test that cannot be had on this machine, but never in CI.
func leaveOut(t *testing.T, what, why string) {
	t.Helper()
	if os.Getenv("CI") == "true" {
		t.Fatalf("CI must not leave out %s: %s", what, why)
	}
	t.Skipf("LEFT OUT: %s: %s", what, why)
}

// everything is the official example server.
func everything(t *testing.T) *exec.Cmd {
	t.Helper()
	return official(t, "server-everything", "stdio")
}

// official is a command line of one of the official servers.
func official(t *testing.T, name string, args ...string) *exec.Cmd {
	t.Helper()
	for _, program := range []string{"node", "npm"} {
		if _, err := exec.LookPath(program); err != nil {
			leaveOut(t, "the comparison with "+name, program+" is missing; install Node 20 or later")
		}
	}
	folder := filepath.Join("peers", "node_modules", "@modelcontextprotocol", name)
	install(t, folder)
	return exec.Command("node", append([]string{filepath.Join(folder, "dist", "index.js")}, args...)...)
}

// install brings the official servers in from the lock file, unless the one in this
// folder is there.
func install(t *testing.T, folder string) {
	t.Helper()
	if _, err := os.Stat(folder); !errors.Is(err, fs.ErrNotExist) {
		return
	}
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, "npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund")
	cmd.Dir = "peers"
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("npm ci: %v\n%s", err, out)
	}
}

// measures skips a test of speed where its figures would mean nothing: under the
// race detector, which slows our callers and not the servers.
func measures(t *testing.T) {
	t.Helper()
	if testing.Short() {
		t.Skip("it measures for seconds")
	}
	if underRace() {
		t.Skip("the race detector would be measured")
	}
}

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

// long tells whether to take the time for figures that are good enough to print.
func long() bool { return os.Getenv("REMIT_BENCH_LONG") == "1" }

// The lock file pins what is installed by its hash, and does not say from where:
// that is up to the machine.
func TestLockFileNamesNoHost(t *testing.T) {
	lock, err := os.ReadFile("peers/package-lock.json")
	if err != nil {
		t.Fatal(err)
	}
	for _, address := range []string{`"resolved"`, ".tgz", "registry.", "npmjs"} {
		if strings.Contains(string(lock), address) {
			t.Errorf("the lock file has %s", address)
		}
	}
}
