package blob

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptrace"
	"net/url"
	"strings"
	"sync/atomic"
	"time"

	"github.com/minio/minio-go/v7/pkg/credentials"
)

// exchange carries data between an operation and the transport below minio-go. An operation sends
// one request, except for a list, which sends one per page.
type exchange struct {
	body    *upload // replaces the body of minio-go, if not nil
	size    int64   // bytes that the store must transfer before it answers
	streams bool    // the caller of the operation reads a large answer
	ifMatch string  // a condition that minio-go does not support

	method   string
	status   int
	date     string // the store's clock
	token    string // the continuation token of a list
	requests int    // not counting retries
	failed   error  // why there is no answer

	doubtful bool      // an attempt may have been carried out, or may still be, without an answer
	expires  time.Time // when the store refuses all attempts, by its clock
}

type exchangeKey struct{}

// in returns a context that passes the exchange to the transport.
func (e *exchange) in(ctx context.Context) context.Context {
	return context.WithValue(ctx, exchangeKey{}, e)
}

const (
	smallBody = 1 << 20   // read immediately
	maxBody   = 16 << 20  // maximum size of an answer, such as a list of a thousand keys
	tries     = 4         // attempts for a request with temporary failures
	minSpeed  = 128 << 10 // minimum speed of a store, in bytes per second
)

// noContent is the SHA-256 of empty content.
const noContent = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"

var errSlow = errors.New("the S3 store did not answer in time")

// roundTripper adapts a function to http.RoundTripper.
type roundTripper func(*http.Request) (*http.Response, error)

// RoundTrip calls the function.
func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// roundTrip sends a request until it is answered, at most four times. All our requests can be
// repeated safely: a write that must not happen twice has a condition.
func (s *S3) roundTrip(r *http.Request) (*http.Response, error) {
	e, ours := r.Context().Value(exchangeKey{}).(*exchange)
	if !ours {
		return nil, errors.New("send S3 request: the context has no exchange")
	}
	e.method, e.requests = r.Method, e.requests+1
	body, err := e.bodyFor(r)
	for n := 0; err == nil; n++ {
		var response *http.Response
		response, err = s.try(r, e, body)
		if err == nil {
			e.status, e.date = response.StatusCode, response.Header.Get("Date")
		}
		if n == tries-1 || r.Context().Err() != nil || err == nil && !isTemporaryStatus(response.StatusCode) {
			e.failed = err
			return response, err
		}
		err = s.pause(r.Context(), n)
	}
	e.failed = err
	return nil, err
}

// bodyFor returns the body of a request in a form that can be sent again. It also detects a list
// that repeats its continuation token.
func (e *exchange) bodyFor(r *http.Request) (*upload, error) {
	if token := r.URL.Query().Get("continuation-token"); token != "" {
		if token == e.token {
			return nil, errors.New("the S3 store repeated a continuation token in a list")
		}
		e.token = token
	}
	if e.body != nil || r.Body == nil {
		return e.body, nil
	}
	content, err := readLimited(r.Body, smallBody)
	if err != nil {
		return nil, err
	}
	return uploadOf(bytes.NewReader(content), int64(len(content)))
}

