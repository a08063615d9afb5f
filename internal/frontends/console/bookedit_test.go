package console_test

import (
	"fmt"
	"net/url"
	"regexp"
	"strings"
	"testing"

	"remit/internal/contract"
	"remit/internal/engine/identity"
	"remit/internal/frontends/cli"
)

var hashField = regexp.MustCompile(`name="hash" value="([^"]*)"`)

// hashOf returns the hash on which the form of a page is based.
func hashOf(t *testing.T, page string) string {
	t.Helper()
	m := hashField.FindStringSubmatch(page)
	if m == nil {
		t.Fatalf("no form in\n%s", page)
	}
	return m[1]
}

const editor = "/console/books/my-book/edit/lessons/a.md"

func (s *stack) lesson() string {
	s.t.Helper()
	answer := s.call("read_content", `{"book_id":"my-book","path":"lessons/a.md"}`)
	content := answer.Field("content")
	return content.Text
}

func TestEditLesson(t *testing.T) {
	s := newStack(t, nil)
	s.writeLesson("lessons/a.md", "# One\n\nText & <b>\n")
	w := s.get("/console/books/my-book/read/lessons/a.md")
	expect(t, w, 200, `href="`+editor+`"`, `aria-current="page">a.md`)
	w = s.get(editor)
	expect(t, w, 200, "\n# One\n\nText &amp; &lt;b&gt;\n</textarea>", "<h2>One</h2>")
	hash := hashOf(t, w.Body.String())
	w = s.post("/console/books/my-book/preview/lessons/a.md", url.Values{"content": {"# Two\r\n\r\n*new* " + nasty}})
	expect(t, w, 200, "<h2>Two</h2>", "<em>new</em>")
	if strings.Contains(w.Body.String(), "<html") {
		t.Error("the preview is a whole page")
	}
	w = s.post(editor, url.Values{"hash": {hash}, "content": {"# Two\r\n\r\nmine\r\n"}})
	expect(t, w, 303)
	if at := w.Header().Get("Location"); at != "/console/books/my-book/read/lessons/a.md" {
		t.Errorf("redirects to %s", at)
	}
	if got := s.lesson(); got != "# Two\n\nmine\n" {
		t.Errorf("stored %q", got)
	}
	// The first text was changed meanwhile: nothing is lost and nothing is overwritten.
	w = s.post(editor, url.Values{"hash": {hash}, "content": {"# Three\n\ntheirs?\n"}})
	expect(t, w, 409, "Somebody else has changed this file", "theirs?\n</textarea>", "<td># Two</td>", " data-fresh")
	if got := s.lesson(); got != "# Two\n\nmine\n" {
		t.Errorf("stored %q", got)
	}
	expect(t, s.post(editor, url.Values{"hash": {hashOf(t, w.Body.String())}, "content": {"# Three\n"}}), 303)
	if got := s.lesson(); got != "# Three\n" {
		t.Errorf("stored %q", got)
	}
	// The hash is not the stored one.
	expect(t, s.post(editor, url.Values{"hash": {"no hash"}, "content": {"x"}}), 409)
	expect(t, s.post(editor, url.Values{"hash": {hashOf(t, s.get(editor).Body.String())}, "content": {strings.Repeat("é", 600_000)}}), 413, "é")
	// A text whose lines all end in CRLF keeps them.
	s.writeLesson("lessons/a.md", "a\r\nb\r\n")
	expect(t, s.post(editor, url.Values{"hash": {hashOf(t, s.get(editor).Body.String())}, "content": {"a\r\nc\r\n"}}), 303)
	if got := s.lesson(); got != "a\r\nc\r\n" {
		t.Errorf("stored %q", got)
	}
}

