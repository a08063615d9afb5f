// Package embedapi requests embeddings from a service that implements OpenAI's embeddings API. It
// does not store them.
package embedapi

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync/atomic"
	"time"
)

// Options select the service and the model. URL and Model are required.
type Options struct {
	URL   string // with or without /embeddings at its end
	Model string // the service's name of the model
	Key   string // API key; "" sends none
	// Dim is the number of dimensions. 0 accepts what the service returns, and takes the number
	// from the first response.
	Dim     int
	Timeout time.Duration // of a request; 0 means 30 s
}

const (
	maxTexts        = 64      // per request
	maxRequestBytes = 256_000 // of texts per request, unless a single one has more
	maxTextBytes    = 8000    // longer texts are cut
	// Texts are cut to no less than this for a service that accepts only short ones.
	minTextBytes = 1000
	maxAttempts  = 5 // per request
	firstWait    = 250 * time.Millisecond
	maxWait      = 30 * time.Second // maximum wait between two attempts
)

// Client requests embeddings of one model from one service. It is safe for concurrent use.
type Client struct {
	o         Options
	endpoint  string
	http      *http.Client
	dim       atomic.Int64
	textLimit atomic.Int64 // bytes of a text that the service accepts
	now       func() time.Time
	wait      func(ctx context.Context, d time.Duration) error
}

// New returns a client. It sends no request. It returns an error if the options are invalid.
func New(o Options) (*Client, error) {
	endpoint, err := endpointOf(o.URL)
	if err != nil {
		return nil, err
	}
	if o.Model == "" {
		return nil, errors.New("the embedding model must have a name")
	}
	if o.Dim < 0 || o.Dim > maxDim {
		return nil, fmt.Errorf("the embedding dimension must be 1 to %d, not %d", maxDim, o.Dim)
	}
	o.Timeout = cmp.Or(max(o.Timeout, 0), 30*time.Second)
	c := &Client{o: o, endpoint: endpoint, http: &http.Client{CheckRedirect: sameHostOnly}, now: time.Now, wait: wait}
	c.dim.Store(int64(o.Dim))
	c.textLimit.Store(maxTextBytes)
	return c, nil
}

// endpointOf returns the URL for requests. Its errors never contain the URL, because there may be a
// key in its query.
func endpointOf(base string) (string, error) {
	u, err := url.Parse(base)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
		return "", errors.New("the embeddings URL must begin with http:// or https://")
	}
	if u.User != nil {
		return "", errors.New("the embeddings URL must not contain a user or password")
	}
	u.Fragment = ""
	u.Path = strings.TrimRight(u.Path, "/")
	if !strings.HasSuffix(u.Path, "/embeddings") {
		u.Path += "/embeddings"
	}
	u.RawPath = ""
	return u.String(), nil
}

// sameHostOnly refuses redirects to another host, which would get the key, and those that change
// the method.
func sameHostOnly(next *http.Request, via []*http.Request) error {
	first := via[0]
	if len(via) > 3 || next.Method != first.Method || next.URL.Scheme != first.URL.Scheme || next.URL.Host != first.URL.Host {
		return http.ErrUseLastResponse
	}
	return nil
}

// ID identifies the model and its dimension. It is "" until the dimension is known.
func (c *Client) ID() string {
	dim := c.Dim()
	if dim == 0 {
		return ""
	}
	return "remote:" + c.o.Model + ":" + strconv.Itoa(dim)
}

// Dim returns the number of dimensions, or 0 until it is known.
func (c *Client) Dim() int { return int(c.dim.Load()) }

// Embed returns the embeddings of texts, normalized to length 1, in the order of the texts. It
// retries where that may help, until ctx ends. A returned error is an *Error.
func (c *Client) Embed(ctx context.Context, texts []string) ([][]float32, error) {
	timeout := c.timeoutFor(ctx)
	vectors := make([][]float32, 0, len(texts))
	for len(texts) > 0 {
		n := batchSize(texts)
		some, err := c.embedWithRetry(ctx, texts[:n])
		if err != nil {
			return nil, c.explain(ctx, err, timeout)
		}
		vectors = append(vectors, some...)
		texts = texts[n:]
	}
	return vectors, nil
}

