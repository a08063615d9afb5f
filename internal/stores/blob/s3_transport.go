package blob

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/minio/minio-go/v7/pkg/credentials"
	"github.com/minio/minio-go/v7/pkg/signer"
)

// exchange is what an operation and the transport under minio-go tell each other. An operation
// has one request, but for a list, which has one a page.
type exchange struct {
	body    *upload // what to send instead of the body that minio-go has; nil for that body
	size    int64   // of what the store has to move before it answers
	streams bool    // a large answer is read by the caller of the operation
	ifMatch string  // a condition for which minio-go has no option

	method   string
	status   int
	date     string // the store's clock
	token    string // of the page of a list
	requests int    // not counting those that were sent again
	doubtful bool   // a try before the one that was answered may have been carried out
	failed   error  // why there is no answer
}

type exchangeKey struct{}

// in makes minio-go hand the exchange to the transport.
func (e *exchange) in(ctx context.Context) context.Context {
	return context.WithValue(ctx, exchangeKey{}, e)
}

const (
	smallBody = 1 << 20   // is read at once
	mostBody  = 16 << 20  // of lists: a thousand keys at a time
	tries     = 4         // of a request that fails for a reason that may pass
	slowest   = 128 << 10 // bytes a second that a store has to manage
)

// noContent is the SHA-256 of nothing.
const noContent = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"

var errSlow = errors.New("the S3 store does not answer in time")

// roundTripper makes a transport of a function.
type roundTripper func(*http.Request) (*http.Response, error)

// RoundTrip calls the function.
func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// roundTrip sends a request until it is answered, at most four times. To repeat any of ours is
// safe: a write that must not happen twice has a condition.
func (s *S3) roundTrip(r *http.Request) (*http.Response, error) {
	e, ours := r.Context().Value(exchangeKey{}).(*exchange)
	if !ours {
		return nil, errors.New("a request to the S3 store without an exchange")
	}
	e.method, e.requests = r.Method, e.requests+1
	body, err := e.bodyFor(r)
	for n := 0; err == nil; n++ {
		var response *http.Response
		response, err = s.try(r, e, body)
		e.doubtful = n > 0
		if err == nil {
			e.status, e.date = response.StatusCode, response.Header.Get("Date")
		}
		if n == tries-1 || r.Context().Err() != nil || err == nil && !passingStatus(response.StatusCode) {
			e.failed = err
			return response, err
		}
		err = s.pause(r.Context(), n)
	}
	e.failed = err
	return nil, err
}

// bodyFor gives what a request sends, in a form that can be sent again. It also ends a list that
// goes in circles.
func (e *exchange) bodyFor(r *http.Request) (*upload, error) {
	if token := r.URL.Query().Get("continuation-token"); token != "" {
		if token == e.token {
			return nil, errors.New("the S3 store says that a list goes on, and not where")
		}
		e.token = token
	}
	if e.body != nil || r.Body == nil {
		return e.body, nil
	}
	content, err := readAtMost(r.Body, smallBody)
	if err != nil {
		return nil, err
	}
	return uploadOf(bytes.NewReader(content), int64(len(content)))
}

