package blob

import (
	"bytes"
	"errors"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/iotest"
	"time"

	"remit/internal/stores/blob/s3test"
	"remit/internal/toolsets/books"
)

// unsteady is a network that fails at one request.
type unsteady struct {
	to http.Handler
	sync.Mutex
	requests int // received so far
	failing  int // the number of the one that fails; 0 for none
	how      func(w http.ResponseWriter, r *http.Request, to http.Handler)
	behind   atomic.Int64 // how far the clock of the store seems to be behind, in nanoseconds
}

func (u *unsteady) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	u.Lock()
	u.requests++
	fails := u.requests == u.failing
	u.Unlock()
	if fails {
		u.how(w, r, u.to)
		return
	}
	u.to.ServeHTTP(w, r)
}

// fail makes the n-th request from now on fail.
func (u *unsteady) fail(n int) {
	u.Lock()
	defer u.Unlock()
	u.requests, u.failing = 0, n
}

// closeConnection closes a connection without an answer.
func closeConnection(w http.ResponseWriter) {
	conn, _, err := w.(http.Hijacker).Hijack()
	if err == nil {
		conn.Close()
	}
}

// failures lists the ways in which a request can fail.
var failures = map[string]func(w http.ResponseWriter, r *http.Request, to http.Handler){
	"500": func(w http.ResponseWriter, _ *http.Request, _ http.Handler) {
		w.WriteHeader(http.StatusInternalServerError)
	},
	"503": func(w http.ResponseWriter, _ *http.Request, _ http.Handler) {
		w.WriteHeader(http.StatusServiceUnavailable)
		io.WriteString(w, "<Error><Code>SlowDown</Code></Error>")
	},
	"broken before": func(w http.ResponseWriter, _ *http.Request, _ http.Handler) { closeConnection(w) },
	"broken after": func(w http.ResponseWriter, r *http.Request, to http.Handler) {
		to.ServeHTTP(httptest.NewRecorder(), r)
		closeConnection(w)
	},
	"cut body": func(w http.ResponseWriter, r *http.Request, to http.Handler) {
		body, _ := io.ReadAll(r.Body)
		half := r.Clone(r.Context())
		half.Body = http.NoBody
		if len(body) > 0 {
			half.Body = io.NopCloser(io.MultiReader(bytes.NewReader(body[:len(body)/2]), iotest.ErrReader(io.ErrUnexpectedEOF)))
		}
		to.ServeHTTP(httptest.NewRecorder(), half)
		closeConnection(w)
	},
	"500 but it is done": func(w http.ResponseWriter, r *http.Request, to http.Handler) {
		to.ServeHTTP(httptest.NewRecorder(), r)
		w.WriteHeader(http.StatusInternalServerError)
	},
	"broken within": func(w http.ResponseWriter, r *http.Request, to http.Handler) {
		whole := httptest.NewRecorder()
		to.ServeHTTP(whole, r)
		for name, values := range whole.Header() {
			w.Header()[name] = values
		}
		if half := whole.Body.Len() / 2; half > 0 {
			w.WriteHeader(whole.Code)
			w.Write(whole.Body.Bytes()[:half])
			w.(http.Flusher).Flush()
		}
		closeConnection(w)
	},
}

// newUnsteady returns a store behind a network that can fail.
func newUnsteady(t *testing.T) (*S3, *unsteady) {
	t.Helper()
	server := s3test.Start(t)
	to, err := url.Parse(server.Endpoint)
	if err != nil {
		t.Fatal(err)
	}
	u := &unsteady{}
	u.to = &httputil.ReverseProxy{
		Rewrite: func(p *httputil.ProxyRequest) {
			p.SetURL(to)
			p.Out.Host = p.In.Host // part of the signature
		},
		ModifyResponse: func(r *http.Response) error {
			r.Header.Set("Date", time.Now().Add(-time.Duration(u.behind.Load())).UTC().Format(http.TimeFormat))
			return nil
		},
		ErrorLog: log.New(io.Discard, "", 0), // these failures are intended
	}
	front := httptest.NewServer(u)
	t.Cleanup(front.Close)
	s, err := OpenS3(t.Context(), "s3://"+server.Bucket(t)+"/library?endpoint="+front.URL, server.Getenv)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.base.(*http.Transport).CloseIdleConnections)
	s.backoff = time.Millisecond
	s.timeout, s.validity = time.Minute, time.Hour // a busy machine may be slow
	return s, u
}

