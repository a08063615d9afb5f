package books_test

import (
	"archive/zip"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"testing/fstest"
	"time"

	"github.com/google/go-cmp/cmp"

	"remit/internal/contract"
	"remit/internal/stores/blob"
	"remit/internal/toolsets/books"
	"remit/internal/toolsets/books/bookstest"
)

// testLibrary is a library on disk.
type testLibrary struct {
	*books.Library
	t   *testing.T
	dir string
}

func newTestLibrary(t *testing.T) *testLibrary {
	t.Helper()
	s := &testLibrary{t: t, dir: t.TempDir()}
	disk, err := blob.OpenDisk(s.dir)
	if err != nil {
		t.Fatal(err)
	}
	s.Library = &books.Library{
		Stores: func(context.Context) (books.Stores, error) { return books.Stores{Main: disk}, nil },
		Now:    time.Now, Log: slog.New(slog.DiscardHandler),
	}
	return s
}

// put writes a file behind the library's back, as an editor does.
func (s *testLibrary) put(name, text string) {
	s.t.Helper()
	name = filepath.Join(s.dir, "books", filepath.FromSlash(name))
	if err := errors.Join(os.MkdirAll(filepath.Dir(name), 0o755), os.WriteFile(name, []byte(text), 0o644)); err != nil {
		s.t.Fatal(err)
	}
}

func (s *testLibrary) get(name string) string {
	s.t.Helper()
	data, err := os.ReadFile(filepath.Join(s.dir, "books", filepath.FromSlash(name)))
	if err != nil {
		s.t.Fatal(err)
	}
	return string(data)
}

// imports imports files as the book c01 and requires that all are imported.
func (s *testLibrary) imports(from fs.FS) books.Imported {
	s.t.Helper()
	done, err := s.Import(s.t.Context(), from, books.ImportOptions{Book: "c01", By: "ann"}, nil)
	if err != nil || len(done.Failed) > 0 {
		s.t.Fatalf("bad %v, error %v", done.Failed, err)
	}
	return done
}

func outcomes(done books.Imported) map[string]int {
	found := map[string]int{}
	for _, f := range done.Files {
		found[f.Outcome]++
	}
	return found
}

func folderOf(files ...string) fstest.MapFS {
	all := fstest.MapFS{}
	for i := 0; i < len(files); i += 2 {
		all[files[i]] = &fstest.MapFile{Data: []byte(files[i+1])}
	}
	return all
}

