package blob

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"remit/internal/toolsets/books"
)

// TestSweepsEveryHour checks that a process that runs for long also removes the drafts of processes
// that were killed after its start, but not a draft that is being written.
func TestSweepsEveryHour(t *testing.T) {
	dir := t.TempDir()
	d := must(OpenDisk(dir))
	past := time.Now().Add(-2 * time.Hour)
	put := func(text string) {
		t.Helper()
		if _, _, err := d.Put(t.Context(), "books/b/x", strings.NewReader(text), int64(len(text)), books.Cond{}); err != nil {
			t.Fatal(err)
		}
	}
	put("1")
	stale := filepath.Join(dir, "books/b", tempPrefix+"stale")
	if err := os.WriteFile(stale, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{stale, filepath.Join(dir, lockFolder, "swept")} {
		if err := os.Chtimes(name, past, past); err != nil {
			t.Fatal(err)
		}
	}
	put("2")
	if _, err := os.Stat(stale); err != nil {
		t.Errorf("swept within the hour: %v", err)
	}
	staged, err := d.Stage(t.Context(), "books/b/x", strings.NewReader("4"), 1)
	if err != nil {
		t.Fatal(err)
	}
	defer staged.Discard()
	d.sweptAt.Store(past.UnixNano())
	put("3")
	if _, err := os.Stat(stale); !os.IsNotExist(err) {
		t.Errorf("the stale draft is left: %v", err)
	}
	if _, _, err := staged.Put(t.Context(), books.Cond{}); err != nil {
		t.Errorf("what is in use was removed: %v", err)
	}
}
