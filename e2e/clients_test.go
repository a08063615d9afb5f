package e2e

import (
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// The official TypeScript clients. What they do is in clients/suite.mjs.
func TestTypeScriptClients(t *testing.T) {
	t.Parallel()
	needNode(t)
	install(t)
	files, err := filepath.Glob("clients/*.test.mjs")
	if err != nil || len(files) == 0 {
		t.Fatalf("no tests of clients: %v", err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, "node", append([]string{"--test"}, files...)...)
	cmd.Env = append(os.Environ(), "REMIT_BIN="+remitBin)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%v: %v\n%s", cmd.Args, err, out)
	}
}

// needNode skips the test where there is no Node, but never in CI.
func needNode(t *testing.T) {
	t.Helper()
	for _, program := range []string{"node", "npm"} {
		if _, err := exec.LookPath(program); err != nil {
			if os.Getenv("CI") == "true" {
				t.Fatalf("%s is missing, and CI must test the TypeScript clients", program)
			}
			t.Skipf("THE TYPESCRIPT CLIENTS ARE NOT TESTED: %s is missing; install Node 20 or later", program)
		}
	}
}

// install brings the clients in from the lock file, unless they are there.
func install(t *testing.T) {
	t.Helper()
	if _, err := os.Stat("node_modules"); !errors.Is(err, fs.ErrNotExist) {
		return
	}
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
	defer cancel()
	if out, err := exec.CommandContext(ctx, "npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund").CombinedOutput(); err != nil {
		t.Fatalf("npm ci: %v\n%s", err, out)
	}
}

// The lock file pins what is installed by its hash, and does not say from where:
// that is up to the machine.
func TestLockFileNamesNoHost(t *testing.T) {
	t.Parallel()
	data, err := os.ReadFile("package-lock.json")
	if err != nil {
		t.Fatal(err)
	}
	var lock struct {
		Packages map[string]struct {
			Version   string `json:"version"`
			Resolved  string `json:"resolved"`
			Integrity string `json:"integrity"`
		} `json:"packages"`
	}
	if err := json.Unmarshal(data, &lock); err != nil {
		t.Fatal(err)
	}
	for name, p := range lock.Packages {
		if name != "" && (p.Resolved != "" || p.Integrity == "" || p.Version == "") {
			t.Errorf("%s: version %q, integrity %q, resolved %q", name, p.Version, p.Integrity, p.Resolved)
		}
	}
	for _, address := range []string{".tgz", "registry.", "npmjs"} {
		if strings.Contains(string(data), address) {
			t.Errorf("the lock file has %q", address)
		}
	}
}
