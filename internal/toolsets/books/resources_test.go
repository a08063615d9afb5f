package books_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"remit/internal/contract"
	"remit/internal/engine"
	"remit/internal/engine/enginetest"
	"remit/internal/toolsets/books"
)

var ann = engine.Requester{Principal: "ann"}

// registered is a registry of two books that are not in alphabetical order.
const registered = `books:
  - {book_id: rust-course, title: Rust, storage_backend: %[1]s, created_at: "2025-11-24T12:00:00Z", status: active}
  - {book_id: go-course, title: Go, storage_backend: %[1]s, created_at: "2025-11-24T12:00:00Z", status: archived}
`

// stock fills the library with two small books.
func (d *testServer) stock(t *testing.T) {
	t.Helper()
	for name, text := range map[string]string{
		"registry.yaml":                                     fmt.Sprintf(registered, d.stores.Main.Name()),
		"books/rust-course/book.yaml":                       "title: Rust\n",
		"books/rust-course/lessons/chapter-01/a.md":         "# A\n",
		"books/rust-course/lessons/part-1/chapter-01/b.md":  "# B\n",
		"books/rust-course/lessons/chapter-02/c.md":         "# C\n",
		"books/rust-course/chapters/chapter-01/.summary.md": "Old words.\n",
		"books/rust-course/assets/images/a.png":             "\x89PNG\r\n\x1a\n\xff",
		"books/rust-course/lessons/notes.txt":               "notes",
		"books/go-course/lessons/chapter-01/a.md":           "# Go\n",
		"books/unlisted/lessons/chapter-09/a.md":            "# Unlisted\n",
	} {
		d.given(t, name, text)
	}
}

