package console_test

import (
	"context"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"remit/internal/app"
	"remit/internal/contract"
	"remit/internal/contract/jsontree"
	"remit/internal/engine"
	"remit/internal/engine/approval"
	"remit/internal/engine/audit"
	"remit/internal/engine/identity"
	"remit/internal/engine/ratelimit"
	"remit/internal/frontends/cli"
	"remit/internal/frontends/console"
)

// nasty is stored text that tries to run, open or disguise something.
const nasty = `"><img src=x onerror=alert(1)><script>alert(1)</script> [a](javascript:alert(1)) ` + "\u202egnp.exe"

// stack is a console in front of a real workspace.
type stack struct {
	t    *testing.T
	app  *app.App
	root string
	role identity.Role
	mux  *http.ServeMux
	kept *records
	*console.Console
}

// records collects the audit records that the console itself writes.
type records struct {
	mu  sync.Mutex
	all []audit.Record
}

func (r *records) Ready(time.Time) error { return nil }

func (r *records) Write(_ context.Context, one *audit.Record, _ bool) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.all = append(r.all, *one)
	return nil
}

// named returns the records of an action.
func (r *records) named(what string) []audit.Record {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.DeleteFunc(slices.Clone(r.all), func(one audit.Record) bool { return one.Tool != what })
}

// newStack opens a workspace with the given files.
func newStack(t *testing.T, files map[string]string, changes ...func(*cli.Settings)) *stack {
	t.Helper()
	root := t.TempDir()
	for name, text := range files {
		file := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	data := filepath.Join(root, ".remit")
	settings := cli.Settings{
		Root: root, Data: data, Config: filepath.Join(root, "remit.yaml"), Database: "sqlite://" + filepath.Join(data, "remit.db"),
		Books: []string{"file://" + filepath.Join(data, "library")}, Toolsets: []string{"booster", "tasks", "books", "context"}, Approve: approval.Ask,
		CodeMemory: 1 << 20, Embeddings: "local", Addr: "127.0.0.1:8722", Keys: root + "-keys",
	}
	for _, change := range changes {
		change(&settings)
	}
	a, err := app.Open(t.Context(), settings, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := a.Close(); err != nil {
			t.Error(err)
		}
	})
	s := &stack{t: t, app: a, root: root, role: identity.Admin, mux: http.NewServeMux(), kept: &records{}}
	s.Console = &console.Console{
		Root: root, Base: func() string { return "http://127.0.0.1:8722" }, Engine: a.Engine(), Pages: a.Engine(), Own: a.OwnEngine(), Approvals: a.Approvals, People: s, Limiter: ratelimit.NewMemory(), Audit: s.kept,
		Now: func() time.Time { return time.Date(2026, 8, 1, 12, 0, 0, 0, time.UTC) }, Log: slog.New(slog.DiscardHandler),
		History:        a.Library().History,
		Change:         a.Library().ChangeTexts,
		Address:        func(r *http.Request) string { return r.RemoteAddr },
		TokensRequired: func() bool { return false }, Identity: func() string { return "" },
		Settings:  func() []console.Setting { return nil },
		ToolRules: func() []console.ToolRule { return nil }, Desk: &approval.Desk{Open: a.Approvals, Now: time.Now},
		Asset: a.Library().Asset,
	}
	s.Register(s.mux)
	return s
}

func (s *stack) Peek(string) (identity.Person, error) {
	return identity.Person{}, contract.Errorf(contract.Denied, "No")
}

func (s *stack) Redeem(context.Context, string) (string, identity.Person, time.Time, error) {
	return "", identity.Person{}, time.Time{}, contract.Errorf(contract.Denied, "No")
}

func (s *stack) Person(context.Context, string) (identity.Person, error) {
	return identity.Person{Name: "ada", Role: s.role}, nil
}

func (s *stack) PersonWithoutTouch(ctx context.Context, cookie string) (identity.Person, error) {
	return s.Person(ctx, cookie)
}

func (s *stack) People(context.Context) ([]identity.Session, error) { return nil, nil }

func (s *stack) SignOut(context.Context, string) (int, error) { return 0, nil }

func (s *stack) End(context.Context, string) error { return nil }

func (s *stack) EndSession(context.Context, string) (identity.Session, error) {
	return identity.Session{}, nil
}

func (s *stack) Link(identity.Person, time.Duration) (string, error) { return "", nil }

