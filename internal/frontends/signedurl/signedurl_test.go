package signedurl_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"remit/internal/contract"
	"remit/internal/engine"
	"remit/internal/frontends/signedurl"
)

const (
	drawing = "books/ai/assets/images/drawing.svg"
	photo   = "books/ai/assets/images/photo.png"
	notes   = "books/ai/assets/slides/notes.txt"
	page    = "books/ai/assets/slides/page.html"
	deck    = "books/ai/assets/slides/deck.pdf"
	film    = "books/ai/assets/videos/film.mp4"
)

var noon = time.Date(2025, 11, 24, 12, 0, 0, 0, time.UTC)

// anHour is a link of ann for an hour.
var anHour = signedurl.Link{By: "ann@example.com", Credential: "token:t1", Expires: noon.Add(time.Hour)}

// memLibrary is a library in memory.
type memLibrary struct {
	mu       sync.Mutex
	assets   map[string]string // content by key
	types    map[string]string
	asked    []string // keys of requested assets
	open     int
	received map[string]string
	effects  int
	by       string
	err      error // returned by all methods
	archive  func(ctx context.Context, w io.Writer) error
}

type open struct {
	*strings.Reader
	memLibrary *memLibrary
}

func (o open) Close() error {
	o.memLibrary.mu.Lock()
	defer o.memLibrary.mu.Unlock()
	o.memLibrary.open--
	return nil
}

func (s *memLibrary) Asset(_ context.Context, key string) (*signedurl.Asset, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.asked = append(s.asked, key)
	content, found := s.assets[key]
	switch {
	case s.err != nil:
		return nil, s.err
	case !found:
		return nil, contract.Errorf(contract.NotFound, "Content not found: %s", key).With("path", key)
	}
	s.open++
	return &signedurl.Asset{
		ReadSeekCloser: open{strings.NewReader(content), s}, Size: int64(len(content)), Modified: noon,
		MIME: s.types[key], Version: "inode 7, " + content,
	}, nil
}

func (s *memLibrary) Receive(ctx context.Context, u signedurl.Upload, body io.Reader, arrived func(hash string) error) error {
	data, err := io.ReadAll(io.LimitReader(body, u.Size))
	if err != nil {
		return err
	}
	sum := sha256.Sum256(data)
	if err := arrived(hex.EncodeToString(sum[:])); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if err = errors.Join(s.err, ctx.Err()); err != nil {
		return err
	}
	s.received, s.by = map[string]string{u.Key: string(data)}, u.By
	s.effects++
	return nil
}

func (s *memLibrary) Archive(ctx context.Context, bookID string, w io.Writer) error {
	s.mu.Lock()
	err, archive := s.err, s.archive
	s.mu.Unlock()
	if err != nil {
		return err
	}
	if archive != nil {
		return archive(ctx, w)
	}
	_, err = io.WriteString(w, "the zip of "+bookID)
	return err
}

// guard is a Guard whose answers a test sets.
type guard struct {
	mu      sync.Mutex
	check   func(l signedurl.Link, writes bool) error // nil accepts
	spent   map[string]bool
	fail    error // of Spent, Spend
	full    error // of Ready
	lost    error // of Record
	looks   bool  // Spent knows what was spent
	records []engine.LinkUse
}

func (*guard) Reader(*http.Request) string  { return "reader" }
func (*guard) Address(*http.Request) string { return "192.0.2.1" }
func (g *guard) Ready() error               { return g.full }

func (g *guard) Check(_ context.Context, l signedurl.Link, writes bool) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.check == nil {
		return nil
	}
	return g.check(l, writes)
}

func (g *guard) Spent(_ context.Context, l signedurl.Link) (bool, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.looks && g.spent[l.ID], g.fail
}

func (g *guard) Spend(_ context.Context, l signedurl.Link) (bool, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.fail != nil || g.spent[l.ID] {
		return false, g.fail
	}
	g.spent[l.ID] = true
	return true, nil
}