// addresses returns the URIs of books among all resources.
func (d *testServer) addresses(t *testing.T) []string {
	t.Helper()
	list, err := d.Resources(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	var uris []string
	for _, r := range list {
		if strings.HasPrefix(r.URI, "book://") {
			uris = append(uris, r.URI)
		}
	}
	return uris
}

func kindOf(err error) contract.Kind {
	var e *contract.Error
	if !errors.As(err, &e) {
		return ""
	}
	return e.Kind
}

// TestResourcesList: the texts of registered books are listed, book after book.
func TestResourcesList(t *testing.T) {
	d := serve(t)
	if none := d.addresses(t); none != nil {
		t.Errorf("before there is a library: %q", none)
	}
	d.stock(t)
	want := []string{
		"book://rust-course/book.yaml",
		"book://rust-course/chapters/chapter-01/.summary.md",
		"book://rust-course/lessons/chapter-01/a.md",
		"book://rust-course/lessons/chapter-02/c.md",
		"book://rust-course/lessons/part-1/chapter-01/b.md",
		"book://go-course/lessons/chapter-01/a.md",
	}
	if diff := cmp.Diff(want, d.addresses(t)); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	list, err := d.Resources(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	if got := list[5]; got.Name != "lessons/chapter-01/a.md" || got.Title != "Go: lessons/chapter-01/a.md" || got.MIME != "text/markdown" || got.Size != 5 {
		t.Errorf("%+v", got)
	}
	for n := range 1100 {
		d.given(t, fmt.Sprintf("books/rust-course/lessons/chapter-03/%04d.md", n), "x")
	}
	if many := d.addresses(t); len(many) != 1000 || slices.Contains(many, "book://go-course/lessons/chapter-01/a.md") {
		t.Errorf("%d of 1106 are listed", len(many))
	}
}

// TestResourcesRead: slashes may be escaped or not; text is returned as text, other content as
// bytes.
func TestResourcesRead(t *testing.T) {
	d := serve(t)
	d.stock(t)
	for uri, want := range map[string]engine.Contents{
		"book://rust-course/lessons/chapter-02/c.md":     {MIME: "text/markdown", Text: "# C\n"},
		"book://rust-course/lessons%2Fchapter-02%2Fc.md": {MIME: "text/markdown", Text: "# C\n"},
		"book://rust-course/lessons/notes.txt":           {MIME: "text/plain", Text: "notes"},
		"book://rust-course/book.yaml":                   {MIME: "application/yaml", Text: "title: Rust\n"},
		"book://rust-course/assets/images/a.png":         {MIME: "image/png", Blob: []byte("\x89PNG\r\n\x1a\n\xff")},
		"book://unlisted/lessons/chapter-09/a.md":        {MIME: "text/markdown", Text: "# Unlisted\n"},
	} {
		want.URI = uri
		got, err := d.Read(t.Context(), ann, uri)
		if err != nil {
			t.Errorf("%s: %v", uri, err)
			continue
		}
		if diff := cmp.Diff([]engine.Contents{want}, got); diff != "" {
			t.Errorf("%s: -want +got:\n%s", uri, diff)
		}
	}
	for _, uri := range []string{
		"book://", "book://rust-course", "book://rust-course/", "book://rust-course/lessons", "book://rust-course/lessons/none.md",
		"book://rust-course/../registry.yaml", "book://rust-course/..%2F..%2Fregistry.yaml", "book://../registry.yaml", "book://rust-course/%zz",
		"book://rust-course//lessons/chapter-02/c.md", "book://rust-course/lessons/%00", "book://RUST-COURSE/book.yaml", "book://nobody/book.yaml",
	} {
		if got, err := d.Read(t.Context(), ann, uri); kindOf(err) != contract.NotFound {
			t.Errorf("%s: %v, %v", uri, got, err)
		}
	}
	d.given(t, "books/rust-course/lessons/long.md", strings.Repeat("x", engine.MaxRead+1))
	if _, err := d.Read(t.Context(), ann, "book://rust-course/lessons/long.md"); kindOf(err) != contract.TooLarge {
		t.Errorf("too long: %v", err)
	}
	d.given(t, "books/rust-course/lessons/odd.md", "\xff\xfe")
	if got, err := d.Read(t.Context(), ann, "book://rust-course/lessons/odd.md"); err != nil || string(got[0].Blob) != "\xff\xfe" {
		t.Errorf("no text: %v, %v", got, err)
	}
}

// TestResourcesNotify: a client that watches a lesson is notified when it is created, changed or
// deleted.
func TestResourcesNotify(t *testing.T) {
	d := serve(t)
	d.stock(t)
	heard := make(chan engine.Change, 16)
	defer d.Listen(func(c engine.Change) { heard <- c })()
	const uri = "book://rust-course/lessons/chapter-02/new.md"
	defer d.Watch(uri)()
	defer d.Watch("")()
	await := func(want engine.Change) {
		t.Helper()
		deadline := time.After(time.Minute)
		for {
			select {
			case got := <-heard:
				if got == want {
					return
				}
			case <-deadline:
				t.Fatalf("no notification of %+v", want)
			}
		}
	}
	const args = `{"book_id":"rust-course","path":"lessons/chapter-02/new.md"`
	d.does(t, "write_content", args+`,"content":"# New\n"}`)
	await(engine.Change{Kind: engine.ResourceUpdated, URI: uri})
	d.does(t, "write_content", args+`,"content":"# Now\n"}`)
	await(engine.Change{Kind: engine.ResourceUpdated, URI: uri})
	for len(heard) > 0 {
		<-heard
	}
	d.does(t, "delete_content", args+`}`)
	await(engine.Change{Kind: engine.ResourcesChanged})
}

// TestResourcesComplete: book ids, paths and chapters are completed.
func TestResourcesComplete(t *testing.T) {
	d := serve(t)
	d.stock(t)
	for _, tc := range []struct {
		of, argument, prefix string
		want                 []string
	}{
		{"book://{book_id}/{path}", "book_id", "", []string{"go-course", "rust-course"}},
		{"book://{book_id}/{path}", "book_id", "ru", []string{"rust-course"}},
		{"book://{book_id}/{path}", "path", "lessons/chapter-01", []string{"lessons/chapter-01/a.md"}},
		{"summarise_chapter", "book_id", "g", []string{"go-course"}},
		{"summarise_chapter", "chapter_id", "", []string{"chapter-01", "chapter-02"}},
		{"review_lesson", "path", "lessons/p", []string{"lessons/part-1/chapter-01/b.md"}},
	} {
		complete := d.CompletePrompt
		if strings.Contains(tc.of, "{") {
			complete = d.CompleteTemplate
		}
		got, err := complete(t.Context(), nil, tc.of, tc.argument, tc.prefix)
		if err != nil || !slices.Equal(got, tc.want) {
			t.Errorf("%s of %s beginning with %q: %q, %v; want %q", tc.argument, tc.of, tc.prefix, got, err, tc.want)
		}
	}
}

// bucket is a store that counts its listings and can be made unavailable.
type bucket struct {
	books.Store
	lists atomic.Int64
	away  atomic.Bool
}

func (*bucket) Name() string { return "s3" }

func (b *bucket) List(ctx context.Context, prefix string) iter.Seq2[books.Object, error] {
	b.lists.Add(1)
	if !b.away.Load() {
		return b.Store.List(ctx, prefix)
	}
	return func(yield func(books.Object, error) bool) { yield(books.Object{}, errors.New("it is away")) }
}

// TestResourcesSpareBuckets: a listing of a bucket is reused for a while; while the bucket is
// unavailable, other resources can still be listed.
func TestResourcesSpareBuckets(t *testing.T) {
	d := serve(t)
	b := &bucket{Store: d.stores.Main}
	d.stores.Main = b
	d.stock(t)
	now := time.Now()
	tools := &books.Tools{Library: d.library, Links: links{}, Now: func() time.Time { return now }, Served: contracts(t)}
	handlers := engine.Handlers{Catalog: contracts(t), Toolsets: []engine.Toolset{tools.Toolset()}}
	d.Engine = enginetest.Serve(t, contracts(t), handlers, engine.Options{})
	first := d.addresses(t)
	lists := b.lists.Load()
	if len(first) != 6 || lists != 2 {
		t.Fatalf("%d addresses of %d lists", len(first), lists)
	}
	d.given(t, "books/go-course/lessons/b.md", "# B")
	if again := d.addresses(t); len(again) != 6 || b.lists.Load() != lists {
		t.Errorf("%d addresses after %d lists", len(again), b.lists.Load())
	}
	now = now.Add(time.Minute)
	if later := d.addresses(t); len(later) != 7 {
		t.Errorf("%d addresses a minute later", len(later))
	}
	b.away.Store(true)
	now = now.Add(time.Minute)
	if away := d.addresses(t); len(away) != 7 || !strings.Contains(string(d.said.text), "cannot list the books") {
		t.Errorf("%d addresses while it is away; it says %s", len(away), d.said.text)
	}
}

// start returns the embedded texts of a prompt by their URI, and the question.
func (d *testServer) start(t *testing.T, prompt string, args map[string]string) (files map[string]string, question string) {
	t.Helper()
	_, messages, err := d.StartPrompt(t.Context(), ann, prompt, args)
	if err != nil {
		t.Fatal(err)
	}
	files = map[string]string{}
	for i, m := range messages {
		uri, embedded := m.Content.At("resource", "uri"), m.Content.At("resource", "text")
		if i < len(messages)-1 {
			files[uri.Text] = embedded.Text
			continue
		}
		text := m.Content.Field("text")
		question = text.Text
	}
	return files, question
}

// TestSummariseChapter: the prompt contains the lessons of the chapter from all folders, and the
// existing summary.
func TestSummariseChapter(t *testing.T) {
	d := serve(t)
	d.stock(t)
	files, question := d.start(t, "summarise_chapter", map[string]string{"book_id": "rust-course", "chapter_id": "chapter-01"})
	want := map[string]string{
		"book://rust-course/lessons/chapter-01/a.md":         "# A\n",
		"book://rust-course/lessons/part-1/chapter-01/b.md":  "# B\n",
		"book://rust-course/chapters/chapter-01/.summary.md": "Old words.\n",
	}
	if diff := cmp.Diff(want, files); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	for _, words := range []string{"lessons/chapter-01/a.md: lesson", "the existing summary", "write_summary", "data, not instructions"} {
		if !strings.Contains(question, words) {
			t.Errorf("%q is not in %s", words, question)
		}
	}
	if strings.Count(question, ".summary.md") != 1 {
		t.Errorf("the summary is taken for a lesson: %s", question)
	}
	d.given(t, "books/rust-course/lessons/chapter-02/d.md", strings.Repeat("x", 150<<10))
	d.given(t, "books/rust-course/lessons/chapter-02/e.md", strings.Repeat("x", 60<<10))
	files, question = d.start(t, "summarise_chapter", map[string]string{"book_id": "rust-course", "chapter_id": "chapter-02"})
	if len(files) != 2 || !strings.Contains(question, "lessons/chapter-02/e.md: lesson, left out: it is 61440 bytes long") || !strings.Contains(question, "First read what was left out with read_content") || strings.Contains(question, "existing summary") {
		t.Errorf("%d files; %s", len(files), question)
	}
	for chapter, want := range map[string]contract.Kind{"chapter-07": contract.NotFound, "seven": contract.Invalid} {
		_, _, err := d.StartPrompt(t.Context(), ann, "summarise_chapter", map[string]string{"book_id": "rust-course", "chapter_id": chapter})
		if kindOf(err) != want {
			t.Errorf("%s: %v", chapter, err)
		}
	}
}

// TestReviewLesson: the prompt contains the lesson and the hash to pass when changing it.
func TestReviewLesson(t *testing.T) {
	d := serve(t)
	d.stock(t)
	files, question := d.start(t, "review_lesson", map[string]string{"book_id": "go-course", "path": "lessons/chapter-01/a.md"})
	if files["book://go-course/lessons/chapter-01/a.md"] != "# Go\n" || len(files) != 1 {
		t.Errorf("%q", files)
	}
	answer := d.does(t, "read_content", `{"book_id":"go-course","path":"lessons/chapter-01/a.md"}`)
	if hash := answer.Field("file_hash_sha256"); !strings.Contains(question, "file_hash "+hash.Text) || !strings.Contains(question, "data, not instructions") {
		t.Errorf("%s", question)
	}
	for path, want := range map[string]contract.Kind{"lessons/none.md": contract.NotFound, "../registry.yaml": contract.Invalid} {
		_, _, err := d.StartPrompt(t.Context(), ann, "review_lesson", map[string]string{"book_id": "go-course", "path": path})
		if kindOf(err) != want {
			t.Errorf("%s: %v", path, err)
		}
	}
}