// call calls a tool as an agent.
func (s *stack) call(tool, args string) jsontree.Value {
	s.t.Helper()
	tree, err := jsontree.Parse([]byte(args))
	if err != nil {
		s.t.Fatal(err)
	}
	result, err := s.app.Engine().Call(s.t.Context(), engine.Call{Tool: tool, Args: tree, Principal: "agent", Frontend: "test"})
	if err != nil || result.Err != nil {
		s.t.Fatal(tool, err, result.Err)
	}
	answer, err := jsontree.Parse(result.Structured)
	if err != nil {
		s.t.Fatal(err)
	}
	return answer
}

// get requests a page as the browser of a signed-in person.
func (s *stack) get(target string) *httptest.ResponseRecorder {
	return s.send(httptest.NewRequest(http.MethodGet, target, nil))
}

func (s *stack) post(target string, form url.Values) *httptest.ResponseRecorder {
	r := httptest.NewRequest(http.MethodPost, target, strings.NewReader(form.Encode()))
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	r.Header.Set("Sec-Fetch-Site", "same-origin")
	return s.send(r)
}

func (s *stack) send(r *http.Request) *httptest.ResponseRecorder {
	r.Header.Set("Accept", "text/html")
	r.AddCookie(&http.Cookie{Name: s.CookieName(), Value: "somebody"})
	w := httptest.NewRecorder()
	s.mux.ServeHTTP(w, r)
	return w
}

// expect checks the status of a page and that it contains texts.
func expect(t *testing.T, w *httptest.ResponseRecorder, status int, texts ...string) {
	t.Helper()
	if w.Code != status {
		t.Fatalf("status %d, want %d: %s", w.Code, status, w.Body)
	}
	checkHarmless(t, w.Body.String())
	for _, text := range texts {
		if !strings.Contains(w.Body.String(), text) {
			t.Errorf("no %q in\n%s", text, w.Body)
		}
	}
}

// expectNot checks that a page does not contain texts.
func expectNot(t *testing.T, w *httptest.ResponseRecorder, texts ...string) {
	t.Helper()
	for _, text := range texts {
		if strings.Contains(w.Body.String(), text) {
			t.Errorf("%q is in\n%s", text, w.Body)
		}
	}
}

var (
	harmful = regexp.MustCompile(`(?i)<script>|<img src=x|href="?javascript:|<[a-z][^>"]*("[^"]*"[^>"]*)* on[a-z]+=|\x{202e}| style=`)
	typed   = regexp.MustCompile(` value="[^"]*"`) // form fields keep their text unchanged
)

// checkHarmless checks that no stored text became markup of the page.
func checkHarmless(t *testing.T, page string) {
	t.Helper()
	page = typed.ReplaceAllString(page, "")
	if at := harmful.FindStringIndex(page); at != nil {
		t.Errorf("markup got through: %s", page[max(0, at[0]-80):min(len(page), at[1]+80)])
	}
}

