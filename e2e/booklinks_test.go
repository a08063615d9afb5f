package e2e

import (
	"archive/zip"
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"net/http"
	"net/url"
	"path"
	"slices"
	"strings"
	"testing"
)

// onePixel is a PNG image.
var onePixel, _ = base64.StdEncoding.DecodeString("iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==")

// bookCaller calls a book tool and returns its answer.
type bookCaller func(tool, args string) []byte

// onServeAndStdio runs a test with "remit serve" and with "remit stdio", on each kind of library.
// The links in answers must work for any client.
func onServeAndStdio(t *testing.T, test func(t *testing.T, call bookCaller)) {
	t.Helper()
	onEachLibrary(t, func(t *testing.T, s *workspace) {
		t.Run("HTTP", func(t *testing.T) {
			w := s.serve("--toolsets", "books")
			test(t, func(tool, args string) []byte { return w.post("/tools/"+tool, args, nil).body })
			w.end()
		})
		t.Run("stdio", func(t *testing.T) {
			r := s.stdio("--toolsets", "books")
			test(t, func(tool, args string) []byte { return []byte(r.call(tool, args).text) })
			r.end()
		})
	})
}

// fetch sends a request to an address with a method, headers and a body.
func fetch(t *testing.T, method, address string, header map[string]string, body []byte) httpAnswer {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, address, bytes.NewReader(body))
	if err == nil {
		for name, value := range header {
			if !strings.EqualFold(name, "Content-Length") { // the client sets it itself
				r.Header.Set(name, value)
			}
		}
	}
	return sendOnce(t, r, err)
}

// TestAssetsAreServed checks that cdn_url serves an uploaded asset, parts of it, and 304 to clients
// that have it already.
func TestAssetsAreServed(t *testing.T) {
	t.Parallel()
	onServeAndStdio(t, func(t *testing.T, call bookCaller) {
		args := fmt.Sprintf(`{"book_id":"linked-book","asset_type":"images","filename":"my picture (1).png","binary_data":%q}`, base64.StdEncoding.EncodeToString(onePixel))
		up := parseBookAnswer(t, call("upload_asset", args))
		if up.Status != "success" || up.MIME != "image/png" || up.Path != "books/linked-book/assets/images/my-picture-1.png" {
			t.Fatalf("%+v", up)
		}
		got := fetch(t, http.MethodGet, up.CDN, nil, nil)
		if got.status != http.StatusOK || !bytes.Equal(got.body, onePixel) || got.header.Get("Content-Type") != "image/png" {
			t.Fatalf("GET %s: status %d, %d bytes of %s", up.CDN, got.status, len(got.body), got.header.Get("Content-Type"))
		}
		tag := got.header.Get("Etag")
		if again := fetch(t, http.MethodGet, up.CDN, map[string]string{"If-None-Match": tag}, nil); again.status != http.StatusNotModified || tag == "" {
			t.Errorf("with If-None-Match %s: status %d", tag, again.status)
		}
		part := fetch(t, http.MethodGet, up.CDN, map[string]string{"Range": "bytes=4-9"}, nil)
		if part.status != http.StatusPartialContent || !bytes.Equal(part.body, onePixel[4:10]) {
			t.Errorf("with Range: status %d, %q", part.status, part.body)
		}
		if head := fetch(t, http.MethodHead, up.CDN, nil, nil); head.status != http.StatusOK || len(head.body) != 0 || head.header.Get("Content-Length") != fmt.Sprint(len(onePixel)) {
			t.Errorf("HEAD: status %d, %v", head.status, head.header)
		}
		for _, trick := range []string{"/../../../registry.yaml", "/%2e%2e/%2e%2e/%2e%2e/registry.yaml", "%00", "/x"} {
			if got := fetch(t, http.MethodGet, up.CDN+trick, nil, nil); got.status < 400 || strings.Contains(string(got.body), "books:") {
				t.Errorf("%s: status %d: %s", trick, got.status, clip(got.body))
			}
		}
		base, _, _ := strings.Cut(up.CDN, "/cdn/")
		for _, other := range []string{"/cdn/registry.yaml", "/cdn/books/linked-book/lessons/a.md", "/cdn/.history/linked-book/", "/cdn/"} {
			if got := fetch(t, http.MethodGet, base+other, nil, nil); got.status < 400 {
				t.Errorf("%s: status %d: %s", other, got.status, clip(got.body))
			}
		}
	})
}