func (g *guard) Context(ctx context.Context, _ *engine.LinkUse) context.Context { return ctx }

func (g *guard) Record(_ context.Context, u *engine.LinkUse) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.records = append(g.records, *u)
	return g.lost
}

// expectRecord checks the last record: the kind of the link, who got it, and the outcome.
func (g *guard) expectRecord(t *testing.T, kind engine.LinkKind, by string, outcome contract.Kind, admitted, effect bool) {
	t.Helper()
	g.mu.Lock()
	defer g.mu.Unlock()
	if len(g.records) == 0 {
		t.Error("nothing was recorded")
		return
	}
	got, was := g.records[len(g.records)-1], contract.Kind("")
	if got.Err != nil {
		was = contract.AsError(got.Err).Kind
	}
	if got.Kind != kind || got.Principal != by || was != outcome || got.Admitted != admitted || got.Effect != effect ||
		got.Address != "192.0.2.1" || got.Path == "" || got.Started != noon {
		t.Errorf("recorded %+v, outcome %q", got, was)
	}
}

// rig is a server with an in-memory library.
type rig struct {
	*memLibrary
	*guard
	*httptest.Server
	handler *signedurl.Handler
	signer  *signedurl.Signer
	now     time.Time
	log     bytes.Buffer
}

func serve(t *testing.T) *rig {
	t.Helper()
	r := &rig{now: noon, guard: &guard{spent: map[string]bool{}, looks: true}, memLibrary: &memLibrary{
		assets: map[string]string{drawing: "<svg/>", photo: "0123456789", notes: "Grüße", page: "<p>", deck: "%PDF", film: "film"},
		types:  map[string]string{drawing: "image/svg+xml", photo: "image/png", notes: "text/plain", page: "text/html", deck: "application/pdf"},
	}}
	r.signer = &signedurl.Signer{Secret: func() ([]byte, error) { return []byte("secret"), nil }, LibraryID: "file:///library", Now: func() time.Time { return r.now }}
	r.handler = &signedurl.Handler{Library: r.memLibrary, Guard: r.guard, Signer: r.signer, Log: slog.New(slog.NewTextHandler(&r.log, nil))}
	mux := http.NewServeMux()
	mux.HandleFunc("/", http.NotFound)
	r.handler.Register(mux)
	r.Server = httptest.NewServer(mux)
	t.Cleanup(r.Close)
	return r
}

// answer is a response.
type answer struct {
	*http.Response
	body string
	err  error // from reading the body
}

// ask sends a request without normalizing its path.
func (r *rig) ask(t *testing.T, method, address string, body io.Reader, headers ...string) answer {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), method, r.URL+address, body)
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i < len(headers); i += 2 {
		request.Header.Set(headers[i], headers[i+1])
	}
	client := &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	response, err := client.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	data, err := io.ReadAll(response.Body)
	client.CloseIdleConnections()
	return answer{response, string(data), err}
}

// expectError checks that a response is an error in the shape of the book tools.
func (a answer) expectError(t *testing.T, status int, name string) {
	t.Helper()
	var said struct{ Error, Message string }
	if err := json.Unmarshal([]byte(a.body), &said); err != nil || a.StatusCode != status || said.Error != name || said.Message == "" {
		t.Errorf("got %d %s, want %d %s", a.StatusCode, a.body, status, name)
	}
	if a.Header.Get("Content-Type") != "application/json" || a.Header.Get("Cache-Control") != "no-store" {
		t.Errorf("an error has headers %v", a.Header)
	}
}

// TestLeads checks which paths belong to this package.
func TestLeads(t *testing.T) {
	for path, want := range map[string]bool{"/cdn/x": true, "/upload/x": true, "/archives/x": true, "/mcp": false, "/cdnx": false, "/": false, "/tools/cdn/": false} {
		if got := signedurl.Matches(&http.Request{URL: &url.URL{Path: path}}); got != want {
			t.Errorf("%s: %t", path, got)
		}
	}
}

