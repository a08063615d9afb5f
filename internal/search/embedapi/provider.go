// Package embedapi asks a service that speaks OpenAI's protocol for embeddings.
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

// Options say which service is asked, and how. URL and Model are needed.
type Options struct {
	URL     string        // with or without /embeddings at its end
	Model   string        // as the service names it
	Key     string        // "" sends none
	Dim     int           // numbers in an embedding; 0 takes what the service gives, and learns it from the first answer
	Timeout time.Duration // of a request; 30 s if it is 0
}

const (
	mostTexts  = 64      // in a request
	mostBytes  = 256_000 // of texts in a request, unless one alone has more
	longest    = 8000    // bytes of a text
	shortest   = 1000    // bytes to which texts are cut for a service that takes no longer ones
	attempts   = 5       // at a request
	firstWait  = 250 * time.Millisecond
	longestOne = 30 * time.Second // wait between two attempts
)

// Client asks one service for embeddings of one model. It is safe for concurrent use.
type Client struct {
	o        Options
	endpoint string
	http     *http.Client
	dim      atomic.Int64
	room     atomic.Int64 // bytes of a text that the service takes
	now      func() time.Time
	wait     func(ctx context.Context, d time.Duration) error
}

// New makes a client. Nothing is asked yet.
func New(o Options) (*Client, error) {
	endpoint, err := address(o.URL)
	if err != nil {
		return nil, err
	}
	if o.Model == "" {
		return nil, errors.New("the model of the embeddings has no name")
	}
	if o.Dim < 0 || o.Dim > mostNumbers {
		return nil, fmt.Errorf("an embedding has 1 to %d numbers, not %d", mostNumbers, o.Dim)
	}
	o.Timeout = cmp.Or(max(o.Timeout, 0), 30*time.Second)
	c := &Client{o: o, endpoint: endpoint, http: &http.Client{CheckRedirect: stayHere}, now: time.Now, wait: wait}
	c.dim.Store(int64(o.Dim))
	c.room.Store(longest)
	return c, nil
}

// address is where embeddings are asked for. An error never has the address in it: there may be a key among its parameters.
func address(base string) (string, error) {
	u, err := url.Parse(base)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
		return "", errors.New("the address of the embeddings is none that begins with http:// or https://")
	}
	if u.User != nil {
		return "", errors.New("the address of the embeddings must not contain a user or password")
	}
	u.Fragment = ""
	u.Path = strings.TrimRight(u.Path, "/")
	if !strings.HasSuffix(u.Path, "/embeddings") {
		u.Path += "/embeddings"
	}
	u.RawPath = ""
	return u.String(), nil
}

// stayHere follows no redirect to another host, which would get the key, nor one that turns the question into another.
func stayHere(next *http.Request, via []*http.Request) error {
	first := via[0]
	if len(via) > 3 || next.Method != first.Method || next.URL.Scheme != first.URL.Scheme || next.URL.Host != first.URL.Host {
		return http.ErrUseLastResponse
	}
	return nil
}

// ID names the model with its dimension. It is "" as long as the dimension is not known.
func (c *Client) ID() string {
	dim := c.Dim()
	if dim == 0 {
		return ""
	}
	return "remote:" + c.o.Model + ":" + strconv.Itoa(dim)
}

// Dim is how many numbers an embedding has; 0 as long as that is not known.
func (c *Client) Dim() int { return int(c.dim.Load()) }

// Embed gives the embeddings of texts, of length 1, in the order of the texts. It asks again where that may help, as long as ctx lasts. A
// failure is an *Error.
func (c *Client) Embed(ctx context.Context, texts []string) ([][]float32, error) {
	patience := c.patience(ctx)
	vectors := make([][]float32, 0, len(texts))
	for len(texts) > 0 {
		n := share(texts)
		some, err := c.insist(ctx, texts[:n])
		if err != nil {
			return nil, c.explain(ctx, err, patience)
		}
		vectors = append(vectors, some...)
		texts = texts[n:]
	}
	return vectors, nil
}

// patience is how long the caller would wait at most, for what it is told.
func (c *Client) patience(ctx context.Context) time.Duration {
	deadline, limited := ctx.Deadline()
	if !limited {
		return c.o.Timeout
	}
	return min(c.o.Timeout, deadline.Sub(c.now()))
}

// share is how many of the texts go into one request.
func share(texts []string) int {
	size := 0
	for i, text := range texts {
		size += min(len(text), longest)
		if i == mostTexts || i > 0 && size > mostBytes {
			return i
		}
	}
	return len(texts)
}

