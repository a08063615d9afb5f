package blob

import (
	"bytes"
	"context"
	"crypto/md5"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"remit/internal/toolsets/books"
)

// replying is the answer of a store to a request.
type replying func(*http.Request) (*http.Response, error)

// scripted answers from a list, and records the times of the requests.
type scripted struct {
	answers []replying
	asked   []time.Time
}

func (s *scripted) RoundTrip(r *http.Request) (*http.Response, error) {
	next := s.answers[min(len(s.asked), len(s.answers)-1)]
	s.asked = append(s.asked, time.Now())
	return next(r)
}

// reply is an answer without headers.
type reply struct {
	status int
	body   string
}

func (a reply) give(*http.Request) (*http.Response, error) {
	return &http.Response{StatusCode: a.status, Header: http.Header{}, Body: io.NopCloser(strings.NewReader(a.body))}, nil
}

func hangs(r *http.Request) (*http.Response, error) {
	<-r.Context().Done()
	return nil, r.Context().Err()
}

// never is a body that never arrives.
type never struct{ ctx context.Context }

func (n never) Read([]byte) (int, error) { <-n.ctx.Done(); return 0, n.ctx.Err() }

// described is an answer with a text, and with an ETag that may belong to another object.
type described struct{ tag, text string }

func (d described) give(*http.Request) (*http.Response, error) {
	header := http.Header{
		"Etag": {d.tag}, "Content-Length": {strconv.Itoa(len(d.text))}, "Last-Modified": {"Mon, 02 Jan 2006 15:04:05 GMT"},
		metaHash: {sumOf(d.text)}, metaMD5: {md5Of(d.text)},
	}
	return &http.Response{StatusCode: http.StatusOK, Header: header, ContentLength: int64(len(d.text)), Body: io.NopCloser(strings.NewReader(d.text))}, nil
}

// TestS3Mixed checks that an answer with the ETag of one object and the metadata of another is
// rejected, unless the ETags of the store are never MD5 hashes.
func TestS3Mixed(t *testing.T) {
	for _, c := range []struct {
		name    string
		answers []replying
		hash    string
		asked   int
	}{
		{"of one piece", []replying{described{md5Of("new"), "new"}.give}, sumOf("new"), 1},
		{"mixed", []replying{described{md5Of("new"), "old"}.give, described{md5Of("new"), "new"}.give}, sumOf("new"), 2},
		{"mixed twice", []replying{described{md5Of("new"), "old"}.give, described{md5Of("last"), "new"}.give, described{md5Of("last"), "last"}.give}, sumOf("last"), 3},
		{"encrypted", []replying{described{md5Of("encrypted"), "text"}.give}, sumOf("text"), 2},
		{"in parts", []replying{described{md5Of("x") + "-2", "text"}.give}, sumOf("text"), 1},
	} {
		s := clientOf(t, "http://127.0.0.1:1")
		for act, do := range map[string]func() (books.Object, error){
			"stat": func() (books.Object, error) { return s.Stat(t.Context(), "books/b/x") },
			"open": func() (books.Object, error) {
				body, err := s.Open(t.Context(), "books/b/x")
				if err != nil {
					return books.Object{}, err
				}
				return body.Object, body.Close()
			},
		} {
			script := &scripted{answers: c.answers}
			s.base = script
			if o, err := do(); err != nil || o.Hash != c.hash || len(script.asked) != c.asked {
				t.Errorf("%s: %s: %+v after %d answers, error %v", c.name, act, o, len(script.asked), err)
			}
		}
	}
}

func md5Of(text string) string {
	sum := md5.Sum([]byte(text))
	return hex.EncodeToString(sum[:])
}

// torn is an answer with the metadata of another text, "new".
type torn string

func (text torn) give(*http.Request) (*http.Response, error) {
	header := http.Header{"Etag": {"x"}, "Content-Length": {"3"}, "Last-Modified": {"Mon, 02 Jan 2006 15:04:05 GMT"}, metaHash: {sumOf("new")}}
	return &http.Response{StatusCode: http.StatusOK, Header: header, ContentLength: 3, Body: io.NopCloser(strings.NewReader(string(text)))}, nil
}

