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

// timeout is the timeout for any operation. It only ends a hanging test and does not measure
// anything.
const timeout = 5 * time.Minute

// serverTimeout is the timeout for a server, for the same reason.
const serverTimeout = 9 * time.Minute

// programs is the folder of the programs that this run has built.
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

// program builds the command in a folder, once per run, and returns its path. It builds it as it is
// shipped: without cgo and without the race detector.
func program(t *testing.T, source string) string {
	t.Helper()
	path := filepath.Join(programs, filepath.Base(source))
	if _, err := os.Stat(path); err == nil {
		return path
	}
	cmd := exec.Command("go", "build", "-ldflags=-s -w", "-o", path, ".")
	cmd.Dir = source // peers is a separate module
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

// remit returns a Remit command in its own workspace. It does not inherit our environment, has no
// rate limit, and does not log calls, like its peers. It still writes the audit record.
func remit(t *testing.T, args ...string) *exec.Cmd {
	t.Helper()
	return remitOf(t, program(t, remitSource), args...)
}

// remitOf returns a command for a given build of Remit.
func remitOf(t *testing.T, program string, args ...string) *exec.Cmd {
	t.Helper()
	cmd := exec.Command(program, args...)
	cmd.Dir = t.TempDir()
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + t.TempDir(), "REMIT_RATE_LIMITS=off", "REMIT_LOG_LEVEL=warn", "REMIT_TOOLSETS=learning-os"}
	return cmd
}

// skipOutsideCI skips a test that this machine cannot run. In CI it fails instead.
func skipOutsideCI(t *testing.T, what, why string) {
	t.Helper()
	if os.Getenv("CI") == "true" {
		t.Fatalf("CI must not skip %s: %s", what, why)
	}
	t.Skipf("not run: %s: %s", what, why)
}

// everythingServer returns a command for the official example server.
func everythingServer(t *testing.T) *exec.Cmd {
	t.Helper()
	return officialServer(t, "server-everything", "stdio")
}

// officialServer returns a command for one of the official servers.
func officialServer(t *testing.T, name string, args ...string) *exec.Cmd {
	t.Helper()
	for _, program := range []string{"node", "npm"} {
		if _, err := exec.LookPath(program); err != nil {
			skipOutsideCI(t, "the comparison with "+name, program+" is missing; install Node 20 or later")
		}
	}
	folder := filepath.Join("peers", "node_modules", "@modelcontextprotocol", name)
	install(t, folder)
	return exec.Command("node", append([]string{filepath.Join(folder, "dist", "index.js")}, args...)...)
}

// install installs the official servers from the lock file, unless the one in this folder exists.
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

// skipUnlessMeasuring skips a test of speed if its figures would mean nothing: under the race
// detector, which slows our callers and not the servers.
func skipUnlessMeasuring(t *testing.T) {
	t.Helper()
	if testing.Short() {
		t.Skip("this test measures for several seconds")
	}
	if underRace() {
		t.Skip("the race detector would distort the figures")
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

// longRun reports whether to run long enough for figures that are good enough to publish.
func longRun() bool { return os.Getenv("REMIT_BENCH_LONG") == "1" }

// TestLockFileNamesNoHost: the lock file pins packages by their hash and not by their host, which
// depends on the machine.
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
