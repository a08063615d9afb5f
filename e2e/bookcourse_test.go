package e2e

import (
	"encoding/json"
	"net/http"
	"os"
	"path"
	"path/filepath"
	"strings"
	"testing"

	"remit/internal/toolsets/books/bookstest"
)

// courseBook is the id of the book that is imported from the course.
const courseBook = "walked-book"

// importReport is the output of "remit books import --json".
type importReport struct {
	Book  string
	Files []struct {
		From, To string
		Links    int
	}
}

// TestCourseAsBook imports a course of hundreds of files unchanged as a book, and calls every book
// tool on it.
func TestCourseAsBook(t *testing.T) {
	t.Parallel()
	onEachLibrary(t, func(t *testing.T, s *workspace) {
		course := bookstest.Course(7, 320)
		s.check(os.CopyFS(s.path("The Course"), course))
		got := s.remit("books", "import", s.path("The Course"), "--book", courseBook, "--json")
		var report importReport
		if err := json.Unmarshal([]byte(got.out), &report); err != nil || got.code != 0 {
			t.Fatalf("import: exit %d, %v: %s%s", got.code, err, clip(got.out), clip(got.errOut))
		}
		w := s.serve("--toolsets", "books")
		walk := &bookWalk{httpServer: w}
		for _, file := range report.Files {
			before := string(course[file.From].Data)
			if path.Ext(file.To) != ".md" {
				continue
			}
			if now := walk.read(file.To); file.Links == 0 && now != before || len(now) == 0 {
				t.Errorf("%s differs from %s", file.To, file.From)
			}
		}
		walk.search(len(report.Files))
		walk.assets()
		walk.change()
		w.end()
		if got := s.remit("books", "validate", courseBook, "--json"); got.code > 1 || !json.Valid([]byte(got.out)) {
			t.Errorf("validate: exit %d: %s%s", got.code, clip(got.out), clip(got.errOut))
		}
	})
}

// bookWalk calls one book tool after another.
type bookWalk struct{ *httpServer }

func (w *bookWalk) call(tool string, args map[string]any, into any) {
	w.t.Helper()
	if tool != "list_books" {
		args["book_id"] = courseBook
	}
	body, err := json.Marshal(args)
	w.workspace.check(err)
	got := w.post("/tools/"+tool, string(body), nil)
	if got.status != http.StatusOK {
		w.t.Fatalf("%s %s: status %d: %s", tool, body, got.status, clip(got.body))
	}
	if err := json.Unmarshal(got.body, into); err != nil {
		w.t.Fatalf("%s: %v: %s", tool, err, clip(got.body))
	}
}

func (w *bookWalk) read(path string) string {
	w.t.Helper()
	var a bookAnswer
	w.call("read_content", map[string]any{"path": path}, &a)
	if hashOf(a.Content) != a.HashOfRead {
		w.t.Errorf("%s: the hash does not match the content", path)
	}
	return a.Content
}

func (w *bookWalk) search(files int) {
	w.t.Helper()
	var listed []struct {
		BookID string `json:"book_id"`
	}
	w.call("list_books", map[string]any{}, &listed)
	if len(listed) != 1 || listed[0].BookID != courseBook {
		w.t.Errorf("got books %v", listed)
	}
	var paths []string
	w.call("glob_search", map[string]any{"pattern": "**"}, &paths)
	if len(paths) < files {
		w.t.Errorf("found %d files, imported %d", len(paths), files)
	}
	var lines []struct {
		Path string `json:"file_path"`
		Line string `json:"matched_line"`
	}
	w.call("grep_search", map[string]any{"pattern": `^# `, "max_results": 1000}, &lines)
	if len(lines) < 300 || !strings.HasPrefix(lines[0].Line, "# ") {
		w.t.Errorf("found %d headings", len(lines))
	}
}

func (w *bookWalk) assets() {
	w.t.Helper()
	var all []bookAnswer
	w.call("list_assets", map[string]any{}, &all)
	if len(all) < 30 {
		w.t.Fatalf("found %d assets", len(all))
	}
	for _, a := range all[:3] {
		if got := fetch(w.t, http.MethodGet, a.CDN, nil, nil); got.status != http.StatusOK || int64(len(got.body)) != a.FileSize {
			w.t.Errorf("%s: status %d, %d bytes of %d", a.CDN, got.status, len(got.body), a.FileSize)
		}
	}
	var images []struct{ Filename string }
	w.call("list_assets", map[string]any{"asset_type": "images"}, &images)
	var one bookAnswer
	w.call("get_asset", map[string]any{"asset_type": "images", "filename": images[0].Filename}, &one)
	w.call("upload_asset", map[string]any{"asset_type": "audio", "filename": "hello.mp3", "binary_data": "SUQz"}, &one)
	w.call("get_book_archive", map[string]any{}, &one)
	if got := fetch(w.t, http.MethodGet, one.Archive, nil, nil); got.status != http.StatusOK || len(got.body) < 100_000 {
		w.t.Errorf("the archive: status %d, %d bytes", got.status, len(got.body))
	}
}

// change writes, deletes and restores a lesson.
func (w *bookWalk) change() {
	w.t.Helper()
	var a bookAnswer
	summary := map[string]any{"chapter_id": "chapter-01", "content": "# In short"}
	w.call("write_summary", summary, &a)
	w.call("read_summary", map[string]any{"chapter_id": "chapter-01"}, &a)
	w.call("delete_summary", map[string]any{"chapter_id": "chapter-01"}, &a)
	lesson := map[string]any{"path": "lessons/README.md"}
	before := w.read("lessons/README.md")
	w.call("write_content", map[string]any{"path": "lessons/README.md", "content": "# Anew", "file_hash": hashOf(before)}, &a)
	w.call("delete_content", lesson, &a)
	// Restore the deleted version, then the one before it.
	for _, version := range []string{"# Anew", before} {
		command := []string{"books", "restore", courseBook, "lessons/README.md"}
		if version == before {
			command = append(command, "--version", hashOf(before)[:12])
		}
		if got := w.workspace.remit(command...); got.code != 0 {
			w.t.Fatalf("restore: exit %d: %s%s", got.code, got.out, got.errOut)
		}
		if now := w.read("lessons/README.md"); now != version {
			w.t.Errorf("restored %s, want %s", clip(now), clip(version))
		}
	}
	got := w.workspace.remit("books", "log", courseBook, "lessons/README.md", "--json")
	if got.code != 0 || strings.Count(got.out, hashOf(before)) < 2 {
		w.t.Errorf("log: exit %d: %s%s", got.code, clip(got.out), got.errOut)
	}
	out := filepath.Join(w.workspace.root, "out.zip")
	if got := w.workspace.remit("books", "export", courseBook, "-o", out); got.code != 0 {
		w.t.Errorf("export: exit %d: %s%s", got.code, got.out, got.errOut)
	}
}