// pause waits for 100 ms and twice as long each time, up to 400, and a little more, so
// that those who failed together do not come back together.
func (s *S3) pause(ctx context.Context, n int) error {
	wait := s.breath << min(n, 2)
	wait += rand.N(wait / 2) //nolint:gosec // it guards nothing
	select {
	case <-time.After(wait):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// retry does something until it does not say to do it again, because something has changed
// meanwhile. It waits before, but for the second time: mostly that is a conflict, which
// somebody waits to hear of.
func (s *S3) retry(ctx context.Context, do func(n int) (again bool, err error)) error {
	for n := range looks {
		if n > 1 {
			if err := s.pause(ctx, n-2); err != nil {
				return err
			}
		}
		if again, err := do(n); !again {
			return err
		}
	}
	return errRestless
}

// try sends a request once, and reads the answer if it is small.
func (s *S3) try(r *http.Request, e *exchange, body *upload) (*http.Response, error) {
	outer := r.Context()
	ctx, cancel := context.WithCancelCause(outer)
	timer := time.AfterFunc(s.patience+time.Duration(e.size)*time.Second/slowest, func() { cancel(errSlow) })
	end := func() {
		timer.Stop()
		cancel(nil)
	}
	response, err := s.send(r.Clone(ctx), e, body)
	if err != nil {
		defer end()
		return nil, failure(outer, ctx, err)
	}
	if e.streams && response.StatusCode < 300 && response.ContentLength > smallBody {
		timer.Stop()
		response.Body = &stream{body: response.Body, timer: timer, patience: s.patience, end: end, outer: outer, ctx: ctx}
		return response, nil
	}
	defer end()
	defer func() { _ = response.Body.Close() }() // it was only read
	content, err := readAtMost(response.Body, mostBody)
	if err != nil {
		return nil, failure(outer, ctx, err)
	}
	response.Body = io.NopCloser(bytes.NewReader(content))
	response.StatusCode = statusOf(r.Method, response.StatusCode, content)
	return response, nil
}

// send signs a request and gives what the store answers. The signature is ours, not that of
// minio-go, which knows no endpoint with a path, takes regions that are new for us-east-1, and
// signs no content over TLS.
func (s *S3) send(r *http.Request, e *exchange, body *upload) (*http.Response, error) {
	who, err := s.who(r.Context())
	if err != nil {
		return nil, err
	}
	r.URL = s.at.url(strings.TrimPrefix(r.URL.Path, "/"+s.at.bucket), r.URL.RawQuery) // minio-go puts the bucket first
	r.Host = r.URL.Host
	if e.ifMatch != "" {
		r.Header.Set("If-Match", `"`+e.ifMatch+`"`)
	}
	hash := noContent
	if body != nil {
		hash = body.hash
		body.attach(r)
		defer func() { _ = r.Body.Close() }() // what is sent belongs to the caller again
	}
	r.Header.Set("X-Amz-Content-Sha256", hash)
	signed := signer.SignV4(*r, who.AccessKeyID, who.SecretAccessKey, who.SessionToken, s.at.region)
	if r.ContentLength > smallBody {
		signed.Header.Set("Expect", "100-continue") // a "no" should not cost the upload
	}
	return s.base.RoundTrip(signed)
}

// who gives the credentials, which may have to be fetched. A program that tells them cannot be
// stopped, but nobody has to wait for it.
func (s *S3) who(ctx context.Context) (credentials.Value, error) {
	type told struct {
		value credentials.Value
		err   error
	}
	answer := make(chan told, 1)
	go func() {
		value, err := s.credentials.GetWithContext(&credentials.CredContext{Client: &http.Client{Timeout: s.patience}, Context: ctx})
		answer <- told{value, err}
	}()
	select {
	case a := <-answer:
		return a.value, a.err
	case <-ctx.Done():
		return credentials.Value{}, fmt.Errorf("get credentials for the S3 store: %w", ctx.Err())
	}
}

// statusOf gives minio-go the one status that it takes for success, and a failure that may pass
// the status that says so. A copy and the end of an upload in parts can fail after the store has
// begun to answer, so an error may also stand in an answer that says 200.
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

// failure is why no answer came: whoever asked has gone, the store was slow, or the
// network failed. The address is left out: whoever reads the log knows it.
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

func readAtMost(r io.Reader, most int64) ([]byte, error) {
	body, err := io.ReadAll(io.LimitReader(r, most+1))
	if err == nil && int64(len(body)) > most {
		return nil, errors.New("the answer of the S3 store is too long")
	}
	return body, err
}

// stream is the body of an answer that may take its time, but not stand still.
type stream struct {
	body       io.ReadCloser
	timer      *time.Timer // stops the request
	patience   time.Duration
	end        func()
	outer, ctx context.Context // of who asked, and of the request
}

// Read waits for the next bytes, not for longer than our patience.
func (s *stream) Read(p []byte) (int, error) {
	s.timer.Reset(s.patience)
	n, err := s.body.Read(p)
	s.timer.Stop()
	if err != nil && !errors.Is(err, io.EOF) {
		err = failure(s.outer, s.ctx, err)
	}
	return n, err
}

// Close gives the connection back.
func (s *stream) Close() error {
	s.end()
	return s.body.Close()
}