func TestNewLesson(t *testing.T) {
	s := newStack(t, nil)
	s.writeLesson("lessons/a.md", "# One\n")
	expect(t, s.get("/console/books/my-book"), 200, `action="/console/books/my-book/new"`)
	w := s.get("/console/books/my-book/new?path=lessons/b.md")
	expect(t, w, 303)
	expect(t, s.get(w.Header().Get("Location")), 200, "New file")
	expect(t, s.post("/console/books/my-book/edit/lessons/b.md", url.Values{"hash": {""}, "content": {"# B\n"}}), 303)
	expect(t, s.get("/console/books/my-book/read/lessons/b.md"), 200, "<h1>B</h1>")
	// Somebody was faster.
	expect(t, s.post("/console/books/my-book/edit/lessons/b.md", url.Values{"hash": {""}, "content": {"# Mine\n"}}), 409, "Somebody else has changed", "# Mine")
	for _, path := range []string{"", "../x.md", "/etc/passwd", "assets/images/x.png"} {
		w := s.get("/console/books/my-book/new?path=" + url.QueryEscape(path))
		if w.Code == 303 {
			w = s.get(w.Header().Get("Location"))
		}
		if w.Code < 300 || w.Code >= 500 {
			t.Errorf("%q: status %d", path, w.Code)
		}
	}
	expect(t, s.post("/console/books/my-book/edit/lessons/b%20c.md", url.Values{"content": {"x"}}), 400)
}

func TestRestoreLesson(t *testing.T) {
	s := newStack(t, nil)
	for i := range 3 {
		s.writeLesson("lessons/a.md", fmt.Sprintf("# Version %d\n", i))
	}
	page := s.get("/console/books/my-book/read/lessons/a.md").Body.String()
	versions := regexp.MustCompile(`name="version" value="([^"]*)"`).FindAllStringSubmatch(page, -1)
	if len(versions) != 2 {
		t.Fatalf("%d versions can be restored", len(versions))
	}
	const restore = "/console/books/my-book/restore/lessons/a.md"
	expect(t, s.post(restore, url.Values{"version": {versions[1][1]}, "hash": {strings.Repeat("0", 64)}}), 409, "nothing was restored")
	expect(t, s.post(restore, url.Values{"version": {"none"}, "hash": {hashOf(t, page)}}), 404)
	expect(t, s.post(restore, url.Values{"version": {versions[1][1]}, "hash": {hashOf(t, page)}}), 303)
	if got := s.lesson(); got != "# Version 0\n" {
		t.Errorf("stored %q", got)
	}
	part := s.get("/console/books/my-book/past/lessons/a.md?shown=another")
	expect(t, part, 200, "has changed since the page was loaded", "console:ada", "Restore")
	expect(t, s.get(regexp.MustCompile(`/console/books/my-book/changes/[^"]*`).FindAllString(page, -1)[0]), 200, "Restore this version")
}

// TestLessonRights checks that neither a viewer nor a read-only server changes lessons, and what an
// operator's rule for the tool does.
func TestLessonRights(t *testing.T) {
	s := newStack(t, nil)
	s.writeLesson("lessons/a.md", "# One\n")
	s.role = identity.Viewer
	w := s.get("/console/books/my-book/read/lessons/a.md")
	expectNot(t, w, "/edit/", "/restore/")
	expectNot(t, s.get("/console/books/my-book"), "New lesson")
	for _, path := range []string{"edit", "preview", "restore"} {
		expect(t, s.post("/console/books/my-book/"+path+"/lessons/a.md", url.Values{"content": {"x"}}), 403, "approver")
	}
	expect(t, s.get(editor), 403)
	locked := newStack(t, nil, func(c *cli.Settings) { c.ReadOnly = true })
	if w := locked.post(editor, url.Values{"content": {"x"}}); w.Code != 403 && w.Code != 404 {
		t.Errorf("a read-only server answers %d", w.Code)
	}
	slow := newStack(t, nil)
	slow.writeLesson("lessons/a.md", "# One\n")
	hash := hashOf(t, slow.get(editor).Body.String())
	asks := newStack(t, nil, func(c *cli.Settings) {
		c.Tools = map[string]contract.Tightening{"write_content": {Approval: true}}
		c.Books = []string{"file://" + slow.root + "/.remit/library"}
	})
	expect(t, asks.post(editor, url.Values{"hash": {hash}, "content": {"# Two\n"}}), 202, "This needs a person’s approval", "# Two\n</textarea>")
	expect(t, asks.get("/console/books/my-book/read/lessons/a.md"), 200, "console:ada asks: Write")
	expect(t, asks.get(editor), 200, "asks to change this file")
}
