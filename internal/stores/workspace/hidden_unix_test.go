//go:build unix

package workspace

import (
	"os"
	"path/filepath"
	"testing"
)

// TestResolveNear: to look at less finds the same, whichever part of a path is a link.
func TestResolveNear(t *testing.T) {
	top, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	real, given := filepath.Join(top, "real"), filepath.Join(top, "given")
	for _, folder := range []string{"real/data/audit", "elsewhere/in"} {
		if err := os.MkdirAll(filepath.Join(top, folder), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(real, "file"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for link, target := range map[string]string{
		"given": "real", "real/out": "../elsewhere", "real/data/side": "../out/in", "real/torn": "nowhere", "real/loop": "loop",
	} {
		if err := os.Symlink(target, filepath.Join(top, link)); err != nil {
			t.Fatal(err)
		}
	}
	for _, root := range []string{given, real} {
		for _, name := range []string{
			".", "data", "data/audit", "data/missing/x", "missing", "file", "file/x", "out", "out/in", "out/missing",
			"data/side", "data/side/x/y", "torn", "torn/x", "loop/x", "../elsewhere", "..",
		} {
			host := filepath.Join(root, name)
			if got, want := resolveNear(host, root, real), resolveExisting(host); got != want {
				t.Errorf("%s beneath %s: %s, want %s", name, root, got, want)
			}
		}
	}
}
