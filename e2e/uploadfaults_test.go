//go:build unix

package e2e

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"strings"
	"sync"
	"testing"
	"time"
)

// uploadLink returns a link for an upload of a video.
func (w *httpServer) uploadLink(name string, size int) string {
	w.t.Helper()
	got := w.post("/tools/upload_asset", fmt.Sprintf(`{"book_id":"faulty-book","asset_type":"videos","filename":%q,"file_size":%d}`, name, size), nil)
	link := parseBookAnswer(w.t, got.body).UploadURL
	if link == "" {
		w.t.Fatalf("status %d: %s", got.status, clip(got.body))
	}
	return link
}

// loggedChanges returns how many changes of a file the history has.
func (s *workspace) loggedChanges(book, path string) int {
	s.t.Helper()
	var changes []json.RawMessage
	if err := json.Unmarshal([]byte(s.mustRun("books", "log", book, path, "--json").out), &changes); err != nil {
		s.t.Fatal(err)
	}
	return len(changes)
}

// startUpload sends the headers of an upload and the beginning of its body.
func (w *httpServer) startUpload(link string, size int, begin []byte) net.Conn {
	w.t.Helper()
	address, err := url.Parse(link)
	w.workspace.check(err)
	conn, err := net.Dial("tcp", address.Host)
	w.workspace.check(err)
	_, err = fmt.Fprintf(conn, "PUT %s HTTP/1.1\r\nHost: %s\r\nContent-Length: %d\r\n\r\n%s", address.RequestURI(), address.Host, size, begin)
	w.workspace.check(err)
	return conn
}

// TestUploadFaults checks that an upload that is cut off, has another size or digest than
// announced, or is being sent when the server is killed changes neither the asset nor its history,
// and leaves nothing that is listed; and that its link still works.
func TestUploadFaults(t *testing.T) {
	t.Parallel()
	onEachLibrary(t, func(t *testing.T, s *workspace) {
		w := s.serve("--toolsets", "books")
		first, second := largeAsset(), largeAsset()
		second[0]++
		if got := fetch(t, http.MethodPut, w.uploadLink("film.mp4", len(first)), nil, first); got.status != http.StatusCreated {
			t.Fatalf("status %d: %s", got.status, clip(got.body))
		}
		unchanged := func(what string) {
			t.Helper()
			got := w.get("/cdn/books/faulty-book/assets/videos/film.mp4", nil)
			if !bytes.Equal(got.body, first) || s.loggedChanges("faulty-book", "assets/videos/film.mp4") != 1 {
				t.Errorf("%s: status %d, %d bytes; the history is\n%s", what, got.status, len(got.body), s.mustRun("books", "log", "faulty-book").out)
			}
			if listed := w.post("/tools/list_assets", `{"book_id":"faulty-book"}`, nil); strings.Count(string(listed.body), "filename") != 1 {
				t.Errorf("%s: the assets are %s", what, clip(listed.body))
			}
		}
		link := w.uploadLink("film.mp4", len(second))
		conn := w.startUpload(link, len(second), second[:len(second)/100])
		w.workspace.check(conn.(*net.TCPConn).CloseWrite())
		if answer, err := io.ReadAll(conn); err != nil || !strings.Contains(string(answer), "ended early and nothing was stored") {
			t.Errorf("%s, error %v", answer, err)
		}
		conn.Close()
		unchanged("cut at 1 %")
		if status := tryRequest(t, http.MethodPut, link, second[1:]); status != 0 && status < 400 {
			t.Errorf("another size: status %d", status)
		}
		unchanged("another size")
		digest := func(content []byte) map[string]string {
			sum := sha256.Sum256(content)
			return map[string]string{"Content-Digest": "sha-256=:" + base64.StdEncoding.EncodeToString(sum[:]) + ":"}
		}
		if got := fetch(t, http.MethodPut, link, digest(first), second); got.status != http.StatusBadRequest || !strings.Contains(string(got.body), "nothing was stored") {
			t.Errorf("another digest: status %d: %s", got.status, clip(got.body))
		}
		unchanged("another digest")
		conn = w.startUpload(link, len(second), second[:len(second)/2])
		defer conn.Close()
		w.kill()
		w = s.serve("--toolsets", "books")
		unchanged("killed")
		here, err := url.Parse(w.url)
		s.check(err)
		moved, err := url.Parse(link) // the new server has another port
		s.check(err)
		moved.Host = here.Host
		if got := fetch(t, http.MethodPut, moved.String(), digest(second), second); got.status != http.StatusCreated {
			t.Errorf("status %d: %s", got.status, clip(got.body))
		}
		if got := s.loggedChanges("faulty-book", "assets/videos/film.mp4"); got != 2 {
			t.Errorf("the history has %d changes", got)
		}
		w.end()
	})
}