// largeAsset returns content that is large enough for a presigned URL.
func largeAsset() []byte {
	data := make([]byte, 11<<20)
	source := rand.NewChaCha8([32]byte{})
	_, _ = source.Read(data) // never fails
	return data
}

// TestLargeAssetUpload checks that upload_url accepts only the announced asset, of the announced
// size.
func TestLargeAssetUpload(t *testing.T) {
	t.Parallel()
	content := largeAsset()
	onServeAndStdio(t, func(t *testing.T, call bookCaller) {
		book := "book-" + strings.ToLower(path.Base(t.Name())) // each front end has its own book
		up := parseBookAnswer(t, call("upload_asset", fmt.Sprintf(`{"book_id":%q,"asset_type":"videos","filename":"talk.mp4","file_size":%d}`, book, len(content))))
		if up.Status != "presigned_url" {
			t.Fatalf("%+v", up)
		}
		for what, attempt := range map[string]struct {
			address string
			body    []byte
		}{
			"a byte less":          {up.UploadURL, content[1:]},
			"a byte more":          {up.UploadURL, append(content[:len(content):len(content)], 0)},
			"nothing":              {up.UploadURL, nil},
			"another key":          {strings.Replace(up.UploadURL, "talk.mp4", "walk.mp4", 1), content},
			"an altered signature": {tampered(up.UploadURL), content},
			"a later expiry":       {extendExpiry(t, up.UploadURL), content},
		} {
			if status := tryRequest(t, http.MethodPut, attempt.address, attempt.body); status != 0 && status < 400 {
				t.Errorf("%s: status %d", what, status)
			}
			if got := parseBookAnswer(t, call("get_asset", fmt.Sprintf(`{"book_id":%q,"asset_type":"videos","filename":"talk.mp4"}`, book))); got.Error != "ContentNotFoundError" {
				t.Errorf("%s: something was stored: %+v", what, got)
			}
		}
		if status := tryRequest(t, http.MethodPost, up.UploadURL, content); status != 0 && status < 400 {
			t.Errorf("POST: status %d", status)
		}
		if got := fetch(t, http.MethodPut, up.UploadURL, up.Headers, content); got.status >= 300 {
			t.Fatalf("PUT %s: status %d: %s", up.UploadURL, got.status, clip(got.body))
		}
		asset := parseBookAnswer(t, call("get_asset", fmt.Sprintf(`{"book_id":%q,"asset_type":"videos","filename":"talk.mp4"}`, book)))
		if asset.FileSize != int64(len(content)) || asset.By != "local" || asset.CDN != up.CDN {
			t.Errorf("%+v", asset)
		}
		if got := fetch(t, http.MethodGet, asset.CDN, nil, nil); !bytes.Equal(got.body, content) {
			t.Errorf("status %d, %d bytes", got.status, len(got.body))
		}
	})
}

// tryRequest sends a request and returns the status. It returns 0 if the server closes the
// connection, as it may for a large body that it rejects.
func tryRequest(t *testing.T, method, address string, body []byte) int {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, address, bytes.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	r.Close = true
	got, err := send(http.DefaultClient, r)
	if err != nil {
		return 0
	}
	return got.status
}

// tampered changes the last character of the signature in an address.
func tampered(address string) string {
	last := "0"
	if strings.HasSuffix(address, last) {
		last = "1"
	}
	return address[:len(address)-1] + last
}