func TestFilePages(t *testing.T) {
	long := strings.Repeat("x = 1  # y\n", 2500)
	s := newStack(t, map[string]string{
		"src/main.go":      "package main\n\n/* over\nlines */\nfunc main() { println(\"<b>\") }\n",
		"src/long.py":      long,
		"README.md":        "# The garden\n\n[code](src/main.go) [out](../x.md) ![p](p.png)\n\n" + nasty + "\n",
		"docs/<b>&\"x.txt": nasty + "\n",
		".env":             "SECRET=1\n",
		"logo.bin":         "\x00\x01",
		"empty.txt":        "",
		"line.txt":         strings.Repeat("é", 500_000) + "\nshort\n",
		"long.md":          strings.Repeat("Words.\n\n", 50_000),
		"latin.txt":        "caf\xe9\n",
		"front.md":         "---\ntitle: x\n---\n" + strings.Repeat("Words.\n\n", 256<<10/8) + "---\nnot front matter\n---\n",
	})
	expect(t, s.get("/console/files/src/main.go?line=3"), 200,
		`<span class="line hit" id="L3"><a class="no" href="?line=3#L3">3</a><span><span class="hl-c">/* over</span></span>`,
		`<span class="hl-c">lines */</span>`, `<span class="hl-s">&quot;&lt;b&gt;&quot;</span>`)
	expect(t, s.get("/console/files/src/long.py?line=1500"), 200, `id="L1001"`, `id="L2000"`, "lines 1001 to 2000 of 2500",
		"line=1&amp;view=source", "line=2001")
	expectNot(t, s.get("/console/files/src/long.py"), `id="L1001"`, "Previous")
	page := s.get("/console/files/README.md")
	expect(t, page, 200, `<h2 id="h-the-garden">The garden</h2>`, `href="/console/files/src/main.go"`, "view=source")
	expectNot(t, page, "../x.md", "p.png")
	expect(t, s.get("/console/files/README.md?view=source"), 200, `<span class="hl-k"># The garden</span>`, "view=read")
	expect(t, s.get("/console/files/docs/%3Cb%3E&%22x.txt"), 200, "&lt;script&gt;alert(1)")
	expect(t, s.get("/console/files/latin.txt"), 200, "café", "iso-8859-1, 1 line")
	expect(t, s.get("/console/files/empty.txt"), 200, "Nothing to show", "0 lines")
	w := s.get("/console/files/line.txt")
	expect(t, w, 200, "é … and 995000 more bytes</span>", `id="L2"`, "short")
	if more := w.Body.Len() - s.get("/console/files/empty.txt").Body.Len(); more > 10_000 {
		t.Errorf("a long line adds %d bytes to a page", more)
	}
	expect(t, s.get("/console/files/long.md?page=2"), 200, "shown in 2 parts", "2 of 2", "view=source")
	expectNot(t, s.get("/console/files/long.md?page=2"), "page=2&amp;view=source")
	expectNot(t, s.get("/console/files/front.md"), "title: x")
	expect(t, s.get("/console/files/front.md?page=2"), 200, "not front matter")
	w = s.get("/console/files/no%E2%80%AEgnp.exe")
	expect(t, w, 404, `no\u202egnp.exe`, `href="/console/search">Go to search`)
	if w := s.get("/console/files/" + strings.Repeat("a", 5000)); w.Body.Len() > 18_000 {
		t.Errorf("a long name makes a page of %d bytes", w.Body.Len())
	}
	for name, target := range map[string]string{"out": "/etc/passwd", "etc": "/etc", "env.txt": ".env"} {
		if err := os.Symlink(target, filepath.Join(s.root, name)); err != nil {
			t.Fatal(err)
		}
	}
	for path, status := range map[string]int{
		"out": 403, "etc/passwd": 403, "env.txt": 403, ".remit/remit.db": 403, ".git/config": 403, "remit.yaml": 403, "..%2f..%2fetc%2fpasswd": 403,
		".env": 403, "no/such.go": 404, "src": 400, "logo.bin": 400, "%2fetc%2fpasswd": 403, "a%00b": 403, "..%5c..%5cx": 403, "": 400,
	} {
		if got := s.get("/console/files/" + path).Code; got != status {
			t.Errorf("%s: status %d, want %d", path, got, status)
		}
	}
}

func TestUnservedPages(t *testing.T) {
	s := newStack(t, nil, func(c *cli.Settings) { c.Toolsets = []string{"conformance"} })
	for _, path := range []string{"tasks", "books", "memory", "search/project?q=abc"} {
		expect(t, s.get("/console/"+path), 200, "remit serve --toolsets")
	}
	for _, path := range []string{"books/abc", "books/abc/read/x.md", "files/x.go"} {
		expect(t, s.get("/console/"+path), 404)
	}
	expect(t, s.get("/console/books/abc/asset/assets/images/x.png"), 404, "No assets are served here")
}

// TestNoDatabase checks that pages without a need for the database work without it, and that the
// others say to try again.
func TestNoDatabase(t *testing.T) {
	s := newStack(t, map[string]string{"a.md": "hello world\n"}, func(c *cli.Settings) { c.Database = "postgres://nobody@127.0.0.1:1/none" })
	expect(t, s.get("/console/tasks"), 503, "not available; try again")
	expect(t, s.get("/console/memory"), 503, "Memory cannot be read right now; try again")
	expect(t, s.get("/console/books"), 200, "No books yet")
	expect(t, s.get("/console/search/project?q=hello"), 200, `href="/console/files/a.md"`, "cannot be used right now; try again")
	expect(t, s.get("/console/files/a.md"), 200, "hello world")
}

// TestContentPagesRequireSession checks that the content pages require a session.
func TestContentPagesRequireSession(t *testing.T) {
	s := newStack(t, map[string]string{"a.txt": "secret words\n"})
	s.role = identity.NoRole
	for _, path := range []string{"tasks", "books", "books/abc", "books/abc/read/x.md", "books/abc/asset/x.png", "search?q=abc", "files/a.txt", "memory"} {
		if w := s.get("/console/" + path); w.Code != 401 || strings.Contains(w.Body.String(), "secret words") {
			t.Errorf("%s: status %d", path, w.Code)
		}
	}
}
