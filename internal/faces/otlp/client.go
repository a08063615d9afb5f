package otlp

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"remit/internal/contract/jsontree"
	"remit/internal/engine/telemetry"
)

// client sends the batches of one signal.
type client struct {
	settings
	http  *http.Client
	agent string
	now   func() time.Time
}

// idleTime is how long a connection is kept that nobody uses.
const idleTime = 90 * time.Second

// longestAnswer is what is read of an answer; they are a few bytes.
const longestAnswer = 64 << 10

// send writes a request with fill, and sends it once.
func (c *client) send(ctx context.Context, fill func(sheet)) error {
	var s sheet = &protobuf{}
	if c.protocol == overJSON {
		s = newJSON()
	}
	fill(s)
	ctx, cancel := context.WithTimeout(ctx, c.timeout)
	defer cancel()
	var err error
	if c.protocol == overGRPC {
		err = c.callGRPC(ctx, s.bytes())
	} else {
		err = c.post(ctx, s.bytes())
	}
	if err != nil {
		return c.explain(err)
	}
	return nil
}

// explain says where it failed, and nothing that lets anybody in: not the address, which may
// hold a password, nor a header that the other side repeats.
func (c *client) explain(err error) error {
	var rejected *telemetry.RejectedError
	if errors.As(err, &rejected) {
		rejected.Why = c.veil(rejected.Why)
		return rejected
	}
	var network *url.Error
	var again *telemetry.RetryError
	switch {
	case errors.As(err, &again):
		return &telemetry.RetryError{After: again.After, Err: fmt.Errorf("%s: %s", c.url.Host, c.veil(again.Err.Error()))}
	case errors.As(err, &network): // no answer at all: the next try may have one
		return &telemetry.RetryError{Err: fmt.Errorf("%s: %s", c.url.Host, c.veil(network.Err.Error()))}
	default:
		return fmt.Errorf("%s: %s", c.url.Host, c.veil(err.Error()))
	}
}

func (c *client) veil(text string) string {
	for _, values := range c.headers {
		if values[0] != "" {
			text = strings.ReplaceAll(text, values[0], "***")
		}
	}
	return text
}

// request prepares a POST with what all of them have.
func (c *client) request(ctx context.Context, kind string, body []byte) (*http.Request, error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, c.url.String(), bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	r.Header.Set("User-Agent", c.agent)
	for name, values := range c.headers {
		r.Header[name] = values
	}
	r.Header.Set("Content-Type", kind)
	return r, nil
}

// post sends a request over plain HTTP.
func (c *client) post(ctx context.Context, body []byte) error {
	kind := "application/x-protobuf"
	if c.protocol == overJSON {
		kind = "application/json"
	}
	if c.gzip {
		body = compress(body)
	}
	r, err := c.request(ctx, kind, body)
	if err != nil {
		return err
	}
	if c.gzip {
		r.Header.Set("Content-Encoding", "gzip")
	}
	response, err := c.http.Do(r)
	if err != nil {
		return err
	}
	defer func() { _ = response.Body.Close() }() // it was only read
	answer, err := io.ReadAll(io.LimitReader(response.Body, longestAnswer))
	if err != nil {
		return &url.Error{Op: "Post", Err: err}
	}
	media, _, _ := mime.ParseMediaType(response.Header.Get("Content-Type"))
	if response.StatusCode/100 == 2 {
		return accepted(answer, media)
	}
	return c.refused(response, answer, media)
}

// accepted reads an answer that says yes, perhaps not to all. One that cannot be
// understood is a yes all the same.
func accepted(answer []byte, media string) error {
	var p partial
	if media == "application/json" {
		p = readPartialJSON(answer)
	} else if read, err := readPartial(answer); err == nil {
		p = read
	}
	if p.rejected <= 0 {
		return nil
	}
	return &telemetry.RejectedError{Count: int(p.rejected), Why: clip(p.message)}
}

func readPartialJSON(answer []byte) (p partial) {
	tree, err := jsontree.Parse(answer)
	if err != nil {
		return p
	}
	said := tree.Field("partialSuccess")
	p.message = said.Field("errorMessage").Text
	for _, name := range []string{"rejectedSpans", "rejectedLogRecords", "rejectedDataPoints"} {
		if n, ok := said.Get(name); ok { // a string, as protobuf has it, or a number
			p.rejected, _ = strconv.ParseInt(n.Text, 10, 64) // what is none counts as nothing
		}
	}
	return p
}

// refused tells what an answer that says no means.
func (c *client) refused(response *http.Response, answer []byte, media string) error {
	said := ""
	switch media {
	case "application/x-protobuf":
		said, _, _ = readStatus(answer)
	case "application/json":
		if tree, err := jsontree.Parse(answer); err == nil {
			said = tree.Field("message").Text
		}
	case "text/plain":
		said = string(answer)
	}
	err := fmt.Errorf("the collector answers %d %s", response.StatusCode, http.StatusText(response.StatusCode))
	if said != "" {
		err = fmt.Errorf("%w: %s", err, clip(said))
	}
	switch response.StatusCode {
	case http.StatusTooManyRequests, http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		return &telemetry.RetryError{After: retryAfter(response.Header.Get("Retry-After"), c.now()), Err: err}
	default:
		return err
	}
}

// retryAfter reads seconds or a date; 0 is neither.
func retryAfter(text string, now time.Time) time.Duration {
	if seconds, err := strconv.ParseUint(strings.TrimSpace(text), 10, 64); err == nil {
		if seconds > uint64(longestDelay/time.Second) {
			return longestDelay
		}
		return time.Duration(seconds) * time.Second
	}
	if at, err := http.ParseTime(text); err == nil {
		return min(max(at.Sub(now), 0), longestDelay)
	}
	return 0
}

// clip keeps what a stranger says short, and on one line.
func clip(text string) string {
	const most = 200
	text = strings.Join(strings.Fields(strings.ToValidUTF8(text, "\uFFFD")), " ")
	if len(text) > most {
		text = strings.ToValidUTF8(text[:most], "") + " ..."
	}
	return text
}

func compress(body []byte) []byte {
	var out bytes.Buffer
	w := gzip.NewWriter(&out)
	_, _ = w.Write(body) // to memory, which does not fail
	_ = w.Close()
	return out.Bytes()
}
