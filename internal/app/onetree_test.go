package app

import (
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"testing"
	"time"

	"remit/internal/frontends/cli"
	"remit/internal/search/tree"
	"remit/internal/toolsets/codebase"
)

// TestOneTree checks that code search and the knowledge index share the same files, whichever opens
// them first, and can be closed in any order.
func TestOneTree(t *testing.T) {
	root := t.TempDir()
	for _, name := range []string{"a.go", "b.md"} {
		if err := os.WriteFile(filepath.Join(root, name), []byte("text"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	log := slog.New(slog.DiscardHandler)
	c := &code{
		settings: cli.Settings{Root: root, Watch: true}, denied: func() []string { return nil }, log: log,
		reads: codebase.NewTracker(nil, log, time.Now),
	}
	index, err := c.tree()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.open(); err != nil {
		t.Fatal(err)
	}
	known := func(of *tree.Tree) map[string]*tree.File {
		files := map[string]*tree.File{}
		err := of.Update(t.Context(), func(change tree.Change) {
			for _, f := range change.Added {
				files[f.Path] = f
			}
		})
		if err != nil {
			t.Fatal(err)
		}
		return files
	}
	ours, theirs := known(index), known(c.files)
	if len(ours) != 2 || !maps.Equal(ours, theirs) {
		t.Errorf("the index has %v, the search has %v", ours, theirs)
	}
	if err := c.close(); err != nil {
		t.Error(err)
	}
	if err := index.Close(); err != nil {
		t.Error(err)
	}
	if _, err := c.tree(); err == nil {
		t.Error("the files are opened after the end")
	}
}
