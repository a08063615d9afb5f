package console_test

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"remit/internal/contract"
	"remit/internal/toolsets/books"
)

func (s *stack) writeLesson(path, text string) {
	s.t.Helper()
	sent, err := json.Marshal(map[string]string{"book_id": "my-book", "path": path, "content": text})
	if err != nil {
		s.t.Fatal(err)
	}
	s.call("write_content", string(sent))
}

func bookStack(t *testing.T) *stack {
	t.Helper()
	s := newStack(t, nil)
	s.writeLesson("lessons/part-1/chapter-01/lesson-01.md", "---\ntitle: \"First <b>\"\ntags:\n  - a\nlevel: "+nasty+"\n---\n# One\n\n[next](lesson-02.md#In-code) [out](../../../../x.md) ![p](../../../assets/images/p.png \"t\") ![q](q.png)\n\n```go\nfunc x() {}\n```\n\n"+nasty+"\n")
	s.writeLesson("lessons/part-1/chapter-01/lesson-02.md", "# Two\n")
	s.writeLesson("lessons/part-2/chapter-02/lesson-01.md", "# Three\n")
	s.call("write_summary", `{"book_id":"my-book","chapter_id":"chapter-01","content":"# Summary\n\nWhat it *says*.\n"}`)
	s.call("upload_asset", `{"book_id":"my-book","asset_type":"images","filename":"p.png","binary_data":"iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAIAAACQd1PeAAAADElEQVR4nGP4z8AAAAMBAQDJ/pLvAAAAAElFTkSuQmCC"}`)
	return s
}

func TestBookPages(t *testing.T) {
	s := bookStack(t)
	expect(t, s.get("/console/books"), 200, `<a href="/console/books/my-book">My Book</a>`)
	expect(t, s.get("/console/books/my-book"), 200, "part-1", "chapter-02",
		`href="/console/books/my-book/read/lessons/part-1/chapter-01/lesson-02.md"`,
		`href="/console/books/my-book/read/chapters/chapter-01/.summary.md"`)
	expect(t, s.get("/console/books/my-book?show=assets"), 200, `href="/console/books/my-book/asset/assets/images/p.png"`,
		"image/png", "agent")
	expect(t, s.get("/console/books/my-book?show=history"), 200, "lesson-02.md", "agent", "write")
	w := s.get("/console/books/my-book/read/lessons/part-1/chapter-01/lesson-01.md")
	expect(t, w, 200, "<h1>First &lt;b&gt;</h1>", `<h2 id="h-one">One</h2>`,
		`href="/console/books/my-book/read/lessons/part-1/chapter-01/lesson-02.md#h-in-code"`,
		`<img src="/console/books/my-book/asset/assets/images/p.png" alt="p" title="t" loading="lazy">`, `<span class="hl-k">func</span>`,
		"<dt>tags</dt>", "Next", `lesson-02.md"`, "History of this file")
	expectNot(t, w, "x.md", "q.png", "Previous")
	expect(t, s.get("/console/books/my-book/read/lessons/part-1/chapter-01/lesson-02.md"), 200, "Previous", "Next")
	expect(t, s.get("/console/books/my-book/read/chapters/chapter-01/.summary.md"), 200, "<h1>Summary</h1>", "<em>says</em>")
}

// TestLongLessons checks that a page shows a bounded part of a long text, and that its pages
// together show all of it.
func TestLongLessons(t *testing.T) {
	s := newStack(t, nil)
	var text strings.Builder
	for i := range 20_000 {
		fmt.Fprintf(&text, "Number %d.\n\n```\n---\n\n```\n\n", i)
	}
	s.writeLesson("lessons/long.md", "---\ntitle: Long\n---\n# Long\n\n---\n"+text.String())
	s.writeLesson("lessons/line.md", strings.Repeat("é word ", 60_000))
	s.writeLesson("lessons/data.txt", strings.Repeat("x", 300_000))
	s.writeLesson("lessons/empty.md", "# Empty\n")
	const maxBytes = 1 << 20
	seen := 0
	for page := 1; page <= 3; page++ {
		w := s.get(fmt.Sprintf("/console/books/my-book/read/lessons/long.md?page=%d", page))
		expect(t, w, 200, "<h1>Long</h1>", "shown in 3 parts", fmt.Sprintf("%d of 3", page))
		seen += strings.Count(w.Body.String(), "<p>Number ")
		if w.Body.Len() > maxBytes || strings.Count(w.Body.String(), "<hr>") != max(0, 2-page) {
			t.Errorf("page %d: %d bytes", page, w.Body.Len())
		}
	}
	if seen != 20_000 {
		t.Errorf("%d paragraphs on all pages", seen)
	}
	expect(t, s.get("/console/books/my-book/read/lessons/line.md?page=2"), 200, "2 of 2", "Previous")
	expect(t, s.get("/console/books/my-book/read/lessons/data.txt"), 200, "1 of 2", "Next", "xxx … and ")
	w := s.get("/console/books/my-book/read/lessons/empty.md")
	expect(t, w, 200, "<h1>Empty</h1>", "Nothing to read")
	expectNot(t, w, "shown in")
}

