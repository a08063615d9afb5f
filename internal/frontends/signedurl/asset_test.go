package signedurl_test

import (
	"bufio"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"remit/internal/frontends/signedurl"
)

// TestAssetHeaders checks the headers of each type of asset.
func TestAssetHeaders(t *testing.T) {
	r := serve(t)
	for _, tc := range []struct {
		key, kind, disposition string
		sandboxed              bool
	}{
		{photo, "image/png", "inline", true},
		{drawing, "image/svg+xml", "inline", true},
		{notes, "text/plain; charset=utf-8", "attachment", true},
		{page, "text/html; charset=utf-8", "attachment", true},
		{deck, "application/pdf", "inline", false},
		{film, "application/octet-stream", "attachment", true},
	} {
		for _, method := range []string{http.MethodGet, http.MethodHead} {
			got := r.ask(t, method, signedurl.AssetPath(tc.key), nil)
			want := r.assets[tc.key]
			if method == http.MethodHead {
				want = ""
			}
			if got.StatusCode != http.StatusOK || got.body != want || got.ContentLength != int64(len(r.assets[tc.key])) {
				t.Errorf("%s %s: %d %q of %d", method, tc.key, got.StatusCode, got.body, got.ContentLength)
			}
			for name, want := range map[string]string{
				"Content-Type": tc.kind, "Content-Disposition": tc.disposition, "Cache-Control": "public, no-cache", "Accept-Ranges": "bytes",
				"X-Content-Type-Options": "nosniff", "Access-Control-Allow-Origin": "*", "Last-Modified": "Mon, 24 Nov 2025 12:00:00 GMT",
			} {
				if got.Header.Get(name) != want {
					t.Errorf("%s: %s is %q, want %q", tc.key, name, got.Header.Get(name), want)
				}
			}
			if got := strings.HasPrefix(got.Header.Get("Content-Security-Policy"), "sandbox; default-src 'none'"); got != tc.sandboxed {
				t.Errorf("%s: sandboxed is %t", tc.key, got)
			}
			if etag := got.Header.Get("ETag"); !regexp.MustCompile(`^"[0-9a-f]{32}"$`).MatchString(etag) {
				t.Errorf("%s: the ETag is %s", tc.key, etag)
			}
		}
	}
	r.Close()
	if r.open != 0 {
		t.Errorf("%d assets were left open", r.open)
	}
}

// TestAssetRanges checks ranges and conditional requests.
func TestAssetRanges(t *testing.T) {
	r := serve(t)
	etag := r.ask(t, http.MethodGet, signedurl.AssetPath(photo), nil).Header.Get("ETag")
	for _, tc := range []struct {
		name, header, value string
		status              int
		body                string
	}{
		{"a range", "Range", "bytes=2-4", 206, "234"},
		{"the end", "Range", "bytes=-3", 206, "789"},
		{"beyond the end", "Range", "bytes=10-", 416, ""},
		{"the same", "If-None-Match", etag, 304, ""},
		{"another", "If-None-Match", `"x"`, 200, "0123456789"},
		{"not since", "If-Modified-Since", "Mon, 24 Nov 2025 12:00:00 GMT", 304, ""},
		{"since", "If-Modified-Since", "Mon, 24 Nov 2025 11:59:59 GMT", 200, "0123456789"},
		{"only this", "If-Match", `"x"`, 412, ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got := r.ask(t, http.MethodGet, signedurl.AssetPath(photo), nil, tc.header, tc.value)
			if got.StatusCode != tc.status || tc.body != "" && got.body != tc.body {
				t.Errorf("got %d %q", got.StatusCode, got.body)
			}
		})
	}
	if got := r.ask(t, http.MethodGet, signedurl.AssetPath(photo), nil, "Range", "bytes=0-1", "If-Range", etag); got.body != "01" {
		t.Errorf("got %q", got.body)
	}
	if got := r.ask(t, http.MethodGet, signedurl.AssetPath(photo), nil, "Range", "bytes=0-1", "If-Range", `"x"`); got.body != "0123456789" {
		t.Errorf("got %q", got.body)
	}
	got := r.ask(t, http.MethodGet, signedurl.AssetPath(photo), nil, "Range", "bytes=0-1,5-6")
	if got.StatusCode != http.StatusPartialContent || !strings.HasPrefix(got.Header.Get("Content-Type"), "multipart/byteranges") || !strings.Contains(got.body, "\r\n01\r\n") || !strings.Contains(got.body, "\r\n56\r\n") {
		t.Errorf("got %d %q", got.StatusCode, got.body)
	}
	r.memLibrary.mu.Lock()
	r.assets[photo] = "9876543210"
	r.memLibrary.mu.Unlock()
	if got := r.ask(t, http.MethodGet, signedurl.AssetPath(photo), nil, "If-None-Match", etag); got.StatusCode != http.StatusOK || got.body != "9876543210" {
		t.Errorf("replaced: got %d %q", got.StatusCode, got.body)
	}
}

