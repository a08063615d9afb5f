package blob

import (
	"crypto/md5"
	"encoding/hex"
	"io"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
)

// fake is a store in memory that supports PUT, HEAD and DELETE, and can be configured to ignore or
// refuse headers.
type fake struct {
	sync.Mutex
	objects map[string]fakeObject
	ignores map[string]bool // headers
	refuses map[string]int  // the status for a header
}

type fakeObject struct {
	tag    string
	size   string
	header http.Header
}

func (f *fake) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	f.Lock()
	defer f.Unlock()
	body, err := io.ReadAll(r.Body)
	if err != nil {
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	was, there := f.objects[r.URL.Path]
	for header, status := range f.refuses {
		if r.Header.Get(header) != "" {
			w.WriteHeader(status)
			return
		}
	}
	match := r.Header.Get("If-Match")
	if match != "" && !f.ignores["If-Match"] && match != was.tag || r.Header.Get("If-None-Match") != "" && !f.ignores["If-None-Match"] && there {
		w.WriteHeader(http.StatusPreconditionFailed)
		return
	}
	switch r.Method {
	case http.MethodPut:
		sum := md5.Sum(body)
		was = fakeObject{`"` + hex.EncodeToString(sum[:]) + `"`, r.Header.Get("Content-Length"), http.Header{}}
		for _, name := range []string{metaHash, metaMD5, metaWrite} {
			if !f.ignores[name] {
				was.header.Set(name, r.Header.Get(name))
			}
		}
		f.objects[r.URL.Path] = was
	case http.MethodDelete:
		delete(f.objects, r.URL.Path)
		w.WriteHeader(http.StatusNoContent)
		return
	case http.MethodHead:
		if !there {
			w.WriteHeader(http.StatusNotFound)
			return
		}
		for name := range was.header {
			w.Header().Set(name, was.header.Get(name))
		}
		w.Header().Set("Content-Length", was.size)
		w.Header().Set("Last-Modified", "Mon, 02 Jan 2006 15:04:05 GMT")
	}
	w.Header().Set("ETag", was.tag)
}

// serveFake returns a client of a store that handler implements.
func serveFake(t *testing.T, handler http.Handler) *S3 {
	t.Helper()
	server := httptest.NewServer(handler)
	t.Cleanup(server.Close)
	return clientOf(t, server.URL)
}

// clientOf returns a client of a bucket at an endpoint.
func clientOf(t *testing.T, endpoint string) *S3 {
	t.Helper()
	s, err := OpenS3(t.Context(), "s3://bucket/library?endpoint="+endpoint, environment)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.base.(*http.Transport).CloseIdleConnections)
	return s
}

const theSecret = "hardly-a-secret"

func environment(name string) (string, bool) {
	value, ok := map[string]string{"AWS_ACCESS_KEY_ID": "someone", "AWS_SECRET_ACCESS_KEY": theSecret}[name]
	return value, ok
}
