//go:build unix

package workspace_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"remit/internal/contract"
	"remit/internal/stores/workspace"
)

const secret = "TOP-SECRET"

// fuzzTree creates a root full of traps in a folder of its own.
func fuzzTree(t testing.TB) string {
	top := realTemp(t)
	plant(t, top, "outside/s.md="+secret, "s.md="+secret)
	dir := filepath.Join(top, "root")
	plant(t, dir, "a.md=A", "docs/b.md=B", "docs/deep/c.md=C", ".env="+secret, "docs/.env.local="+secret, "secrets/s.md="+secret,
		".remit/db="+secret, "remit.yaml="+secret,
		"l->docs", "up->docs/deep/..", "env->.env", "out->../outside", "top->/", "abs->ROOT/docs", "data->.remit", "loop->loop", "chain->l/deep/../../env")
	return dir
}

func openFuzzTree(t testing.TB, dir string) *workspace.Root {
	return open(t, dir, filepath.Join(dir, ".remit"), filepath.Join(dir, "remit.yaml"))
}

// checkOutcome compares every answer with that of the kernel for the same name.
func checkOutcome(t *testing.T, root *workspace.Root, dir, name string) {
	t.Helper()
	got := read(root, name, anywhere())
	if got.Kind == "" {
		checkContent(t, got, dir, name)
		return
	}
	body, err := json.Marshal([]any{got.Message, got.Details})
	if err != nil {
		t.Fatal(err)
	}
	// What the caller itself sent is no leak.
	if leaked := strings.ReplaceAll(got.Message, name, ""); strings.Contains(leaked, filepath.Dir(dir)) ||
		!strings.Contains(name, filepath.Dir(dir)) && strings.Contains(string(body), filepath.Dir(dir)) {
		t.Errorf("%q: the answer contains a host path: %s", name, body)
	}
	if got.Kind == contract.Internal || got.Kind == contract.Unavailable {
		t.Errorf("%q: %s", name, body)
	}
}

func checkContent(t *testing.T, got answer, dir, name string) {
	t.Helper()
	if strings.Contains(got.Content, secret) {
		t.Fatalf("%q gave away a secret by way of %q", name, got.Resolved)
	}
	real, err := filepath.EvalSymlinks(filepath.Join(dir, name))
	if err != nil || real != filepath.Join(dir, got.Resolved) {
		t.Errorf("%q was resolved to %q, the system says %q, %v", name, got.Resolved, real, err)
	}
	data, err := os.ReadFile(real)
	if err != nil || string(data) != got.Content {
		t.Errorf("%q: read %q, the system says %q, %v", name, got.Content, data, err)
	}
}

// FuzzJudge tries paths of every form, as a caller could.
func FuzzJudge(f *testing.F) {
	for _, name := range []string{
		"a.md", "docs/b.md", "./docs//deep/./c.md", ".", "", "l/b.md", "up/b.md", "env", "out/s.md", "top/etc/passwd", "abs/deep/c.md",
		"data/db", "loop", "chain", "../s.md", "docs/../../s.md", "l/../.env", ".ENV", "secrets/s.md", ".remit/db", "REMIT.yaml",
		"/etc/passwd", "C:x", `..\s.md`, "a\x00", "\xff", "\u017fecrets/s.md", ".e\u200bnv", "ROOT/a.md",
	} {
		f.Add(name)
	}
	dir := fuzzTree(f)
	root := openFuzzTree(f, dir)
	f.Fuzz(func(t *testing.T, name string) {
		checkOutcome(t, root, dir, strings.ReplaceAll(name, "ROOT", dir))
	})
}

// FuzzLink tries links of every form, as a repository could.
func FuzzLink(f *testing.F) {
	for _, target := range []string{
		"b.md", "../a.md", "../.env", "deep/../b.md", "../l/deep/../../.env", "../../outside/s.md", "ROOT/docs/b.md", "ROOT/docs/../.env",
		"ROOT/../s.md", "ROOTx", "//ROOT//docs", "trap", "deep/trap", "../up/deep/c.md", "../abs/../secrets/s.md", "../.remit/db", "/",
	} {
		f.Add(target)
	}
	dir := fuzzTree(f)
	root := openFuzzTree(f, dir)
	trap := filepath.Join(dir, "docs", "trap")
	f.Fuzz(func(t *testing.T, target string) {
		_ = os.Remove(trap)
		if os.Symlink(strings.ReplaceAll(target, "ROOT", dir), trap) != nil {
			t.Skip("not a target")
		}
		for _, name := range []string{"docs/trap", "docs/trap/s.md", "docs/trap/deep/c.md", "l/trap/b.md"} {
			checkOutcome(t, root, dir, name)
		}
	})
}
