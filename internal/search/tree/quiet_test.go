package tree

import (
	"os"
	"path/filepath"
	"runtime"
	"testing"
)

// TestQuiet checks that Quiet is true for a watched tree without changes, and false after a change
// until the next Update.
func TestQuiet(t *testing.T) {
	modes(t, func(t *testing.T, noWatch bool) {
		root := t.TempDir()
		tree, err := Open(Options{Root: root, NoWatch: noWatch})
		if err != nil {
			t.Fatal(err)
		}
		defer tree.Close()
		expect := func(want bool) {
			t.Helper()
			if got := tree.Unchanged(); got != (want && !noWatch && runtime.GOOS == "linux") {
				t.Fatalf("Quiet is %t", got)
			}
		}
		update := func() (changes int) {
			t.Helper()
			if err := tree.Update(t.Context(), func(c Change) { changes += len(c.Added) + len(c.Changed) + len(c.Removed) }); err != nil {
				t.Fatal(err)
			}
			return changes
		}
		expect(false)
		update()
		expect(true)
		if err := os.WriteFile(filepath.Join(root, "a"), []byte("a"), 0o644); err != nil {
			t.Fatal(err)
		}
		expect(false)
		expect(false)
		if n := update(); n != 1 {
			t.Fatalf("%d changes", n)
		}
		expect(true)
		if err := os.RemoveAll(root); err != nil {
			t.Fatal(err)
		}
		expect(false)
	})
}