// timeoutFor returns the maximum time that the caller would wait, for error messages.
func (c *Client) timeoutFor(ctx context.Context) time.Duration {
	deadline, limited := ctx.Deadline()
	if !limited {
		return c.o.Timeout
	}
	return min(c.o.Timeout, deadline.Sub(c.now()))
}

// batchSize returns how many of the texts go into the next request.
func batchSize(texts []string) int {
	size := 0
	for i, text := range texts {
		size += min(len(text), maxTextBytes)
		if i == maxTexts || i > 0 && size > maxRequestBytes {
			return i
		}
	}
	return len(texts)
}

// embedWithRetry sends a request until it succeeds or another attempt cannot help.
func (c *Client) embedWithRetry(ctx context.Context, texts []string) ([][]float32, error) {
	textLimit := int(c.textLimit.Load())
	delay := firstWait
	for attempt := 1; ; attempt++ {
		vectors, err := c.send(ctx, texts, textLimit)
		if err == nil {
			c.recordLimit(textLimit)
			return vectors, nil
		}
		var failed *Error
		if !errors.As(err, &failed) || ctx.Err() != nil {
			return nil, err
		}
		// Some models accept only about a page, and the service just answers "bad request".
		if sent := min(textLimit, maxLength(texts)); failed.Refused && sent > minTextBytes {
			textLimit = max(sent/2, minTextBytes)
			continue
		}
		if !failed.retryable || attempt >= maxAttempts {
			return nil, err
		}
		pause := max(failed.delay, delay/2+rand.N(delay)) //nolint:gosec // not a secret: it spreads the requests of several processes
		if !c.hasTimeFor(ctx, pause) || c.wait(ctx, pause) != nil {
			return nil, err
		}
		delay = min(2*delay, maxWait)
	}
}

// recordLimit records how long texts may be. Another goroutine may have recorded a lower limit
// meanwhile.
func (c *Client) recordLimit(limit int) {
	for before := c.textLimit.Load(); int64(limit) < before && !c.textLimit.CompareAndSwap(before, int64(limit)); {
		before = c.textLimit.Load()
	}
}

func maxLength(texts []string) int {
	longest := 0
	for _, text := range texts {
		longest = max(longest, len(text))
	}
	return longest
}

// hasTimeFor reports whether there is time for a pause and another attempt.
func (c *Client) hasTimeFor(ctx context.Context, pause time.Duration) bool {
	if pause > maxWait {
		return false
	}
	deadline, limited := ctx.Deadline()
	return !limited || c.now().Add(pause).Before(deadline)
}