// insist asks until there is an answer or no hope of one.
func (c *Client) insist(ctx context.Context, texts []string) ([][]float32, error) {
	room := int(c.room.Load())
	delay := firstWait
	for attempt := 1; ; attempt++ {
		vectors, err := c.ask(ctx, texts, room)
		if err == nil {
			c.learn(room)
			return vectors, nil
		}
		var failed *Error
		if !errors.As(err, &failed) || ctx.Err() != nil {
			return nil, err
		}
		if sent := min(room, longestOf(texts)); failed.Refused && sent > shortest { // there are models that take a page, and say no more than "bad request"
			room = max(sent/2, shortest)
			continue
		}
		if !failed.again || attempt >= attempts {
			return nil, err
		}
		pause := max(failed.after, delay/2+rand.N(delay)) //nolint:gosec // no secret: requests of several processes are to be apart
		if !c.worthwhile(ctx, pause) || c.wait(ctx, pause) != nil {
			return nil, err
		}
		delay = min(2*delay, longestOne)
	}
}

// learn notes how long texts may be. Others may have learnt meanwhile that it is less.
func (c *Client) learn(room int) {
	for before := c.room.Load(); int64(room) < before && !c.room.CompareAndSwap(before, int64(room)); {
		before = c.room.Load()
	}
}

func longestOf(texts []string) int {
	most := 0
	for _, text := range texts {
		most = max(most, len(text))
	}
	return most
}

// worthwhile tells whether there is time for a pause and another attempt.
func (c *Client) worthwhile(ctx context.Context, pause time.Duration) bool {
	if pause > longestOne {
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

type question struct {
	Model      string   `json:"model"`
	Input      []string `json:"input"`
	Format     string   `json:"encoding_format"`
	Dimensions int      `json:"dimensions,omitempty"`
}

// ask sends one request.
func (c *Client) ask(ctx context.Context, texts []string, room int) ([][]float32, error) {
	ctx, cancel := context.WithTimeout(ctx, c.o.Timeout)
	defer cancel()
	input := make([]string, len(texts))
	for i, text := range texts {
		input[i] = cut(text, room)
	}
	body, err := json.Marshal(question{Model: c.o.Model, Input: input, Format: "float", Dimensions: c.o.Dim})
	if err != nil {
		return nil, fmt.Errorf("write request for embeddings: %w", err)
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, c.endpoint, bytes.NewReader(body))
	if err != nil {
		return nil, &Error{Reason: "the address of the service is none"}
	}
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("Accept", "application/json")
	if c.o.Key != "" {
		request.Header.Set("Authorization", "Bearer "+c.o.Key)
	}
	answer, err := c.http.Do(request)
	if err != nil {
		return nil, unreachable(err)
	}
	defer func() { _ = answer.Body.Close() }()
	if answer.StatusCode != http.StatusOK {
		_, _ = io.CopyN(io.Discard, answer.Body, 64<<10) // so that the connection can be used again
		return nil, refusal(answer, c.now())
	}
	return c.take(answer.Body, len(texts))
}

// cut shortens a text to so many bytes, to whole characters. Services refuse an empty one.
func cut(text string, room int) string {
	if len(text) > room {
		text = strings.ToValidUTF8(text[:room], "")
	}
	if strings.TrimSpace(text) == "" {
		return "."
	}
	return text
}

// take reads an answer and learns the dimension from it.
func (c *Client) take(body io.Reader, count int) ([][]float32, error) {
	limit := int64(1<<20 + count*(mostNumbers*26))
	data, err := io.ReadAll(io.LimitReader(body, limit+1))
	if err != nil {
		return nil, unreachable(err)
	}
	if int64(len(data)) > limit {
		return nil, garbled(errors.New("the answer is too large"))
	}
	vectors, err := parse(data, count)
	if err != nil {
		return nil, garbled(err)
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

// mostNumbers is how many numbers an embedding may have.
const mostNumbers = 8192

type answer struct {
	Data []item `json:"data"`
}

type item struct {
	Index     *int      `json:"index"`
	Embedding []float64 `json:"embedding"`
}

// parse reads the answer to count texts: as many embeddings, all of one dimension, in the order of the texts, of length 1.
func parse(data []byte, count int) ([][]float32, error) {
	var a answer
	if err := json.Unmarshal(data, &a); err != nil {
		return nil, fmt.Errorf("read embeddings: %w", err)
	}
	if len(a.Data) != count {
		return nil, fmt.Errorf("%d embeddings for %d texts", len(a.Data), count)
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

// unit makes a vector of length 1. JSON has no numbers that are not finite, but a length may become so.
func unit(numbers []float64) ([]float32, error) {
	if len(numbers) == 0 || len(numbers) > mostNumbers {
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
