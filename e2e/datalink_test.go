package e2e

import (
	"net/http"
	"os"
	"path/filepath"
	"testing"
)

// TestReplacedDataFolder replaces Remit's folders in a running server's workspace by links to a
// folder outside: nothing is written there.
func TestReplacedDataFolder(t *testing.T) {
	t.Parallel()
	for _, name := range []string{".remit", ".remit/audit", ".remit/library"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newWorkspace(t, nil)
			s.ownKeys()
			w := s.serve("--log-level", "error")
			if got := w.post("/tools/hello", `{"name":"ada"}`, nil); got.status != http.StatusOK {
				t.Fatalf("hello: %d %s", got.status, got.body)
			}
			out := t.TempDir()
			s.check(os.MkdirAll(s.path(name), 0o700))
			s.check(os.Rename(s.path(name), filepath.Join(t.TempDir(), "old")))
			s.link(name, out)
			for _, path := range []string{"/tools/add_task", "/tools/hello", "/tools/write_content"} {
				w.post(path, `{"user_id":"ada","title":"x","name":"ada","book_id":"abc","path":"lessons/a.md","content":"x"}`, nil)
			}
			got := w.post("/tools/write_content", `{"book_id":"abc","path":"lessons/a.md","content":"x"}`, nil)
			if name != ".remit/audit" && got.status < 400 {
				t.Errorf("a write to books: %d %s", got.status, got.body)
			}
			if got := w.post("/tools/add_task", `{"user_id":"ada","title":"x"}`, nil); name == ".remit" && got.status < 400 {
				t.Errorf("a task: %d %s", got.status, got.body)
			}
			w.kill()
			if left, err := os.ReadDir(out); err != nil || len(left) > 0 {
				t.Errorf("the folder outside has %v, error %v", left, err)
			}
		})
	}
}
