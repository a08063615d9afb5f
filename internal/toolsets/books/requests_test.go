package books_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"remit/internal/stores/blob"
	"remit/internal/stores/blob/s3test"
)

// counted is a proxy to a bucket that counts requests.
type counted struct {
	mu    sync.Mutex
	asked []string
}

// take returns the number of requests by kind since the last call.
func (c *counted) take() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	kinds := map[string]int{}
	for _, kind := range c.asked {
		kinds[kind]++
	}
	c.asked = nil
	var counts []string
	for _, kind := range []string{"HEAD", "GET", "LIST", "PUT", "COPY", "DELETE"} {
		if kinds[kind] > 0 {
			counts = append(counts, fmt.Sprint(kinds[kind], " ", kind))
		}
	}
	return strings.Join(counts, ", ")
}

func requestKind(r *http.Request) string {
	switch {
	case r.URL.Query().Has("list-type"):
		return "LIST"
	case r.Header.Get("X-Amz-Copy-Source") != "":
		return "COPY"
	default:
		return r.Method
	}
}

// onCountedS3 returns a server whose books are in a bucket behind the proxy.
func onCountedS3(t *testing.T) (*testServer, *counted) {
	t.Helper()
	server := s3test.Start(t)
	target, err := url.Parse(server.Endpoint)
	if err != nil {
		t.Fatal(err)
	}
	c := &counted{}
	proxy := httptest.NewServer(&httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) {
		c.mu.Lock()
		c.asked = append(c.asked, requestKind(r.In))
		c.mu.Unlock()
		r.SetURL(target)
		r.Out.Host = r.In.Host // the signature covers the host
	}})
	t.Cleanup(proxy.Close)
	bucket := server.Bucket(t)
	counted := s3test.Server{Endpoint: proxy.URL, Region: server.Region, Key: server.Key, Secret: server.Secret}
	d := serve(t)
	if d.stores.Main, err = blob.OpenS3(t.Context(), counted.URL(bucket, "shelf"), server.Getenv); err != nil {
		t.Fatal(err)
	}
	return d, c
}

// TestRequestsToABucket checks the number of requests, since each costs time and money.
func TestRequestsToABucket(t *testing.T) {
	t.Parallel()
	d, c := onCountedS3(t)
	later := time.Now().Add(time.Hour) // so that all writes count as old and reads are cached
	d.library.Now = func() time.Time { return later }
	const lesson = `{"book_id":"abc","path":"lessons/a.md"`
	for i, step := range []struct{ tool, args, want string }{
		// Including the registration of the book.
		{"write_content", lesson + `,"content":"one"}`, "4 HEAD, 1 GET, 2 LIST, 3 PUT"},
		{"write_content", `{"book_id":"abc","path":"lessons/b.md","content":"one"}`, "3 HEAD, 1 GET, 1 LIST, 2 PUT"},
		{"write_content", lesson + `,"content":"one"}`, "2 HEAD"},
		{"write_content", lesson + `,"content":"two"}`, "4 HEAD, 1 GET, 3 PUT"},
		{"write_content", lesson + `,"content":"six","file_hash":"` + hash("one") + `"}`, "2 HEAD"},
		{"read_content", lesson + `}`, "1 GET"},
		{"glob_search", `{"book_id":"abc","pattern":"**"}`, "1 LIST"},
		{"grep_search", `{"book_id":"abc","pattern":"o"}`, "2 GET, 1 LIST"},
		{"grep_search", `{"book_id":"abc","pattern":"o"}`, "1 LIST"},
		{"write_content", lesson + `,"content":"ten"}`, "4 HEAD, 1 GET, 3 PUT"},
		{"grep_search", `{"book_id":"abc","pattern":"o"}`, "1 GET, 1 LIST"},
		{"list_books", `{}`, "1 HEAD"},
		{"upload_asset", `{"book_id":"abc","asset_type":"images","filename":"a.png","binary_data":"AAEC"}`, "4 HEAD, 1 LIST, 2 PUT"},
		{"upload_asset", `{"book_id":"abc","asset_type":"images","filename":"b.png","file_size":10485760}`, "2 HEAD"},
		{"get_asset", `{"book_id":"abc","asset_type":"images","filename":"a.png"}`, "1 HEAD, 1 GET, 1 LIST"},
		{"list_assets", `{"book_id":"abc"}`, "2 LIST"},
		{"delete_content", lesson + `}`, "4 HEAD, 1 GET, 2 PUT, 1 DELETE"},
		{"delete_content", lesson + `}`, "2 HEAD"},
		{"read_content", lesson + `}`, "1 GET, 1 LIST"},
		{"get_book_archive", `{"book_id":"abc"}`, "1 LIST"},
	} {
		answer := d.call(t, step.tool, step.args)
		if got := c.take(); got != step.want {
			t.Errorf("%d: %s %s costs %s, want %s; it gives %s", i, step.tool, step.args, got, step.want, text(answer))
		}
	}
}
