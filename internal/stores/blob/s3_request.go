package blob

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/url"
	"time"
)

// call is one request to the store, to be sent as often as it takes. To repeat any of
// ours is safe: a write that must not happen twice has a condition.
type call struct {
	method string
	key    string // empty for the bucket
	query  url.Values
	header map[string]string
	body   *upload // what to send; nil for nothing
	size   int64   // of what the store has to move before it answers
	// streams: an answer that is not small is read by whoever asked.
	streams bool
}

// answer is what the store said.
type answer struct {
	status int
	header http.Header
	body   []byte
	rest   *stream // instead of body, if that is not small
	// doubtful: a try before the one that was answered may have been carried out.
	doubtful bool
}

const (
	smallBody = 1 << 20   // is read at once
	mostBody  = 16 << 20  // of lists: a thousand keys at a time
	mostError = 64 << 10  // of what is read of an error
	tries     = 4         // of a request that fails for a reason that may pass
	slowest   = 128 << 10 // bytes a second that a store has to manage
)

// noContent is the SHA-256 of nothing.
const noContent = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"

var errSlow = errors.New("the S3 store does not answer in time")

// do sends a request until it is answered, at most four times. The answer tells whether
// there was doubt also if there is an error.
func (s *S3) do(ctx context.Context, c call) (*answer, error) {
	for n := 0; ; n++ {
		a, err := s.try(ctx, c)
		a.doubtful = n > 0
		if err == nil || n == tries-1 || ctx.Err() != nil || !passing(err) {
			return a, err
		}
		if err := s.pause(ctx, n); err != nil {
			return a, err
		}
	}
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

// lookAgain waits before another look at what has changed, but for the first: mostly that is
// a conflict, which somebody waits to hear of.
func (s *S3) lookAgain(ctx context.Context, n int) error {
	if n == 0 {
		return nil
	}
	return s.pause(ctx, n-1)
}

// try sends a request once. It never gives a nil answer.
func (s *S3) try(ctx context.Context, c call) (*answer, error) {
	outer := ctx
	ctx, cancel := context.WithCancelCause(ctx)
	limit := s.patience + time.Duration(c.size)*time.Second/slowest
	timer := time.AfterFunc(limit, func() { cancel(errSlow) })
	end := func() {
		timer.Stop()
		cancel(nil)
	}
	a := &answer{}
	response, err := s.send(ctx, c)
	if err != nil {
		defer end()
		return a, failure(outer, ctx, err)
	}
	a.status, a.header = response.StatusCode, response.Header
	if c.streams && response.StatusCode < 300 && response.ContentLength > smallBody {
		timer.Stop()
		a.rest = &stream{body: response.Body, timer: timer, patience: s.patience, end: end, outer: outer, ctx: ctx}
		return a, nil
	}
	defer end()
	defer func() { _ = response.Body.Close() }() // it was only read
	if a.body, err = readAtMost(response.Body, mostBody); err != nil {
		return a, failure(outer, ctx, err)
	}
	return a, refusalIn(c, a)
}

// send signs a request and gives what the store answers.
func (s *S3) send(ctx context.Context, c call) (*http.Response, error) {
	request := (&http.Request{
		Method: c.method,
		URL:    s.at.url(c.key, c.query),
		Host:   s.at.host,
		Header: http.Header{},
	}).WithContext(ctx)
	for name, value := range c.header {
		request.Header.Set(name, value)
	}
	hash := noContent
	if c.body != nil {
		hash = c.body.hash
		c.body.attach(request)
	}
	request.Header.Set("X-Amz-Content-Sha256", hash)
	if err := s.signer.SignHTTP(ctx, s.credentials, request, hash, "s3", s.at.region, s.now()); err != nil {
		return nil, fmt.Errorf("sign a request: %w", err)
	}
	if request.ContentLength > smallBody {
		request.Header.Set("Expect", "100-continue") // a "no" should not cost the upload
	}
	response, err := s.client.Do(request)
	if request.Body != nil {
		_ = request.Body.Close() // what is sent belongs to the caller again
	}
	return response, err
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
	var wrapped *url.Error
	if errors.As(err, &wrapped) {
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
