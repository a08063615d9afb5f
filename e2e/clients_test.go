package e2e

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestNodeClients runs the clients that are written for Node. Their tests are in clients/suite.mjs
// and the files next to it.
func TestNodeClients(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		folder *npmFolder
		node   func(t *testing.T) string
	}{
		"any": {anyNode, func(*testing.T) string { return "node" }},
		"new": {newNode, node24},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test.folder.ready(t)
			node := test.node(t)
			files, err := filepath.Glob(filepath.Join(test.folder.path, "clients", "*.test.mjs"))
			if err != nil || len(files) == 0 {
				t.Fatalf("no client tests: %v", err)
			}
			env := append(os.Environ(), "REMIT_BIN="+remitBin, keysFolder)
			args := append([]string{"--test", "--test-reporter=tap"}, files...)
			got := runNode(t, env, node, args...)
			if got.code != 0 || !allPass(got.out) {
				t.Errorf("node %v: exit %d\n%s%s", args, got.code, failures(got.out), got.errOut)
			}
			note(t, "clients on %s Node: %s tests passed in %d files", name, count(got.out, "pass"), len(files))
		})
	}
}

// count returns a number from the summary at the end of node --test.
func count(tap, what string) string {
	found := regexp.MustCompile(`(?m)^# ` + what + ` (\d+)$`).FindStringSubmatch(tap)
	if found == nil {
		return "?"
	}
	return found[1]
}

// allPass reports whether tests ran and all of them passed.
func allPass(tap string) bool {
	return count(tap, "pass") != "0" && count(tap, "pass") == count(tap, "tests") && count(tap, "fail") == "0"
}

// failures returns the failed tests only.
func failures(tap string) string {
	var kept []string
	for _, part := range strings.Split(tap, "# Subtest: ") {
		if strings.Contains(part, "not ok ") {
			kept = append(kept, part)
		}
	}
	return strings.Join(kept, "# ")
}

// TestLockFilesNameNoHost checks that lock files pin packages by hash and name no registry host,
// which depends on the machine.
func TestLockFilesNameNoHost(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("*/package-lock.json")
	if err != nil || len(files) == 0 {
		t.Fatalf("no lock files: %v", err)
	}
	for _, file := range append(files, "package-lock.json") {
		t.Run(file, func(t *testing.T) { checkLockFile(t, file) })
	}
}

func checkLockFile(t *testing.T, file string) {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var lock struct {
		Packages map[string]struct {
			Version   string `json:"version"`
			Resolved  string `json:"resolved"`
			Integrity string `json:"integrity"`
			InBundle  bool   `json:"inBundle"`
		} `json:"packages"`
	}
	if err := json.Unmarshal(data, &lock); err != nil {
		t.Fatal(err)
	}
	for name, p := range lock.Packages {
		if name != "" && (p.Resolved != "" || p.Integrity == "" && !p.InBundle || p.Version == "") {
			t.Errorf("%s: version %q, integrity %q, resolved %q", name, p.Version, p.Integrity, p.Resolved)
		}
	}
	for _, address := range []string{".tgz", "registry.", "npmjs"} {
		if strings.Contains(string(data), address) {
			t.Errorf("the lock file contains %q", address)
		}
	}
}