// withoutFailures returns the same library through a network that does not fail.
func withoutFailures(t *testing.T, s *S3) *S3 {
	t.Helper()
	server := s3test.Start(t)
	other, err := OpenS3(t.Context(), server.URL(s.at.bucket, s.at.prefix), server.Getenv)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(other.base.(*http.Transport).CloseIdleConnections)
	return other
}

// forget makes a store forget that copies of its writes may be on their way: none are.
func forget(s *S3) {
	s.late.Lock()
	defer s.late.Unlock()
	s.late.all = nil
}

// TestS3Retries checks that each operation has its effect once, whichever request fails in whatever
// way.
func TestS3Retries(t *testing.T) {
	large := strings.Repeat("large ", 400<<10)
	for name, how := range failures {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, u := newUnsteady(t)
			u.how = how
			for n := 1; n <= 5; n++ {
				check := func(act string, err error) {
					t.Helper()
					if err != nil {
						t.Errorf("%s, failing at request %d: %v", act, n, err)
					}
				}
				u.fail(n)
				_, created, err := store(t, s, "books/b/x", "one", books.Cond{Absent: true})
				check("create", err)
				u.fail(n)
				_, replaced, err := store(t, s, "books/b/x", large, books.Cond{Hash: sumOf("one")})
				check("replace", err)
				if !created || replaced {
					t.Errorf("failing at request %d: created %v and then %v", n, created, replaced)
				}
				u.fail(n)
				if load(t, s, "books/b/x") != large {
					t.Errorf("failing at request %d: read something else", n)
				}
				u.fail(n)
				check("copy", s.Copy(t.Context(), "books/b/x", ".history/b/"+strconv.Itoa(n), sumOf(large)))
				forget(s)
				u.fail(n)
				existed, err := s.Delete(t.Context(), "books/b/x", books.Cond{Hash: sumOf(large)})
				check("delete", err)
				u.fail(n)
				count := 0
				for _, err := range s.List(t.Context(), "") {
					check("list", err)
					count++
				}
				forget(s)
				if !existed || count != n {
					t.Errorf("failing at request %d: existed %v, and %d are left", n, existed, count)
				}
			}
		})
	}
}

// TestS3LostAnswer checks that a client that lost an answer does not mistake another client's write
// for its own, even if it has the same content.
func TestS3LostAnswer(t *testing.T) {
	s, u := newUnsteady(t)
	mustStore(t, s, "books/b/x", "1")
	other := withoutFailures(t, s)
	u.how = func(w http.ResponseWriter, _ *http.Request, _ http.Handler) {
		if _, _, err := store(t, other, "books/b/x", "2", books.Cond{Hash: sumOf("1")}); err != nil {
			t.Error(err)
		}
		closeConnection(w)
	}
	u.fail(2) // after the check
	if _, _, err := store(t, s, "books/b/x", "2", books.Cond{Hash: sumOf("1")}); !errors.Is(err, books.ErrUnknown) {
		t.Errorf("error %v, want ErrUnknown", err)
	}
	u.how = func(w http.ResponseWriter, _ *http.Request, _ http.Handler) {
		if _, _, err := store(t, other, "books/b/x", "3", books.Cond{Hash: sumOf("2")}); err != nil {
			t.Error(err)
		}
		closeConnection(w)
	}
	u.fail(2)
	if _, err := s.Delete(t.Context(), "books/b/x", books.Cond{Hash: sumOf("2")}); !errors.Is(err, books.ErrUnknown) {
		t.Errorf("error %v, want ErrUnknown", err)
	}
	if got := load(t, s, "books/b/x"); got != "3" {
		t.Errorf("stored: %q", got)
	}
}