// TestMethodNotAllowed checks that other methods get 405 and the allowed ones.
func TestMethodNotAllowed(t *testing.T) {
	r := serve(t)
	for _, tc := range []struct{ method, address, allow string }{
		{http.MethodPost, signedurl.AssetPath(photo), "GET, HEAD"},
		{http.MethodDelete, signedurl.AssetPath(photo), "GET, HEAD"},
		{http.MethodGet, "/upload/" + photo, "PUT"},
		{http.MethodPost, "/upload/" + photo, "PUT"},
		{http.MethodPut, "/archives/ai-2025-11-24.zip", "GET, HEAD"},
	} {
		got := r.ask(t, tc.method, tc.address, nil)
		got.expectError(t, http.StatusMethodNotAllowed, "ValidationError")
		if got.Header.Get("Allow") != tc.allow {
			t.Errorf("%s %s allows %s", tc.method, tc.address, got.Header.Get("Allow"))
		}
	}
}

// TestAdmit checks that Admit limits the requests.
func TestAdmit(t *testing.T) {
	r := serve(t)
	full, left := false, 0
	r.handler.Admit = func() (func(), bool) { return func() { left++ }, !full }
	ask := func() *httptest.ResponseRecorder {
		w := httptest.NewRecorder()
		r.Config.Handler.ServeHTTP(w, httptest.NewRequest(http.MethodGet, signedurl.AssetPath(photo), nil))
		return w
	}
	if got := ask(); got.Code != http.StatusOK || left != 1 {
		t.Errorf("got %d; %d left", got.Code, left)
	}
	full = true
	got := ask()
	if got.Code != http.StatusServiceUnavailable || got.Header().Get("Retry-After") != "1" || left != 1 {
		t.Errorf("got %d %v; %d left", got.Code, got.Header(), left)
	}
}

// TestErrors checks that clients get the message and the log gets the cause.
func TestErrors(t *testing.T) {
	r := serve(t)
	fail := func(err error) {
		r.memLibrary.mu.Lock()
		defer r.memLibrary.mu.Unlock()
		r.err = err
	}
	for _, tc := range []struct {
		err    error
		status int
		name   string
	}{
		{contract.Errorf(contract.Unavailable, "The book storage cannot be used right now").Because(errors.New("/host/path")), 503, "StorageError"},
		{errors.New("/host/path"), 500, "StorageError"},
		{contract.Errorf(contract.Invalid, "The book is archived"), 400, "ValidationError"},
		{contract.Errorf(contract.Denied, "The server only reads"), 403, "ValidationError"},
		{contract.Errorf(contract.Conflict, "Content changed"), 409, "ConflictError"},
	} {
		fail(tc.err)
		upload, _ := r.signer.Upload(signedurl.Upload{Key: film, Size: 4}, anHour)
		archive, _ := r.signer.Archive("ai", anHour)
		for _, got := range []answer{
			r.ask(t, http.MethodGet, signedurl.AssetPath(photo), nil),
			r.ask(t, http.MethodPut, upload, strings.NewReader("film")),
			r.ask(t, http.MethodGet, archive, nil),
		} {
			got.expectError(t, tc.status, tc.name)
			if strings.Contains(got.body, "host") || got.Header.Get("Content-Disposition") != "" {
				t.Errorf("got %s %v", got.body, got.Header)
			}
		}
	}
	r.Close()
	if !strings.Contains(r.log.String(), "/host/path") {
		t.Error("the log does not contain the cause")
	}
}

// queryOf returns the query of a URL.
func queryOf(address string) string {
	_, query, _ := strings.Cut(address, "?")
	return "?" + query
}

// with returns a URL with a parameter changed.
func with(address, name, value string) string {
	path, rawQuery, _ := strings.Cut(address, "?")
	query, _ := url.ParseQuery(rawQuery)
	query.Set(name, value)
	return path + "?" + query.Encode()
}