// TestS3Torn checks that content that does not match the hash in its metadata is read again.
func TestS3Torn(t *testing.T) {
	s := clientOf(t, "http://127.0.0.1:1")
	s.base = &scripted{answers: []replying{torn("old").give, torn("new").give}}
	if got := load(t, s, "books/b/x"); got != "new" {
		t.Errorf("read %q", got)
	}
	script := &scripted{answers: []replying{torn("bad").give}}
	s.base = script
	if _, err := s.Open(t.Context(), "books/b/x"); !errors.Is(err, errDamaged) || len(script.asked) != 2 {
		t.Errorf("an object that never fits: error %v after %d answers", err, len(script.asked))
	}
}

// TestS3LateError checks that a copy that fails after the store has answered 200 counts as failed,
// and is tried again.
func TestS3LateError(t *testing.T) {
	s := clientOf(t, "http://127.0.0.1:1")
	s.backoff = time.Millisecond
	late := reply{200, "<Error><Code>InternalError</Code></Error>"}.give
	was := &found{Object: books.Object{Key: "books/b/x"}, tag: "x"}
	script := &scripted{answers: []replying{late, reply{200, "<CopyObjectResult><ETag>x</ETag></CopyObjectResult>"}.give}}
	s.base = script
	if err := s.copyLarge(t.Context(), was, "books/b/y"); err != nil || len(script.asked) != 2 {
		t.Errorf("error %v after %d answers", err, len(script.asked))
	}
	s.base = &scripted{answers: []replying{late}}
	if err := s.copyLarge(t.Context(), was, "books/b/y"); !has(err, http.StatusInternalServerError) {
		t.Errorf("error %v", err)
	}
	// The answer of some stores to a removal.
	s.base = &scripted{answers: []replying{reply{200, ""}.give}}
	if err := s.removeObject(t.Context(), "books/b/x", &exchange{}); err != nil {
		t.Errorf("remove: error %v", err)
	}
}

// TestS3Requests checks that a request goes to the host and path of the library URL, whatever
// minio-go would make of it, and that it is signed, including the hash of its content, also over
// TLS.
func TestS3Requests(t *testing.T) {
	for _, c := range []struct{ address, want string }{
		{"s3://bucket/p?endpoint=https://store.example/s3/", "https://store.example/s3/bucket/p/books/b/x"},
		{"s3://bucket/p?endpoint=http://store.example:80&path_style=false", "http://bucket.store.example:80/p/books/b/x"},
		// A region unknown to minio-go.
		{"s3://bucket?region=moon-1", "https://bucket.s3.moon-1.amazonaws.com/books/b/x"},
		{"s3://my.bucket?region=eu-central-1", "https://s3.eu-central-1.amazonaws.com/my.bucket/books/b/x"},
	} {
		s, err := OpenS3(t.Context(), c.address, environment)
		if err != nil {
			t.Fatal(err)
		}
		s.base = roundTripper(func(r *http.Request) (*http.Response, error) {
			signed := r.URL.Query()
			if got, _, _ := strings.Cut(r.URL.String(), "?"); got != c.want || r.Host != r.URL.Host || !strings.Contains(signed.Get("X-Amz-Credential"), "/"+s.at.region+"/s3/aws4_request") {
				t.Errorf("%s: sent to %s (%s), signed %s", c.address, got, r.Host, signed)
			}
			if !strings.Contains(signed.Get("X-Amz-SignedHeaders"), "content-md5;content-type;host;if-none-match") || signed.Get("X-Amz-Expires") != "13" {
				t.Errorf("%s: signed %s of %v", c.address, signed, r.Header)
			}
			return reply{200, ""}.give(r)
		})
		body, err := uploadOf(strings.NewReader("x"), 1)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := s.putWhole(t.Context(), "books/b/x", body, conditionFor(nil), &exchange{}); err != nil {
			t.Error(err)
		}
	}
}

// TestS3ListCancelled checks that a canceled list does not look like a complete one.
func TestS3ListCancelled(t *testing.T) {
	s := clientOf(t, "http://127.0.0.1:1")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	var failed error
	for _, err := range s.List(ctx, "") {
		failed = err
	}
	if !errors.Is(failed, context.Canceled) {
		t.Errorf("error %v", failed)
	}
}

// TestS3EndlessList checks that a list that repeats its continuation token ends.
func TestS3EndlessList(t *testing.T) {
	s := clientOf(t, "http://127.0.0.1:1")
	circle := reply{200, "<R><IsTruncated>true</IsTruncated><NextContinuationToken>2</NextContinuationToken></R>"}
	s.base = &scripted{answers: []replying{circle.give}}
	if err := s.empty(t.Context(), ""); err == nil || !strings.Contains(err.Error(), "repeated a continuation token") {
		t.Errorf("error %v", err)
	}
}