func wait(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

type embeddingRequest struct {
	Model      string   `json:"model"`
	Input      []string `json:"input"`
	Format     string   `json:"encoding_format"`
	Dimensions int      `json:"dimensions,omitempty"`
}

// send sends one request.
func (c *Client) send(ctx context.Context, texts []string, textLimit int) ([][]float32, error) {
	ctx, cancel := context.WithTimeout(ctx, c.o.Timeout)
	defer cancel()
	input := make([]string, len(texts))
	for i, text := range texts {
		input[i] = cut(text, textLimit)
	}
	body, err := json.Marshal(embeddingRequest{Model: c.o.Model, Input: input, Format: "float", Dimensions: c.o.Dim})
	if err != nil {
		return nil, fmt.Errorf("encode request: %w", err)
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, c.endpoint, bytes.NewReader(body))
	if err != nil {
		return nil, &Error{Reason: "the URL of the service is invalid"}
	}
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("Accept", "application/json")
	if c.o.Key != "" {
		request.Header.Set("Authorization", "Bearer "+c.o.Key)
	}
	response, err := c.http.Do(request)
	if err != nil {
		return nil, unreachable(err)
	}
	defer func() { _ = response.Body.Close() }()
	if response.StatusCode != http.StatusOK {
		_, _ = io.CopyN(io.Discard, response.Body, 64<<10) // so that the connection can be reused
		return nil, statusError(response, c.now())
	}
	return c.readResponse(response.Body, len(texts))
}

// cut shortens a text to at most limit bytes of whole characters. It replaces an empty text,
// because services reject it.
func cut(text string, limit int) string {
	if len(text) > limit {
		text = strings.ToValidUTF8(text[:limit], "")
	}
	if strings.TrimSpace(text) == "" {
		return "."
	}
	return text
}

// readResponse reads a response, and sets the dimension if it is not known.
func (c *Client) readResponse(body io.Reader, count int) ([][]float32, error) {
	limit := int64(1<<20 + count*(maxDim*26))
	data, err := io.ReadAll(io.LimitReader(body, limit+1))
	if err != nil {
		return nil, unreachable(err)
	}
	if int64(len(data)) > limit {
		return nil, invalidResponse(errors.New("the response is too large"))
	}
	vectors, err := parse(data, count)
	if err != nil {
		return nil, invalidResponse(err)
	}
	if count == 0 {
		return vectors, nil
	}
	dim := int64(len(vectors[0]))
	if !c.dim.CompareAndSwap(0, dim) && c.dim.Load() != dim {
		return nil, &Error{Reason: fmt.Sprintf("the service answered with %d dimensions, not %d", dim, c.dim.Load())}
	}
	return vectors, nil
}

// maxDim is the maximum number of dimensions.
const maxDim = 8192

type response struct {
	Data []item `json:"data"`
}

type item struct {
	Index     *int      `json:"index"`
	Embedding []float64 `json:"embedding"`
}

// parse parses the response for count texts: as many embeddings, all of the same dimension. It
// returns them in the order of the texts, normalized to length 1.
func parse(data []byte, count int) ([][]float32, error) {
	var a response
	if err := json.Unmarshal(data, &a); err != nil {
		return nil, fmt.Errorf("decode embeddings: %w", err)
	}
	if len(a.Data) != count {
		return nil, fmt.Errorf("the service returned %d embeddings for %d texts", len(a.Data), count)
	}
	vectors := make([][]float32, count)
	for i, one := range a.Data {
		at := i
		if one.Index != nil {
			at = *one.Index
		}
		if at < 0 || at >= count || vectors[at] != nil {
			return nil, fmt.Errorf("embedding %d has the index %d", i, at)
		}
		vector, err := unit(one.Embedding)
		if err != nil {
			return nil, fmt.Errorf("embedding %d: %w", i, err)
		}
		if len(vector) != len(a.Data[0].Embedding) {
			return nil, fmt.Errorf("embeddings of %d and of %d dimensions", len(a.Data[0].Embedding), len(vector))
		}
		vectors[at] = vector
	}
	return vectors, nil
}

// unit returns a vector normalized to length 1. JSON has no infinite numbers, but a length can
// overflow.
func unit(numbers []float64) ([]float32, error) {
	if len(numbers) == 0 || len(numbers) > maxDim {
		return nil, fmt.Errorf("%d dimensions", len(numbers))
	}
	var largest, square float64
	for _, n := range numbers {
		largest = max(largest, math.Abs(n))
	}
	if largest == 0 || largest > math.MaxFloat32 || largest < math.SmallestNonzeroFloat32 {
		return nil, errors.New("numbers out of range")
	}
	for _, n := range numbers {
		square += (n / largest) * (n / largest)
	}
	length := math.Sqrt(square) * largest
	vector := make([]float32, len(numbers))
	for i, n := range numbers {
		vector[i] = float32(n / length)
	}
	return vector, nil
}