// pause waits 100 ms, doubled for each attempt up to 400 ms, plus a random part, so that clients
// that failed together do not retry together.
func (s *S3) pause(ctx context.Context, n int) error {
	wait := s.backoff << min(n, 2)
	wait += rand.N(wait / 2) //nolint:gosec // not used for security
	select {
	case <-time.After(wait):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// retry calls do until it does not ask for another attempt because of concurrent changes. It waits
// before each attempt except the first two: the second one usually finds a conflict, which the
// caller should get without delay.
func (s *S3) retry(ctx context.Context, do func(n int) (again bool, err error)) error {
	for n := range maxLooks {
		if n > 1 {
			if err := s.pause(ctx, n-2); err != nil {
				return err
			}
		}
		if again, err := do(n); !again {
			return err
		}
	}
	return errChanging
}

// try sends a request once, and reads the answer if it is small.
func (s *S3) try(r *http.Request, e *exchange, body *upload) (*http.Response, error) {
	outer := r.Context()
	ctx, cancel := context.WithCancelCause(outer)
	timer := time.AfterFunc(s.timeout+time.Duration(e.size)*time.Second/minSpeed, func() { cancel(errSlow) })
	end := func() {
		timer.Stop()
		cancel(nil)
	}
	var sent atomic.Bool
	r = r.Clone(httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{GotConn: func(httptrace.GotConnInfo) { sent.Store(true) }}))
	response, err := s.send(r, e, body)
	if err != nil {
		defer end()
		e.doubtful = e.doubtful || sent.Load()
		return nil, failure(outer, ctx, err)
	}
	s.learnClock(response)
	if e.streams && response.StatusCode < 300 && response.ContentLength > smallBody {
		timer.Stop()
		response.Body = &stream{body: response.Body, timer: timer, timeout: s.timeout, end: end, outer: outer, ctx: ctx}
		return response, nil
	}
	defer end()
	defer func() { _ = response.Body.Close() }() // it was only read
	content, err := readLimited(response.Body, maxBody)
	if err != nil {
		e.doubtful = true
		return nil, failure(outer, ctx, err)
	}
	response.Body = io.NopCloser(bytes.NewReader(content))
	response.StatusCode = statusOf(r.Method, response.StatusCode, content)
	if changes(r) && response.StatusCode == http.StatusForbidden && s.now().After(e.expires) {
		return nil, errLate
	}
	e.doubtful = e.doubtful || isDoubtful(response.StatusCode, content)
	return response, nil
}

// send signs a request and returns the answer. It does not use the signature of minio-go, which
// does not support an endpoint with a path, treats new regions as us-east-1, and does not sign the
// content over TLS.
func (s *S3) send(r *http.Request, e *exchange, body *upload) (*http.Response, error) {
	keys, err := s.getCredentials(r.Context())
	if err != nil {
		return nil, err
	}
	// minio-go puts the bucket first.
	r.URL = s.at.url(strings.TrimPrefix(r.URL.Path, "/"+s.at.bucket), r.URL.RawQuery)
	r.Host = r.URL.Host
	if e.ifMatch != "" {
		r.Header.Set("If-Match", `"`+e.ifMatch+`"`)
	}
	if body != nil {
		body.attach(r)
		// From here on, the content belongs to the caller again.
		defer func() { _ = r.Body.Close() }()
	}
	signed := s.sign(r, keys, e, body)
	if r.ContentLength > smallBody {
		signed.Header.Set("Expect", "100-continue") // so that a refusal does not cost the upload
	}
	return s.base.RoundTrip(signed)
}

// getCredentials returns the credentials, which may have to be fetched. A credentials program
// cannot be stopped, but getCredentials returns when ctx ends.
func (s *S3) getCredentials(ctx context.Context) (credentials.Value, error) {
	type result struct {
		value credentials.Value
		err   error
	}
	answer := make(chan result, 1)
	go func() {
		value, err := s.credentials.GetWithContext(&credentials.CredContext{Client: &http.Client{Timeout: s.timeout}, Context: ctx})
		answer <- result{value, err}
	}()
	select {
	case a := <-answer:
		return a.value, a.err
	case <-ctx.Done():
		return credentials.Value{}, fmt.Errorf("get credentials for the S3 store: %w", ctx.Err())
	}
}

// isDoubtful reports whether an answer leaves open whether the request was carried out: a gateway
// may answer so while the store goes on.
func isDoubtful(status int, content []byte) bool {
	return status >= http.StatusInternalServerError && status != http.StatusNotImplemented &&
		!bytes.Contains(content, []byte("<Code>SlowDown</Code>"))
}

// statusOf returns the status that minio-go should see. A success becomes the only status that
// minio-go accepts as success for the method, and a temporary failure becomes a status that
// minio-go treats as temporary. A copy, or the completion of a multipart upload, can fail after the
// store has begun to answer, so an answer with status 200 may contain an error too.
func statusOf(method string, status int, content []byte) int {
	switch {
	case status >= 300 && bytes.Contains(content, []byte("<Code>RequestTimeout</Code>")):
		return http.StatusRequestTimeout
	case status >= 300 || status == http.StatusPartialContent:
		return status
	case method == http.MethodDelete:
		return http.StatusNoContent
	case (method == http.MethodPut || method == http.MethodPost) && bytes.Contains(content, []byte("<Error>")):
		return http.StatusInternalServerError
	}
	return http.StatusOK
}

// failure returns the reason why there was no answer: the caller has gone, the store was slow, or
// the network failed. It leaves out the URL, which readers of the log know.
func failure(outer, ctx context.Context, err error) error {
	if outer.Err() != nil {
		return outer.Err()
	}
	if cause := context.Cause(ctx); cause != nil {
		return cause
	}
	if nobody := (*credentialsError)(nil); errors.As(err, &nobody) {
		return err
	}
	if wrapped := (*url.Error)(nil); errors.As(err, &wrapped) {
		err = wrapped.Err
	}
	return fmt.Errorf("reach the S3 store: %w", err)
}

func readLimited(r io.Reader, maxSize int64) ([]byte, error) {
	body, err := io.ReadAll(io.LimitReader(r, maxSize+1))
	if err == nil && int64(len(body)) > maxSize {
		return nil, errors.New("the answer of the S3 store is too long")
	}
	return body, err
}

// stream is the body of a large answer. It may take long, but each read has a timeout.
type stream struct {
	body       io.ReadCloser
	timer      *time.Timer // cancels the request
	timeout    time.Duration
	end        func()
	outer, ctx context.Context // of the caller, and of the request
}

// Read waits for the next bytes until the timeout.
func (s *stream) Read(p []byte) (int, error) {
	s.timer.Reset(s.timeout)
	n, err := s.body.Read(p)
	s.timer.Stop()
	if err != nil && !errors.Is(err, io.EOF) {
		err = failure(s.outer, s.ctx, err)
	}
	return n, err
}

// Close releases the connection.
func (s *stream) Close() error {
	s.end()
	return s.body.Close()
}