func TestS3Timeout(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name    string
		answer  func(*http.Request) (*http.Response, error)
		asked   int
		least   time.Duration // until the client gives up
		longest time.Duration
		want    string
	}{
		{"always 503", reply{503, ""}.give, 4, 700 * time.Millisecond, 1050 * time.Millisecond, "503"},
		{"hangs", hangs, 4, 40 * time.Second, 42 * time.Second, errSlow.Error()},
		{"hangs within the answer", func(r *http.Request) (*http.Response, error) {
			return &http.Response{StatusCode: http.StatusOK, Header: http.Header{}, Body: io.NopCloser(never{r.Context()})}, nil
		}, 4, 40 * time.Second, 42 * time.Second, errSlow.Error()},
		{"forbidden", reply{403, "<Error><Code>AccessDenied</Code></Error>"}.give, 1, 0, 0, "the credentials lack permission"},
		{"no such bucket", reply{404, "<Error><Code>NoSuchBucket</Code></Error>"}.give, 1, 0, 0, "there is no such bucket"},
		{"endless", func(*http.Request) (*http.Response, error) {
			return &http.Response{StatusCode: http.StatusOK, Header: http.Header{}, Body: io.NopCloser(endless{})}, nil
		}, 4, 0, 2 * time.Second, "too long"},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := clientOf(t, "http://127.0.0.1:1")
				script := &scripted{answers: []replying{c.answer}}
				s.base = script
				start := time.Now()
				err := s.empty(t.Context(), "")
				took := time.Since(start)
				if err == nil || !strings.Contains(err.Error(), c.want) || len(script.asked) != c.asked || took < c.least || took > c.longest {
					t.Errorf("asked %d times in %v: error %v", len(script.asked), took, err)
				}
			})
		})
	}
}

type endless struct{}

func (endless) Read(p []byte) (int, error) { return len(p), nil }

// TestS3Cancelled checks that a canceled call returns immediately.
func TestS3Cancelled(t *testing.T) {
	for name, answer := range map[string]func(*http.Request) (*http.Response, error){"hangs": hangs, "fails": reply{500, ""}.give} {
		synctest.Test(t, func(t *testing.T) {
			s := clientOf(t, "http://127.0.0.1:1")
			s.base = &scripted{answers: []replying{answer}}
			ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
			defer cancel()
			start := time.Now()
			_, err := s.Stat(ctx, "books/b/x")
			if !errors.Is(err, context.DeadlineExceeded) || time.Since(start) != 50*time.Millisecond {
				t.Errorf("%s: error %v after %v", name, err, time.Since(start))
			}
		})
	}
}

// stalling is an answer with the content from an offset on, which then stops.
type stalling struct {
	content   []byte
	from, end int
}

func (a stalling) give(r *http.Request) (*http.Response, error) {
	status, size := http.StatusOK, len(a.content)-a.from
	if a.from > 0 {
		status = http.StatusPartialContent
		if r.Header.Get("Range") != "bytes="+strconv.Itoa(a.from)+"-" || r.Header.Get("If-Match") != `"tag"` {
			return nil, fmt.Errorf("asked for %v", r.Header)
		}
	}
	header := http.Header{"Etag": {`"tag"`}, "Content-Length": {strconv.Itoa(size)}, "Last-Modified": {"Mon, 02 Jan 2006 15:04:05 GMT"}}
	body := io.MultiReader(bytes.NewReader(a.content[a.from:a.end]), never{r.Context()})
	return &http.Response{StatusCode: status, Header: header, ContentLength: int64(size), Body: io.NopCloser(body)}, nil
}

// TestS3Stalls checks that a body that stops is requested again from the same offset.
func TestS3Stalls(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		content := bytes.Repeat([]byte("0123456789"), 200<<10)
		s := clientOf(t, "http://127.0.0.1:1")
		script := &scripted{answers: []replying{
			stalling{content, 0, 1000}.give, reply{503, ""}.give, stalling{content, 1000, 700 << 10}.give, stalling{content, 700 << 10, len(content)}.give,
		}}
		s.base = script
		if got := load(t, s, "books/b/x"); got != string(content) {
			t.Errorf("read %d bytes", len(got))
		}
		if len(script.asked) != 4 {
			t.Errorf("asked %d times", len(script.asked))
		}
	})
}