// extendExpiry returns the address with a later expiry.
func extendExpiry(t *testing.T, address string) string {
	t.Helper()
	u, err := url.Parse(address)
	if err != nil {
		t.Fatal(err)
	}
	values := u.Query()
	if values.Get("expires") == "" {
		t.Fatalf("%s has no expiry", address)
	}
	values.Set("expires", values.Get("expires")+"0")
	u.RawQuery = values.Encode()
	return u.String()
}

// TestArchiveDownload checks that archive_url serves a complete zip file of the book.
func TestArchiveDownload(t *testing.T) {
	t.Parallel()
	onServeAndStdio(t, func(t *testing.T, call bookCaller) {
		want := map[string]string{}
		for i := range 30 {
			name := fmt.Sprintf("lessons/part-%d/chapter-%02d/lesson-%02d.md", i%3, i%7, i)
			want[name] = checksummedText(i, i*3000)
			args, err := json.Marshal(map[string]string{"book_id": "archived-book", "path": name, "content": want[name]})
			if err != nil {
				t.Fatal(err)
			}
			call("write_content", string(args))
		}
		call("write_summary", `{"book_id":"archived-book","chapter_id":"chapter-01","content":"# In short"}`)
		want["chapters/chapter-01/.summary.md"] = "# In short"
		call("upload_asset", fmt.Sprintf(`{"book_id":"archived-book","asset_type":"images","filename":"a.png","binary_data":%q}`, base64.StdEncoding.EncodeToString(onePixel)))
		want["assets/images/a.png"] = string(onePixel)

		made := parseBookAnswer(t, call("get_book_archive", `{"book_id":"archived-book"}`))
		if made.FileCount != len(want) {
			t.Errorf("the answer counts %d files, the book has %d", made.FileCount, len(want))
		}
		got := fetch(t, http.MethodGet, made.Archive, nil, nil)
		if got.status != http.StatusOK || !strings.Contains(got.header.Get("Content-Disposition"), ".zip") {
			t.Fatalf("GET %s: status %d, %v", made.Archive, got.status, got.header)
		}
		checkZip(t, got.body, want)
		for what, address := range map[string]string{
			"an altered signature": tampered(made.Archive),
			"a later expiry":       extendExpiry(t, made.Archive),
			"another book":         strings.Replace(made.Archive, "archived-book", "linked-book", 1),
		} {
			if got := fetch(t, http.MethodGet, address, nil, nil); got.status < 400 {
				t.Errorf("%s: status %d", what, got.status)
			}
		}
	})
}

func checkZip(t *testing.T, data []byte, want map[string]string) {
	t.Helper()
	archive, err := zip.NewReader(bytes.NewReader(data), int64(len(data)))
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]string{}
	for _, file := range archive.File {
		r, err := file.Open()
		if err != nil {
			t.Fatal(err)
		}
		content, err := io.ReadAll(r)
		if err != nil {
			t.Errorf("%s: %v", file.Name, err)
		}
		found[file.Name] = string(content)
	}
	if !maps.Equal(found, want) {
		t.Errorf("the archive has %v, want %v", slices.Sorted(maps.Keys(found)), slices.Sorted(maps.Keys(want)))
	}
}

// TestLinksEndWithProcess checks that links from a stdio server stop working when its process ends.
func TestLinksEndWithProcess(t *testing.T) {
	t.Parallel()
	r := newWorkspace(t, nil).stdio("--toolsets", "books")
	up := parseBookAnswer(t, []byte(r.call("upload_asset", fmt.Sprintf(`{"book_id":"linked-book","asset_type":"images","filename":"a.png","binary_data":%q}`, base64.StdEncoding.EncodeToString(onePixel))).text))
	if got := fetch(t, http.MethodGet, up.CDN, nil, nil); got.status != http.StatusOK {
		t.Fatalf("status %d", got.status)
	}
	r.end()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, up.CDN, nil)
	if err != nil {
		t.Fatal(err)
	}
	if response, err := http.DefaultClient.Do(request); err == nil {
		response.Body.Close()
		t.Errorf("the link still works: %s", response.Status)
	}
}
