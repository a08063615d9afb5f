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
	"time"

	"remit/internal/stores/blob/s3test"
)

// writeLesson replaces the lesson with a long text that contains a number.
func writeLesson(w *httpServer, number int) httpAnswer {
	w.t.Helper()
	return writeLessonOf(w, number, 900_000)
}

// writeLessonOf replaces the lesson with a text of a size that contains a number.
func writeLessonOf(w *httpServer, number, size int) httpAnswer {
	w.t.Helper()
	args := fmt.Sprintf(`{"book_id":"faulty-book","path":"lessons/a.md","content":%s}`, quoted(checksummedText(number, size)))
	return w.post("/tools/write_content", args, nil)
}

// storedNumber returns the number in the stored lesson.
func storedNumber(w *httpServer) int {
	w.t.Helper()
	got := w.post("/tools/read_content", `{"book_id":"faulty-book","path":"lessons/a.md"}`, nil)
	number, err := parseChecksummed(parseBookAnswer(w.t, got.body).Content)
	if err != nil {
		w.t.Errorf("status %d: %v", got.status, err)
	}
	return number
}

// checkStorageError checks that a call failed with a storage error whose message does not contain
// host paths.
func checkStorageError(t *testing.T, s *workspace, got httpAnswer) {
	t.Helper()
	a := parseBookAnswer(t, got.body)
	if got.status != http.StatusServiceUnavailable || a.Error != "StorageError" || a.Message == "" || strings.Contains(string(got.body), s.root) {
		t.Errorf("status %d: %s", got.status, clip(got.body))
	}
}

// TestFullDisk checks that a failed write leaves the lesson unchanged, and that writes succeed
// again once there is space.
func TestFullDisk(t *testing.T) {
	t.Parallel()
	s := newWorkspace(t, nil)
	w := s.serve("--toolsets", "books")
	if got := writeLesson(w, 1); got.status != http.StatusOK {
		t.Fatalf("status %d: %s", got.status, clip(got.body))
	}
	w.end()
	// Limit files to 600 blocks.
	w = s.serveVia([]string{"sh", "-c", `ulimit -f 600; exec "$0" "$@"`}, nil, "--toolsets", "books")
	checkStorageError(t, s, writeLesson(w, 2))
	if got := storedNumber(w); got != 1 {
		t.Errorf("version %d is stored", got)
	}
	if got := w.post("/tools/write_content", `{"book_id":"faulty-book","path":"lessons/b.md","content":"small"}`, nil); got.status != http.StatusOK {
		t.Errorf("status %d: %s", got.status, clip(got.body))
	}
	w.kill()
	w = s.serve("--toolsets", "books")
	if got := writeLesson(w, 3); got.status != http.StatusOK || storedNumber(w) != 3 {
		t.Errorf("status %d: %s", got.status, clip(got.body))
	}
	w.end()
}

// TestLibraryIsNotAFolder checks that writes fail if the library path is a file, and that the file
// does not change.
func TestLibraryIsNotAFolder(t *testing.T) {
	t.Parallel()
	s := newWorkspace(t, map[string]string{".remit/library": "a file"})
	w := s.serve("--toolsets", "books")
	checkStorageError(t, s, writeLesson(w, 1))
	if got := s.read(".remit/library"); got != "a file" {
		t.Errorf("the file contains %q now", got)
	}
	w.kill()
}

// faultyProxy is a proxy in front of a store that can be made to fail.
type faultyProxy struct {
	*httptest.Server
	store http.Handler
	fault atomic.Pointer[http.HandlerFunc] // nil: requests reach the store
	// How far the clock of the store seems to be behind, in nanoseconds.
	behind atomic.Int64
}

func newFaultyProxy(t *testing.T, endpoint string) *faultyProxy {
	t.Helper()
	target, err := url.Parse(endpoint)
	if err != nil {
		t.Fatal(err)
	}
	store := &httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) {
		r.SetURL(target)
		r.Out.Host = r.In.Host // the signature covers the host
	}}
	p := &faultyProxy{store: store}
	store.ModifyResponse = func(r *http.Response) error {
		if behind := p.behind.Load(); behind != 0 {
			r.Header.Set("Date", time.Now().Add(-time.Duration(behind)).UTC().Format(http.TimeFormat))
		}
		return nil
	}
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

// serveFaultyStore starts a server whose books are on S3 behind a proxy, and writes a lesson.
func serveFaultyStore(t *testing.T) (*workspace, *httpServer, *faultyProxy) {
	t.Helper()
	server := s3test.Start(t)
	proxy := newFaultyProxy(t, server.Endpoint)
	s := newWorkspace(t, nil)
	s.useBooks(strings.Replace(server.URL(server.Bucket(t), ""), url.QueryEscape(server.Endpoint), url.QueryEscape(proxy.URL), 1), server.Env())
	w := s.serve("--toolsets", "books")
	if got := writeLesson(w, 1); got.status != http.StatusOK {
		t.Fatalf("status %d: %s", got.status, clip(got.body))
	}
	return s, w, proxy
}

// TestFaultyStore checks a store that answers 500 or 503 or does not answer: calls fail, lessons
// stay complete, and everything works again once the store does.
func TestFaultyStore(t *testing.T) {
	t.Parallel()
	s, w, proxy := serveFaultyStore(t)
	number := 1
	for what, fault := range map[string]http.HandlerFunc{
		"500":   func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusInternalServerError) },
		"503":   func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusServiceUnavailable) },
		"reset": func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) },
	} {
		t.Run(what, func(t *testing.T) {
			proxy.fault.Store(&fault)
			checkStorageError(t, s, writeLesson(w, number+1))
			checkStorageError(t, s, w.post("/tools/read_content", `{"book_id":"faulty-book","path":"lessons/a.md"}`, nil))
			checkStorageError(t, s, w.post("/tools/grep_search", `{"book_id":"faulty-book","pattern":"version"}`, nil))
			proxy.fault.Store(nil)
			if now := storedNumber(w); now != number {
				t.Errorf("version %d is stored, want %d", now, number)
			}
			number++
			if got := writeLesson(w, number); got.status != http.StatusOK || storedNumber(w) != number {
				t.Errorf("status %d: %s", got.status, clip(got.body))
			}
		})
	}
	for _, secret := range []string{s3test.Start(t).Secret, "Signature="} {
		if strings.Contains(w.stderr.String(), secret) {
			t.Errorf("the log contains %s", secret)
		}
	}
	w.kill()
}