// TestS3Changes checks that an object that is replaced between the check and the write is checked
// again.
func TestS3Changes(t *testing.T) {
	s, u := newUnsteady(t)
	mustStore(t, s, "books/b/x", "1")
	other := withoutFailures(t, s)
	next := "2"
	u.how = func(w http.ResponseWriter, r *http.Request, to http.Handler) {
		mustStore(t, other, "books/b/x", next)
		to.ServeHTTP(w, r)
	}
	var conflict *books.ConflictError
	u.fail(2)
	if _, _, err := store(t, s, "books/b/x", "mine", books.Cond{Hash: sumOf("1")}); !errors.As(err, &conflict) || conflict.Actual != sumOf("2") {
		t.Errorf("put: error %v", err)
	}
	next = "3"
	u.fail(2)
	if _, err := s.Delete(t.Context(), "books/b/x", books.Cond{Hash: sumOf("2")}); !errors.As(err, &conflict) || conflict.Actual != sumOf("3") {
		t.Errorf("delete: error %v", err)
	}
	large := strings.Repeat("large ", 400<<10)
	mustStore(t, other, "books/b/x", large)
	next = "4"
	u.fail(4) // the copy, after three requests that describe both objects
	if err := s.Copy(t.Context(), "books/b/x", ".history/b/x", sumOf(large)); !errors.As(err, &conflict) || conflict.Actual != sumOf("4") {
		t.Errorf("copy: error %v", err)
	}
}

// TestS3CrowdedFolder checks that a temporary books.ErrPathConflict of a gateway over a file system
// is not returned to the caller.
func TestS3CrowdedFolder(t *testing.T) {
	s, u := newUnsteady(t)
	u.how = func(w http.ResponseWriter, _ *http.Request, _ http.Handler) {
		w.WriteHeader(http.StatusConflict)
		io.WriteString(w, "<Error><Code>ExistingObjectIsDirectory</Code></Error>")
	}
	u.fail(2) // after the check for objects below it
	if _, created, err := store(t, s, "books/b/x", "1", books.Cond{Absent: true}); !created || err != nil {
		t.Errorf("put: created %v, error %v", created, err)
	}
	u.to = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.Method {
		case http.MethodHead:
			w.WriteHeader(http.StatusNotFound)
		case http.MethodGet:
			io.WriteString(w, "<R/>")
		default:
			u.how(w, r, nil)
		}
	})
	u.fail(0)
	if _, _, err := store(t, s, "books/b/y", "1", books.Cond{}); !errors.Is(err, books.ErrPathConflict) {
		t.Errorf("put where there is never a place: error %v", err)
	}
}

// TestS3Refusals checks that an error says what to fix, and never contains a secret.
func TestS3Refusals(t *testing.T) {
	t.Parallel()
	server := s3test.Start(t)
	bucket := server.Bucket(t)
	open := func(address, key, secret string) *S3 {
		s, err := OpenS3(t.Context(), address, func(name string) (string, bool) {
			return map[string]string{"AWS_ACCESS_KEY_ID": key, "AWS_SECRET_ACCESS_KEY": secret}[name], true
		})
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	for _, c := range []struct {
		name, want string
		s          *S3
	}{
		{"wrong secret", "AWS_SECRET_ACCESS_KEY does not belong to AWS_ACCESS_KEY_ID", open(server.URL(bucket, ""), server.Key, theSecret)},
		{"unknown key", "the store does not recognize AWS_ACCESS_KEY_ID; check it", open(server.URL(bucket, ""), "nobody", theSecret)},
		{"no such bucket", "there is no such bucket", open(server.URL("nowhere", ""), server.Key, server.Secret)},
		{"another region", "the bucket is in another region; ", open("s3://"+bucket+"?region=moon&endpoint="+server.Endpoint, server.Key, server.Secret)},
		{"nobody there", "reach the S3 store", open("s3://"+bucket+"?endpoint=http://127.0.0.1:1", server.Key, server.Secret)},
	} {
		_, openErr := c.s.Open(t.Context(), "books/b/x")
		if c.name == "another region" && !strings.Contains(openErr.Error(), "set region=us-east-1") {
			t.Errorf("error %v", openErr)
		}
		for act, err := range map[string]error{"open": openErr, "probe": c.s.Probe(t.Context())} {
			if err == nil || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), theSecret) || strings.Contains(err.Error(), server.Secret) || strings.Contains(err.Error(), "Signature=") {
				t.Errorf("%s: %s: error %v, want %q", c.name, act, err, c.want)
			}
			if errors.Is(err, books.ErrNotFound) {
				t.Errorf("%s: %s: nothing is found there", c.name, act)
			}
		}
	}
}