// maliciousPaths are paths that must not be found.
var maliciousPaths = []string{
	"", "books", "books/ai", "books/ai/assets", "books/ai/assets/", "books/ai/lessons/lesson.md", "books/ai/book.yaml", "registry.yaml", ".history/ai/x",
	"books/ai/assets/../lessons/lesson.md", "books/ai/assets/%2e%2e/lessons/lesson.md", "books/ai/assets/%2E./lessons/lesson.md",
	"books/ai/assets/..%2flessons%2flesson.md", "books%2fai%2fassets%2fimages%2fphoto.png", "books/ai/assets/images%2fphoto.png",
	"books/ai//assets/images/photo.png", "//books/ai/assets/images/photo.png", "/books/ai/assets/images/photo.png", "books/ai/assets/./images/photo.png",
	"books/ai/assets/images/photo.png%00", "books/ai/assets/images/%00photo.png", `books/ai/assets/images\photo.png`, "books/ai/assets/images%5cphoto.png",
	"books/ai/assets/images/.remit-1", "books/ai/assets/images/photo.png/", "books/ai/assets/images/photo.png%2f", "books/ai/assets/images%e2%88%95photo.png",
	"books/ai/assets/images/%70hoto.png", "books/ai/assets/images/photo%20.png", "Books/ai/assets/images/photo.png", "books/ai/assets/" + strings.Repeat("a/", 3000) + "%2e%2e",
}

// TestAssetMaliciousPaths checks that only assets can be read, however the path is spelled. It
// sends raw requests, because a client would normalize the paths.
func TestAssetMaliciousPaths(t *testing.T) {
	r := serve(t)
	for _, path := range maliciousPaths {
		conn, err := net.Dial("tcp", r.Listener.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(conn, "GET /cdn/%s HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n", path)
		response, err := http.ReadResponse(bufio.NewReader(conn), nil)
		if err != nil {
			t.Fatalf("%q: %v", path, err)
		}
		response.Body.Close()
		conn.Close()
		redirected := response.StatusCode == http.StatusTemporaryRedirect || response.StatusCode == http.StatusMovedPermanently
		if response.StatusCode != http.StatusNotFound && response.StatusCode != http.StatusBadRequest && !redirected {
			t.Errorf("%q: %d", path, response.StatusCode)
		}
	}
	r.Close()
	if len(r.asked) > 0 {
		t.Errorf("the library was asked for %q", r.asked)
	}
}

// TestAssetNotFound checks that the error has the shape of the book tools.
func TestAssetNotFound(t *testing.T) {
	r := serve(t)
	got := r.ask(t, http.MethodGet, "/cdn/books/ai/assets/images/absent.png", nil)
	want := `{"error":"ContentNotFoundError","message":"Content not found: books/ai/assets/images/absent.png","path":"books/ai/assets/images/absent.png"}`
	if got.expectError(t, http.StatusNotFound, "ContentNotFoundError"); got.body != want {
		t.Errorf("got %s", got.body)
	}
}

// FuzzAssetPath checks that only valid asset keys reach the library, exactly as they were sent.
func FuzzAssetPath(f *testing.F) {
	for _, path := range append(slices.Clone(maliciousPaths), photo, drawing) {
		f.Add(path)
	}
	clean := regexp.MustCompile(`^books/[A-Za-z0-9_-][A-Za-z0-9_.-]*/assets(/[A-Za-z0-9_-][A-Za-z0-9_.-]*)+$`)
	f.Fuzz(func(t *testing.T, path string) {
		address, err := url.ParseRequestURI("/cdn/" + path)
		if err != nil || len(path) > 10_000 {
			return
		}
		s := &memLibrary{}
		mux := http.NewServeMux()
		(&signedurl.Handler{Library: s, Guard: &guard{}, Signer: &signedurl.Signer{Now: time.Now}}).Register(mux)
		mux.ServeHTTP(httptest.NewRecorder(), &http.Request{Method: http.MethodGet, URL: address, Header: http.Header{}})
		for _, key := range s.asked {
			if !clean.MatchString(key) || key != path && !strings.HasPrefix(path, key+"?") {
				t.Errorf("%q asks for %q", path, key)
			}
		}
	})
}
