//go:build unix

package e2e

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"

	"remit/internal/stores/blob/s3test"
)

// newContent is a lesson that differs from the one before.
func newContent(w *web, number int) httpAnswer {
	w.t.Helper()
	args := fmt.Sprintf(`{"book_id":"faulty-book","path":"lessons/a.md","content":%s}`, quoted(wholeText(number, 900_000)))
	return w.post("/tools/write_content", args, nil)
}

// contentNow is the number of the lesson that is there.
func contentNow(w *web) int {
	w.t.Helper()
	got := w.post("/tools/read_content", `{"book_id":"faulty-book","path":"lessons/a.md"}`, nil)
	number, err := numberOf(asBook(w.t, got.body).Content)
	if err != nil {
		w.t.Errorf("status %d: %v", got.status, err)
	}
	return number
}

// storageFailed checks that a call was refused for the sake of the store, in words
// that tell nothing of the machine.
func storageFailed(t *testing.T, s *space, got httpAnswer) {
	t.Helper()
	a := asBook(t, got.body)
	if got.status != http.StatusServiceUnavailable || a.Error != "StorageError" || a.Message == "" || strings.Contains(string(got.body), s.root) {
		t.Errorf("status %d: %s", got.status, clip(got.body))
	}
}

// A disk that takes no more: the lesson stays as it was, and what comes later is
// written once there is room.
func TestFullDisk(t *testing.T) {
	t.Parallel()
	s := newSpace(t, nil)
	w := s.serve("--toolsets", "books")
	if got := newContent(w, 1); got.status != http.StatusOK {
		t.Fatalf("status %d: %s", got.status, clip(got.body))
	}
	w.end()
	w = s.serveVia([]string{"sh", "-c", `ulimit -f 600; exec "$0" "$@"`}, nil, "--toolsets", "books") // no file may have more than 600 blocks
	storageFailed(t, s, newContent(w, 2))
	if got := contentNow(w); got != 1 {
		t.Errorf("version %d is there", got)
	}
	if got := w.post("/tools/write_content", `{"book_id":"faulty-book","path":"lessons/b.md","content":"small"}`, nil); got.status != http.StatusOK {
		t.Errorf("status %d: %s", got.status, clip(got.body))
	}
	w.kill()
	w = s.serve("--toolsets", "books")
	if got := newContent(w, 3); got.status != http.StatusOK || contentNow(w) != 3 {
		t.Errorf("status %d: %s", got.status, clip(got.body))
	}
	w.end()
}

// A library where nothing can be written: reads say what is there, writes that it
// cannot be done.
func TestLibraryThatIsNoFolder(t *testing.T) {
	t.Parallel()
	s := newSpace(t, map[string]string{".remit/library": "a file"})
	w := s.serve("--toolsets", "books")
	storageFailed(t, s, newContent(w, 1))
	if got := s.read(".remit/library"); got != "a file" {
		t.Errorf("it is %q now", got)
	}
	w.kill()
}

// faultyProxy stands before a store and breaks it when told.
type faultyProxy struct {
	*httptest.Server
	fault atomic.Pointer[http.HandlerFunc] // nil: the store answers
}

func newFaultyProxy(t *testing.T, endpoint string) *faultyProxy {
	t.Helper()
	target, err := url.Parse(endpoint)
	if err != nil {
		t.Fatal(err)
	}
	store := &httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) {
		r.SetURL(target)
		r.Out.Host = r.In.Host // it is signed
	}}
	p := &faultyProxy{}
	p.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if fault := p.fault.Load(); fault != nil {
			(*fault)(w, r)
			return
		}
		store.ServeHTTP(w, r)
	}))
	t.Cleanup(p.Close)
	return p
}

// A store that answers 500, 503 or nothing: calls fail, lessons stay whole, and all
// goes on when the store does.
func TestFaultyStore(t *testing.T) {
	t.Parallel()
	server := s3test.Start(t)
	proxy := newFaultyProxy(t, server.Endpoint)
	s := newSpace(t, nil)
	s.useBooks(strings.Replace(server.URL(server.Bucket(t), ""), url.QueryEscape(server.Endpoint), url.QueryEscape(proxy.URL), 1), server.Env())
	w := s.serve("--toolsets", "books")
	if got := newContent(w, 1); got.status != http.StatusOK {
		t.Fatalf("status %d: %s", got.status, clip(got.body))
	}
	number := 1
	for what, fault := range map[string]http.HandlerFunc{
		"500":   func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusInternalServerError) },
		"503":   func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusServiceUnavailable) },
		"reset": func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) },
	} {
		t.Run(what, func(t *testing.T) {
			proxy.fault.Store(&fault)
			storageFailed(t, s, newContent(w, number+1))
			storageFailed(t, s, w.post("/tools/read_content", `{"book_id":"faulty-book","path":"lessons/a.md"}`, nil))
			storageFailed(t, s, w.post("/tools/grep_search", `{"book_id":"faulty-book","pattern":"version"}`, nil))
			proxy.fault.Store(nil)
			if now := contentNow(w); now != number {
				t.Errorf("version %d is there, want %d", now, number)
			}
			number++
			if got := newContent(w, number); got.status != http.StatusOK || contentNow(w) != number {
				t.Errorf("status %d: %s", got.status, clip(got.body))
			}
		})
	}
	for _, secret := range []string{server.Secret, "Signature="} {
		if strings.Contains(w.stderr.String(), secret) {
			t.Errorf("the log holds %s", secret)
		}
	}
	w.kill()
}
