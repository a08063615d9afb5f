//go:build unix

package workspace_test

import (
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"

	"remit/internal/contract"
)

// TestListShowsNoLinks checks that links, hidden files under other names, and special files are not
// listed.
func TestListShowsNoLinks(t *testing.T) {
	dir := realTemp(t)
	plant(
		t, dir, "docs/a.md=A", "docs/l->a.md", "docs/up->..", "docs/out->/etc", "docs/env->../.env", "docs/gone->none", ".env=S",
		"config.yaml=S", "linked->docs", `docs/back\slash.md=B`, "docs/no\xfftext.md=B",
	)
	if err := os.Link(filepath.Join(dir, "config.yaml"), filepath.Join(dir, "docs/innocent.md")); err != nil {
		t.Fatal(err)
	}
	if err := unix.Mkfifo(filepath.Join(dir, "docs/pipe"), 0o644); err != nil {
		t.Fatal(err)
	}
	root := open(t, dir, filepath.Join(dir, "config.yaml"))

	got, err := root.List("docs", "", anywhere())
	if diff := cmp.Diff([]string{"docs/a.md"}, got); diff != "" || err != nil {
		t.Errorf("%v %s", err, diff)
	}
	for _, folder := range []string{"linked", "docs/up", "docs/up/docs", "docs/out"} {
		_, err := root.List(folder, "", anywhere())
		check(t, failure(err), denied(folder))
	}
}

func TestOpenRead(t *testing.T) {
	dir := realTemp(t)
	plant(
		t, dir, "docs/a.md=A", "docs/big.md="+string(make([]byte, 5000)), "docs/l->a.md", "linked->docs", "docs/out->/etc/passwd", ".env=S",
		"docs/env->../.env", ".remit/remit.db=S",
	)
	root := open(t, dir, filepath.Join(dir, ".remit"))

	for name, want := range map[string]answer{
		"docs/a.md":       {Content: "A"},
		"docs/l":          denied("docs/l"),
		"linked/a.md":     denied("linked/a.md"),
		"docs/out":        denied("docs/out"),
		"docs/env":        denied("docs/env"),
		".env":            denied(".env"),
		".remit/remit.db": denied(".remit/remit.db"),
		"../a.md":         misnamed("../a.md", "Path traversal not allowed"),
		"docs/none.md":    notFound("docs/none.md"),
		"docs":            refusal(contract.Invalid, "docs is a folder, not a file", "docs"),
	} {
		file, err := root.OpenRead(name, anywhere())
		if err != nil {
			check(t, failure(err), want)
			continue
		}
		content, err := io.ReadAll(file)
		check(t, answer{Content: string(content)}, want)
		if err != nil || file.Close() != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	file, err := root.OpenRead("docs/big.md", anywhere())
	if err != nil {
		t.Fatalf("the size does not matter: %v", err)
	}
	_ = file.Close()
}

// FuzzList tries folder names of every form: every listed path must have its canonical name, and be
// readable with the same policy.
func FuzzList(f *testing.F) {
	for _, folder := range []string{
		".", "docs", "docs/deep", "./docs//", "", "l", "up", "out", "top", "abs", "data", "loop", "..", "docs/..", "secrets", ".remit", "/", "C:", `docs\deep`, "a\x00", "\xff",
	} {
		f.Add(folder, "")
		f.Add(folder, "B")
	}
	dir := fuzzTree(f)
	root := openFuzzTree(f, dir)
	f.Fuzz(func(t *testing.T, folder, begins string) {
		names, err := root.List(folder, begins, anywhere())
		if kind := failure(err).Kind; err != nil && kind != contract.Denied && kind != contract.NotFound {
			t.Fatalf("%q: %v", folder, err)
		}
		for _, name := range names {
			if strings.HasSuffix(name, "/") {
				continue
			}
			if got := read(root, name, anywhere()); got.Kind != "" || got.Resolved != name || got.Content == secret {
				t.Errorf("%q lists %q, which gives %v", folder, name, got)
			}
		}
	})
}