// TestImportOfACourse: a whole course as an author writes it is imported without broken links.
func TestImportOfACourse(t *testing.T) {
	t.Parallel()
	s := newTestLibrary(t)
	const lessons = 60
	course := bookstest.Course(1, lessons)
	var lastDone atomic.Int64
	done, err := s.Import(t.Context(), course, books.ImportOptions{Name: "Python for Agents (2025)", By: "ann"}, func(p books.Progress) {
		if p.Done < lastDone.Load() || p.Done > p.Total || p.Name == "" {
			t.Errorf("progress %+v after %d", p, lastDone.Load())
		}
		lastDone.Store(p.Done)
	})
	if err != nil || len(done.Failed) != 0 {
		t.Fatalf("error %v, bad %v", err, done.Failed)
	}
	if done.Book != "python-for-agents-2025" || done.Title != "Python for Agents" || len(done.Files) < lessons+lessons/10 || done.Links < lessons || lastDone.Load() != done.Bytes {
		t.Errorf("%s %q: %d files, %d links, %d of %d bytes reported", done.Book, done.Title, len(done.Files), done.Links, lastDone.Load(), done.Bytes)
	}
	if got := outcomes(done); got["created"] != len(done.Files) {
		t.Errorf("the first time: %v", got)
	}
	findings, err := s.Validate(t.Context(), done.Book, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range findings {
		if f.Rule != "missing-summary" {
			t.Errorf("%+v", f)
		}
	}
	if len(findings) != lessons/10 {
		t.Errorf("%d findings", len(findings))
	}

	again, err := s.Import(t.Context(), course, books.ImportOptions{Book: done.Book, By: "bob"}, nil)
	if err != nil || outcomes(again)["unchanged"] != len(done.Files) {
		t.Errorf("the second time: %v, error %v", outcomes(again), err)
	}
	changes, err := s.History(t.Context(), done.Book, "", 0)
	if err != nil || len(changes) != len(done.Files) || changes[0].By != "ann" || changes[0].Action != "import" {
		t.Errorf("%d changes, error %v", len(changes), err)
	}
	all, err := s.Overviews(t.Context())
	if err != nil || len(all) != 1 || all[0].Lessons != lessons+2 || all[0].Title != "Python for Agents" || all[0].Backend != "fs" || all[0].Status != "active" {
		t.Errorf("the list is %+v, error %v", all, err)
	}
}

// TestExportAndImport: an exported archive imports as the same book.
func TestExportAndImport(t *testing.T) {
	t.Parallel()
	s := newTestLibrary(t)
	const title = "Python: «the» \"course\""
	if _, err := s.Import(t.Context(), bookstest.Course(2, 40), books.ImportOptions{Book: "c01", Title: title, By: "ann"}, nil); err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	last := books.Progress{}
	if err := s.Export(t.Context(), "c01", &out, func(p books.Progress) { last = p }); err != nil {
		t.Fatal(err)
	}
	if last.Done != last.Total || last.Total == 0 {
		t.Errorf("the last report is %+v", last)
	}
	archive, err := zip.NewReader(bytes.NewReader(out.Bytes()), int64(out.Len()))
	if err != nil {
		t.Fatal(err)
	}
	done, err := s.Import(t.Context(), archive, books.ImportOptions{Book: "copy", By: "ann"}, nil)
	if err != nil || done.Links != 0 || len(done.Failed)+len(done.Skipped) != 0 || done.Title != title {
		t.Fatalf("%q: %d links, %v %v, error %v", done.Title, done.Links, done.Failed, done.Skipped, err)
	}
	var first, second []string
	for name, book := range map[*[]string]string{&first: "c01", &second: "copy"} {
		err := fs.WalkDir(os.DirFS(filepath.Join(s.dir, "books", book)), ".", func(at string, e fs.DirEntry, err error) error {
			if err == nil && !e.IsDir() {
				*name = append(*name, at+" "+s.get(book+"/"+at))
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if diff := cmp.Diff(first, second); diff != "" || len(first) < 40 {
		t.Errorf("%d files\n%.2000s", len(first), diff)
	}
	for _, id := range []string{"none", "No", "../c01"} {
		if err := s.Export(t.Context(), id, &out, nil); err == nil {
			t.Errorf("%s was exported", id)
		}
	}
}

func TestImportWritesNothingIfSomethingIsBad(t *testing.T) {
	t.Parallel()
	s := newTestLibrary(t)
	from := folderOf("a.md", "# A", "b.md", "caf\xe9")
	for _, o := range []books.ImportOptions{{Book: "c01"}, {Book: "c01", DryRun: true}, {Book: "c01", DryRun: true, SkipFailed: true}} {
		done, err := s.Import(t.Context(), from, o, nil)
		if err != nil || len(done.Failed) != 1 || done.Failed[0].From != "b.md" || done.Files[0].Outcome != "" {
			t.Errorf("%+v: %+v, error %v", o, done, err)
		}
	}
	if entries, err := os.ReadDir(s.dir); err != nil || len(entries) != 0 {
		t.Errorf("the library has %v, error %v", entries, err)
	}
	done, err := s.Import(t.Context(), from, books.ImportOptions{Book: "c01", SkipFailed: true}, nil)
	if err != nil || len(done.Files) != 1 || done.Files[0].Outcome != "created" {
		t.Errorf("with what is bad skipped: %+v, error %v", done, err)
	}
}

func TestImportIntoABook(t *testing.T) {
	t.Parallel()
	s := newTestLibrary(t)
	s.imports(folderOf("a.md", "# A", "b.md", "# B"))
	done, err := s.Import(t.Context(), folderOf("a.md", "# A", "b.md", "# B2", "c.md", "# C"), books.ImportOptions{Book: "c01", Title: "Another"}, nil)
	if diff := cmp.Diff(map[string]int{"unchanged": 1, "updated": 1, "created": 1}, outcomes(done)); err != nil || diff != "" {
		t.Errorf("error %v\n%s", err, diff)
	}
	if done.Title == "Another" {
		t.Error("the title of a book that was there has changed")
	}
	s.close("c01")
	if _, err := s.Import(t.Context(), folderOf("d.md", "# D"), books.ImportOptions{Book: "c01"}, nil); contract.AsError(err).Kind != contract.Invalid {
		t.Errorf("into an archived book: %v", err)
	}
	for _, o := range []books.ImportOptions{{Name: "数据"}, {Name: "a"}, {Book: "No"}, {Book: "a/b"}} {
		if _, err := s.Import(t.Context(), folderOf("d.md", "# D"), o, nil); contract.AsError(err).Kind != contract.Invalid {
			t.Errorf("%+v: %v", o, err)
		}
	}
}

// close sets the status of a book to archived.
func (s *testLibrary) close(string) {
	s.t.Helper()
	name := filepath.Join(s.dir, "registry.yaml")
	text, err := os.ReadFile(name)
	if err == nil {
		err = os.WriteFile(name, bytes.Replace(text, []byte("status: active"), []byte("status: archived"), 1), 0o644)
	}
	if err != nil {
		s.t.Fatal(err)
	}
}

// TestChangesOfMissingAndArchivedBooks checks that a change of a book that does not exist names the
// book, not the registry, and that an archived book stays as it is.
func TestChangesOfMissingAndArchivedBooks(t *testing.T) {
	t.Parallel()
	s := newTestLibrary(t)
	s.imports(folderOf("a.md", "# A"))
	changes := map[string]func(id string) error{
		"SetTitle":    func(id string) error { _, err := s.SetTitle(t.Context(), id, "Other"); return err },
		"SetArchived": func(id string) error { _, err := s.SetArchived(t.Context(), id, true); return err },
		"Rename":      func(id string) error { _, err := s.Rename(t.Context(), id, "other", "ann", nil); return err },
		"Remove":      func(id string) error { _, err := s.Remove(t.Context(), id, "ann", nil); return err },
	}
	for name, change := range changes {
		if e := contract.AsError(change("c02")); e.Kind != contract.NotFound || e.Message != "Content not found: books/c02" {
			t.Errorf("%s of a missing book: %s: %s", name, e.Kind, e.Message)
		}
	}
	s.close("c01")
	delete(changes, "SetArchived")
	for name, change := range changes {
		if e := contract.AsError(change("c01")); e.Kind != contract.Invalid || !strings.Contains(e.Message, "remit books archive c01 --undo") {
			t.Errorf("%s of an archived book: %s: %s", name, e.Kind, e.Message)
		}
	}
	if d, lessons, err := s.Describe(t.Context(), "c01"); err != nil || len(lessons) != 1 || d.Status != "archived" {
		t.Errorf("%+v, lessons %q, error %v", d, lessons, err)
	}
}

func TestNewBookIsSound(t *testing.T) {
	t.Parallel()
	s := newTestLibrary(t)
	made, err := s.Create(t.Context(), books.NewBook{ID: "my-book", Title: "Quotes: \"a\" & 'b' — ü", By: "ann"})
	if err != nil || made.Title != "Quotes: \"a\" & 'b' — ü" || made.Lessons != 1 {
		t.Fatalf("%+v, error %v", made, err)
	}
	if findings, err := s.Validate(t.Context(), "my-book", nil); err != nil || len(findings) != 0 {
		t.Errorf("%v, error %v", findings, err)
	}
	if all, err := s.Overviews(t.Context()); err != nil || len(all) != 1 || all[0] != made {
		t.Errorf("%+v is listed, %+v was made, error %v", all, made, err)
	}
	if _, err := s.Create(t.Context(), books.NewBook{ID: "my-book"}); contract.AsError(err).Kind != contract.Conflict {
		t.Errorf("the second time: %v", err)
	}
	s.put("found/lessons/a.md", "# A")
	if _, err := s.Create(t.Context(), books.NewBook{ID: "found"}); contract.AsError(err).Kind != contract.Conflict {
		t.Errorf("where files are: %v", err)
	}
	if _, err := s.Create(t.Context(), books.NewBook{ID: "My Book"}); contract.AsError(err).Kind != contract.Invalid {
		t.Errorf("a bad id: %v", err)
	}
}

func TestRestore(t *testing.T) {
	t.Parallel()
	s := newTestLibrary(t)
	for _, text := range []string{"one", "two", "three"} {
		s.imports(folderOf("a.md", text))
	}
	restore := func(version, want string) {
		t.Helper()
		change, err := s.Restore(t.Context(), "c01", "lessons/a.md", version, "bob")
		if got := s.get("c01/lessons/a.md"); err != nil || got != want || change.By != "bob" || change.Action != "restore" {
			t.Fatalf("restored %q to %q, want %q: %+v, error %v", version, got, want, change, err)
		}
	}
	changes, err := s.History(t.Context(), "c01", "lessons/a.md", 0)
	if err != nil || len(changes) != 3 || changes[0].Old != changes[1].New || changes[2].Old != "" || changes[0].Size != 5 {
		t.Fatalf("%+v, error %v", changes, err)
	}
	restore("", "two")
	restore("", "three") // it can be undone
	restore(changes[2].New[:8], "one")
	restore(changes[1].Version, "two")
	newest, err := s.History(t.Context(), "c01", "lessons/", 2)
	if err != nil || len(newest) != 2 || newest[0].Action != "restore" || newest[0].Path != "lessons/a.md" {
		t.Errorf("%+v, error %v", newest, err)
	}
	for version, kind := range map[string]contract.Kind{
		"ffffffff0000": contract.NotFound, changes[1].Version: contract.Invalid, "2": contract.Invalid,
	} {
		if _, err := s.Restore(t.Context(), "c01", "lessons/a.md", version, "bob"); contract.AsError(err).Kind != kind {
			t.Errorf("version %q: %v", version, err)
		}
	}
	s.imports(folderOf("b.md", "only"))
	for _, path := range []string{"lessons/b.md", "lessons/none.md"} {
		if _, err := s.Restore(t.Context(), "c01", path, "", "bob"); contract.AsError(err).Kind != contract.NotFound {
			t.Errorf("%s: %v", path, err)
		}
	}
	for _, path := range []string{"", "../x", "a b", "/a"} {
		if _, err := s.Restore(t.Context(), "c01", path, "", "bob"); contract.AsError(err).Kind != contract.Invalid {
			t.Errorf("%q: %v", path, err)
		}
	}
	if _, err := s.History(t.Context(), "nothing", "", 0); contract.AsError(err).Kind != contract.NotFound {
		t.Errorf("the history of no book: %v", err)
	}
}

// TestChanged: each change can be shown with the texts before and after it.
func TestChanged(t *testing.T) {
	t.Parallel()
	s := newTestLibrary(t)
	for _, text := range []string{"one", "two", "three"} {
		s.imports(folderOf("a.md", text))
	}
	changes, err := s.History(t.Context(), "c01", "lessons/a.md", 0)
	if err != nil || len(changes) != 3 {
		t.Fatal(changes, err)
	}
	for i, want := range [][2]string{{"two", "three"}, {"one", "two"}, {"", "one"}} {
		before, after, c, err := s.ChangeTexts(t.Context(), "c01", "lessons/a.md", changes[i].Version)
		if err != nil || before != want[0] || after != want[1] || c != changes[i] {
			t.Errorf("change %d: from %q to %q, %+v, error %v", i, before, after, c, err)
		}
	}
	for _, c := range []struct {
		book, path, version string
		kind                contract.Kind
	}{
		{"c01", "lessons/a.md", "", contract.NotFound},
		{"c01", "lessons/a.md", changes[0].Version[:8], contract.NotFound},
		{"c01", "lessons/none.md", changes[0].Version, contract.NotFound},
		{"c01", "../c01/lessons/a.md", changes[0].Version, contract.Invalid},
		{"c01", "/etc/passwd", changes[0].Version, contract.Invalid},
		{"..", "lessons/a.md", changes[0].Version, contract.Invalid},
	} {
		if _, _, _, err := s.ChangeTexts(t.Context(), c.book, c.path, c.version); contract.AsError(err).Kind != c.kind {
			t.Errorf("%+v: %v", c, err)
		}
	}
}

// TestRestoreAfterAnEditor: content that an editor already restored is not restored again.
func TestRestoreAfterAnEditor(t *testing.T) {
	t.Parallel()
	s := newTestLibrary(t)
	s.imports(folderOf("a.md", "one"))
	s.imports(folderOf("a.md", "two"))
	s.put("c01/lessons/a.md", "one")
	if _, err := s.Restore(t.Context(), "c01", "lessons/a.md", "", "bob"); contract.AsError(err).Kind != contract.NotFound {
		t.Errorf("error %v", err)
	}
	s.put("c01/lessons/a.md", "three")
	if _, err := s.Restore(t.Context(), "c01", "lessons/a.md", "", "bob"); err != nil || s.get("c01/lessons/a.md") != "one" {
		t.Errorf("%q, error %v", s.get("c01/lessons/a.md"), err)
	}
	if _, err := s.Restore(t.Context(), "c01", "lessons/a.md", "", "bob"); err != nil || s.get("c01/lessons/a.md") != "three" {
		t.Errorf("%q, error %v", s.get("c01/lessons/a.md"), err)
	}
}

// TestRestoreOfWhatIsDeleted: a deleted file can be restored, and deleted again.
func TestRestoreOfWhatIsDeleted(t *testing.T) {
	t.Parallel()
	d := serve(t)
	const file = `"book_id":"c01","path":"lessons/a.md"`
	d.does(t, "write_content", `{`+file+`,"content":"# One"}`)
	d.does(t, "delete_content", `{`+file+`}`)
	if changes, err := d.library.History(t.Context(), "c01", "lessons/a.md", 0); err != nil || len(changes) != 2 || changes[0].Action != "delete" || changes[0].New != "" {
		t.Fatalf("%+v, error %v", changes, err)
	}
	change, err := d.library.Restore(t.Context(), "c01", "lessons/a.md", "", "bob")
	if err != nil || change.Old != "" || change.Size != int64(len("# One")) {
		t.Fatalf("%+v, error %v", change, err)
	}
	if got := text(d.does(t, "read_content", `{`+file+`}`)); !strings.Contains(got, `"content":"# One"`) {
		t.Errorf("it is %s", got)
	}
	changes, err := d.library.History(t.Context(), "c01", "lessons/a.md", 0)
	if err != nil || len(changes) != 3 || changes[0].Action != "restore" || changes[0].By != "bob" {
		t.Fatalf("%+v, error %v", changes, err)
	}
	if _, err := d.library.Restore(t.Context(), "c01", "lessons/a.md", changes[1].Version, "bob"); contract.AsError(err).Kind != contract.Invalid {
		t.Errorf("to when it was deleted: %v", err)
	}
}

func TestValidateFindsWhatIsWrong(t *testing.T) {
	t.Parallel()
	s := newTestLibrary(t)
	for name, text := range map[string]string{
		"lessons/chapter-01/a.md": "---\ntitle: A\n---\n# A\n[ok](b.md#part-two) [ok](#a) [ok](../../assets/images/used.png) [ok](https://example.org/x.md) [ok](b) [ok](../chapter-01/) [ok](b.html#part-two) [ok](../index.html)\n" +
			"[gone](c.md)\n[out](../../../x.md)\n[part](b.md#part-three) [here](#nowhere)\n![pic](../../assets/images/gone.png) ![pic](b.png)\n[]()\n[site](/docs/x) [top](/lessons/chapter-01/b.md)\n" +
			"[case](B.MD) ![cdn](https://cdn.example/books/c01/assets/images/by-cdn.png?v=1)\n[page](b.html#gone) [page](c.html)\n```\n[code](none.md)\n```\n",
		"lessons/chapter-01/b.md":         "# B\n\n## Part two\n",
		"lessons/README.md":               "# All\n",
		"lessons/chapter-02/yaml.md":      "---\ntitle: [\n---\n# X\n",
		"lessons/chapter-02/list.md":      "---\n- a\n---\n# X\n",
		"lessons/chapter-02/twice.md":     "---\ntitle: a\ntitle: b\n---\n# X\n",
		"lessons/chapter-02/open.md":      "---\ntitle: a\n# X\n",
		"lessons/chapter-02/untitled.md":  "---\ntags: [a]\n---\n# X\n",
		"lessons/chapter-02/bare.md":      "Text alone.\n",
		"lessons/chapter-02/empty.md":     "---\ntitle: a\n---\n \n",
		"lessons/chapter-02/latin.md":     "caf\xe9",
		"chapters/chapter-01/.summary.md": "# One",
		"chapters/chapter-07/.summary.md": "# Seven\n\n[x](../none.md)",
		"assets/images/used.png":          "png",
		"assets/images/unused.png":        "png",
		"assets/images/by-cdn.png":        "png",
		"book.yaml":                       "title: [",
	} {
		s.put("c01/"+name, text)
	}
	findings, err := s.Validate(t.Context(), "c01", nil)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, f := range findings {
		got = append(got, fmt.Sprintf("%s %s:%d %s", f.Level, f.Path, f.Line, f.Rule))
	}
	want := []string{
		"error :0 unregistered",
		"warning assets/images/unused.png:0 orphan-asset",
		"error book.yaml:1 bad-front-matter",
		"warning chapters/chapter-02/.summary.md:0 missing-summary",
		"warning chapters/chapter-07/.summary.md:0 orphan-summary",
		"error chapters/chapter-07/.summary.md:3 broken-link",
		"error lessons/chapter-01/a.md:6 broken-link",
		"error lessons/chapter-01/a.md:7 broken-link",
		"error lessons/chapter-01/a.md:8 broken-anchor",
		"error lessons/chapter-01/a.md:8 broken-anchor",
		"error lessons/chapter-01/a.md:9 missing-asset",
		"error lessons/chapter-01/a.md:9 missing-asset",
		"warning lessons/chapter-01/a.md:10 empty-link",
		"warning lessons/chapter-01/a.md:11 broken-link",
		"error lessons/chapter-01/a.md:12 broken-link",
		"warning lessons/chapter-01/a.md:13 broken-anchor",
		"error lessons/chapter-01/a.md:13 broken-link",
		"warning lessons/chapter-02/bare.md:1 no-title",
		"warning lessons/chapter-02/empty.md:0 empty-lesson",
		"error lessons/chapter-02/latin.md:0 not-utf8",
		"error lessons/chapter-02/list.md:2 bad-front-matter",
		"error lessons/chapter-02/open.md:1 bad-front-matter",
		"error lessons/chapter-02/twice.md:3 bad-front-matter",
		"warning lessons/chapter-02/untitled.md:1 no-title",
		"error lessons/chapter-02/yaml.md:2 bad-front-matter",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	said := fmt.Sprint(findings)
	for _, want := range []string{"B.MD: no such file: lessons/chapter-01/B.MD; did you mean b.md?", "it points outside the book", "#part-three: there is no such heading in lessons/chapter-01/b.md"} {
		if !strings.Contains(said, want) {
			t.Errorf("%q is missing:\n%s", want, said)
		}
	}
	if _, err := s.Validate(t.Context(), "none", nil); contract.AsError(err).Kind != contract.NotFound {
		t.Errorf("of no book: %v", err)
	}
}