// TestLateWrites checks that a write to a bucket whose requests the network holds back is not
// reported as failed, that it changes nothing if the requests arrive after Remit has said that it
// was not made, and that the history has exactly the changes that were made.
func TestLateWrites(t *testing.T) {
	t.Parallel()
	s, w, proxy := serveFaultyStore(t)
	// Nothing seems to expire until the second write is refused, however slow the test is.
	proxy.behind.Store(int64(time.Hour))
	storedNumber(w) // an answer from which the server learns the time
	var mu sync.Mutex
	var late []*http.Request
	hold := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodPut || !strings.Contains(r.URL.Path, "/books/") {
			proxy.store.ServeHTTP(w, r)
			return
		}
		body, _ := io.ReadAll(r.Body)
		held := r.Clone(context.Background())
		held.Body = io.NopCloser(bytes.NewReader(body))
		mu.Lock()
		late = append(late, held)
		mu.Unlock()
		panic(http.ErrAbortHandler)
	})
	// Short, so that the store reads a late request before it refuses it. It may close the
	// connection of a long one while the proxy is sending, and the proxy would answer 502.
	const size = 500
	proxy.fault.Store(&hold)
	got := writeLessonOf(w, 2, size)
	if checkStorageError(t, s, got); !strings.Contains(string(got.body), "It is not known yet whether books/faulty-book/lessons/a.md was changed") {
		t.Errorf("status %d: %s", got.status, clip(got.body))
	}
	proxy.fault.Store(nil)
	got = writeLessonOf(w, 3, size)
	if checkStorageError(t, s, got); !strings.Contains(string(got.body), "An earlier write of books/faulty-book/lessons/a.md may still reach") {
		t.Errorf("status %d: %s", got.status, clip(got.body))
	}
	proxy.behind.Store(0)
	for deadline := time.Now().Add(timeout); s.loggedChanges("faulty-book", "lessons/a.md") != 1; time.Sleep(100 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("the outcome does not become known")
		}
	}
	for _, r := range late {
		answer := httptest.NewRecorder()
		proxy.store.ServeHTTP(answer, r)
		if answer.Code != http.StatusForbidden {
			t.Errorf("a late request was answered with %d", answer.Code)
		}
	}
	if now := storedNumber(w); now != 1 || len(late) == 0 {
		t.Errorf("version %d is stored, %d requests were late", now, len(late))
	}
	if got := writeLessonOf(w, 4, size); got.status != http.StatusOK || storedNumber(w) != 4 || s.loggedChanges("faulty-book", "lessons/a.md") != 2 {
		t.Errorf("status %d: %s", got.status, clip(got.body))
	}
	w.kill()
}

// TestUploadsAtOnceTakeLittleMemory checks that memory does not grow with the size of uploads.
func TestUploadsAtOnceTakeLittleMemory(t *testing.T) {
	if underRace() {
		t.Skip("the race detector takes more memory")
	}
	count, size := 16, 10<<20
	if os.Getenv("REMIT_FULL") == "true" {
		count, size = 32, 50<<20
	}
	onEachLibrary(t, func(t *testing.T, s *workspace) {
		w := s.serve("--toolsets", "books")
		var links []string
		for i := range count {
			links = append(links, w.uploadLink(fmt.Sprintf("film-%d.mp4", i), size))
		}
		block := bytes.Repeat([]byte("film"), 64<<10)
		var uploads sync.WaitGroup
		for i, link := range links {
			uploads.Go(func() {
				body := io.LimitReader(io.MultiReader(strings.NewReader(fmt.Sprint(i)), &repeated{block: block}), int64(size))
				r, err := http.NewRequestWithContext(t.Context(), http.MethodPut, link, body)
				if err != nil {
					t.Error(err)
					return
				}
				r.ContentLength = int64(size)
				if got, err := send(http.DefaultClient, r); err != nil || got.status != http.StatusCreated {
					t.Errorf("status %d: %s, error %v", got.status, clip(got.body), err)
				}
			})
		}
		uploads.Wait()
		peak := w.peakMemory()
		t.Logf("%d uploads of %d MiB: at most %d MB", count, size>>20, peak/1e6)
		if peak > 150e6 {
			t.Errorf("%d uploads of %d MiB took %d MB", count, size>>20, peak/1e6)
		}
		w.end()
	})
}

// repeated is an endless repetition of a block.
type repeated struct {
	block []byte
	at    int
}

func (r *repeated) Read(p []byte) (int, error) {
	n := copy(p, r.block[r.at:])
	r.at = (r.at + n) % len(r.block)
	return n, nil
}