// TestVersions checks that the history links to the diff of each change.
func TestVersions(t *testing.T) {
	s := newStack(t, nil)
	s.writeLesson("lessons/a.md", "one\n")
	s.writeLesson("lessons/a.md", "two\n")
	s.Change = func(ctx context.Context, book, path, version string) (before, after string, c books.Change, err error) {
		found, err := s.History(ctx, book, path, 0)
		i := slices.IndexFunc(found, func(c books.Change) bool { return c.Version == version })
		if err != nil || i < 0 {
			return "", "", c, cmp.Or(err, error(contract.Errorf(contract.NotFound, "There is no version %s", version)))
		}
		return "one\n", nasty + "\n", found[i], nil
	}
	page := s.get("/console/books/my-book/read/lessons/a.md").Body.String()
	links := regexp.MustCompile(`"(/console/books/my-book/changes/[^"]*/lessons/a.md)"`).FindAllStringSubmatch(page, -1)
	if len(links) != 2 {
		t.Fatalf("%d links in\n%s", len(links), page)
	}
	if got := s.kept.named("console/book_history"); len(got) != 1 || got[0].Principal != "console:ada" || got[0].Outcome != "ok" {
		t.Errorf("audit records %+v", got)
	}
	expect(t, s.get(links[0][1]), 200, "+1</strong>", "−1</strong>", "&lt;script&gt;", "<td>one</td>",
		"remit books restore my-book lessons/a.md --version ")
	expect(t, s.get("/console/books/my-book/changes/x%3Cb%3E/lessons/a.md"), 404, "There is no version x&lt;b&gt;", `href="/console/books"`)
	if got := s.kept.named("console/book_change"); len(got) != 2 || got[0].Principal != "console:ada" || got[0].Outcome != "ok" || got[1].Outcome != "not_found" {
		t.Errorf("audit records %+v", got)
	}
}

func TestNoBooks(t *testing.T) {
	s := newStack(t, nil)
	expect(t, s.get("/console/books"), 200, "No books yet", "remit books import")
}

func TestInvalidBookPaths(t *testing.T) {
	s := bookStack(t)
	for path, status := range map[string]int{
		"no-such-book": 404, "No%20Book": 400, "my-book/read/lessons/none.md": 404, "my-book/read/lessons%2f..%2f..%2fregistry.yaml": 0, "my-book/read/%2fetc%2fpasswd": 0,
		"my-book/read/a%00b": 400, "my-book/read/..%5cx": 400, "my-book/read/": 400, "my-book/read/lessons": 404, "my-book/read/%3Cscript%3E.md": 400,
	} {
		w := s.get("/console/books/" + path)
		checkHarmless(t, w.Body.String())
		if w.Code != status && (status != 0 || w.Code == 200 || w.Code >= 500) {
			t.Errorf("%s: status %d, want %d", path, w.Code, status)
		}
	}
}

func TestAssets(t *testing.T) {
	s := bookStack(t)
	kinds := map[string]string{"p.png": "image/png", "x.svg": "image/svg+xml", "x.html": "text/html", "x.pdf": "application/pdf", "x.mp4": "video/mp4", "ä.js": "text/javascript"}
	s.Asset = func(ctx context.Context, key string) (*books.Asset, error) {
		if ends, _ := ctx.Deadline(); time.Until(ends) < 4*time.Minute {
			t.Error("the deadline is too short for a large asset")
		}
		kind := kinds[strings.TrimPrefix(key, books.Key("my-book", "assets/images/"))]
		if kind == "" {
			return nil, contract.Errorf(contract.NotFound, "Content not found: %s", key)
		}
		content := struct {
			io.ReadSeeker
			io.Closer
		}{strings.NewReader("<svg onload=x>"), io.NopCloser(nil)}
		return &books.Asset{Body: &books.Body{ReadSeekCloser: content, Object: books.Object{Size: 14}}, MIME: kind}, nil
	}
	for name, kind := range kinds {
		w := s.get("/console/books/my-book/asset/assets/images/" + name)
		if w.Code != 200 || w.Body.String() != "<svg onload=x>" {
			t.Fatalf("%s: %d %s", name, w.Code, w.Body)
		}
		h := w.Header()
		if h.Get("X-Content-Type-Options") != "nosniff" || !strings.Contains(h.Get("Content-Security-Policy"), "; sandbox;") || strings.Contains(h.Get("Content-Security-Policy"), "script-src 'self'") {
			t.Errorf("%s: %v", name, h)
		}
		shown := strings.HasPrefix(kind, "image/") || strings.HasPrefix(kind, "video/")
		if got := h.Get("Content-Type") == kind && h.Get("Content-Disposition") == ""; got != shown {
			t.Errorf("%s: %v", name, h)
		}
	}
	for path, status := range map[string]int{
		"assets/images/none.png": 404, "%2e%2e%2fother%2fp.png": 0, "..%2fx": 0, "assets%2f..%2f..%2fx": 0, "%2fetc%2fpasswd": 0, "a%00b": 400, "a%5cb": 400, "": 400, "assets/": 400,
	} {
		w := s.get("/console/books/my-book/asset/" + path)
		if w.Code != status && (status != 0 || w.Code == 200 || w.Code >= 500) {
			t.Errorf("%q: status %d, want %d", path, w.Code, status)
		}
	}
	outcomes := map[string]int{}
	for _, r := range s.kept.named("console/book_asset") {
		outcomes[r.Outcome]++
	}
	if outcomes["ok"] != len(kinds) || outcomes["not_found"] == 0 || outcomes["invalid"] == 0 {
		t.Errorf("audit records %v", outcomes)
	}
}
