package embedapi

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

const secret = "sk-very-secret"

// service is a server that records requests, and a client of it whose pauses take no time.
type service struct {
	*Client
	mu     sync.Mutex
	asked  []embeddingRequest
	header []http.Header
	paths  []string
	pauses []time.Duration
}

func start(t *testing.T, o Options, handle func(n int, q embeddingRequest, w http.ResponseWriter)) *service {
	t.Helper()
	s := &service{}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var q embeddingRequest
		if err := json.NewDecoder(r.Body).Decode(&q); err != nil {
			t.Errorf("request: %v", err)
		}
		s.mu.Lock()
		s.asked, s.header, s.paths = append(s.asked, q), append(s.header, r.Header), append(s.paths, r.URL.RequestURI())
		n := len(s.asked)
		s.mu.Unlock()
		handle(n, q, w)
	}))
	t.Cleanup(server.Close)
	o.URL, o.Model, o.Key = server.URL+o.URL, "some-model", secret
	c, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	c.wait = func(ctx context.Context, d time.Duration) error {
		s.pauses = append(s.pauses, d)
		return ctx.Err()
	}
	s.Client = c
	return s
}

// good responds with vectors that distinguish the texts: the length of the text, and 1.
func good(q embeddingRequest, w io.Writer) {
	var data []string
	for i, text := range q.Input {
		data = append(data, fmt.Sprintf(`{"object":"embedding","index":%d,"embedding":[%d,1]}`, i, len(text)))
	}
	fmt.Fprintf(w, `{"object":"list","data":[%s],"model":"m","usage":{"total_tokens":1}}`, strings.Join(data, ","))
}

func TestEmbed(t *testing.T) {
	s := start(t, Options{URL: "/v1/"}, func(_ int, q embeddingRequest, w http.ResponseWriter) { good(q, w) })
	if s.ID() != "" || s.Dim() != 0 {
		t.Errorf("before the first response: %q, %d", s.ID(), s.Dim())
	}
	got, err := s.Embed(t.Context(), []string{"abc", strings.Repeat("x", 3)})
	if err != nil {
		t.Fatal(err)
	}
	want := []float32{float32(3 / math.Sqrt(10)), float32(1 / math.Sqrt(10))}
	if diff := cmp.Diff([][]float32{want, want}, got); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]embeddingRequest{{Model: "some-model", Input: []string{"abc", "xxx"}, Format: "float"}}, s.asked); diff != "" {
		t.Error(diff)
	}
	if s.paths[0] != "/v1/embeddings" || s.header[0].Get("Authorization") != "Bearer "+secret {
		t.Errorf("requested %s with %v", s.paths[0], s.header[0])
	}
	if s.ID() != "remote:some-model:2" || s.Dim() != 2 {
		t.Errorf("after the first response: %q, %d", s.ID(), s.Dim())
	}
}

func TestDimensionsAreRequested(t *testing.T) {
	s := start(t, Options{Dim: 2}, func(_ int, q embeddingRequest, w http.ResponseWriter) { good(q, w) })
	if s.ID() != "remote:some-model:2" {
		t.Errorf("ID %q", s.ID())
	}
	if _, err := s.Embed(t.Context(), []string{"abc"}); err != nil || s.asked[0].Dimensions != 2 {
		t.Errorf("%v, %+v", err, s.asked)
	}
}

func TestBatches(t *testing.T) {
	s := start(t, Options{}, func(_ int, q embeddingRequest, w http.ResponseWriter) { good(q, w) })
	var texts []string
	for i := range 150 {
		texts = append(texts, strings.Repeat("a", i+1))
	}
	texts = append(texts, strings.Repeat("é", 5000), "", " ")
	for range 60 {
		texts = append(texts, strings.Repeat("b", 7000))
	}
	vectors, err := s.Embed(t.Context(), texts)
	if err != nil || len(vectors) != len(texts) {
		t.Fatal(len(vectors), err)
	}
	var sizes []int
	for _, q := range s.asked {
		sizes = append(sizes, len(q.Input))
		total := 0
		for _, text := range q.Input {
			total += len(text)
			if len(text) > maxTextBytes || text == "" || strings.ContainsRune(text, '\uFFFD') {
				t.Errorf("sent a text of %d bytes: %.20q", len(text), text)
			}
		}
		if total > maxRequestBytes {
			t.Errorf("sent %d bytes at once", total)
		}
	}
	if sizes[0] != 64 || sizes[1] != 64 {
		t.Errorf("sent %v texts at a time", sizes)
	}
	for i := range 150 {
		if ratio := vectors[i][0] / vectors[i][1]; math.Abs(float64(ratio)-float64(i+1)) > 0.01 {
			t.Fatalf("text %d has the vector of another: %v", i, vectors[i])
		}
	}
}

func TestOrder(t *testing.T) {
	s := start(t, Options{}, func(_ int, _ embeddingRequest, w http.ResponseWriter) {
		io.WriteString(w, `{"data":[{"index":1,"embedding":[0,1]},{"index":0,"embedding":[1,0]}]}`)
	})
	got, err := s.Embed(t.Context(), []string{"a", "b"})
	if diff := cmp.Diff([][]float32{{1, 0}, {0, 1}}, got); diff != "" || err != nil {
		t.Error(diff, err)
	}
}

// TestInvalidResponses has a service respond in every wrong way.
func TestInvalidResponses(t *testing.T) {
	const garbage = "the service returned an invalid response"
	many := strings.Repeat("1,", maxDim) + "1"
	for name, test := range map[string]struct{ body, want string }{
		"nothing":             {``, garbage},
		"HTML":                {`<html>`, garbage},
		"an error":            {`{"error":{"message":"` + secret + `"}}`, garbage},
		"truncated":           {`{"data":[{"index":0,"embedding":[1,`, garbage},
		"too few":             {`{"data":[{"index":0,"embedding":[1,2]}]}`, garbage},
		"too many":            {`{"data":[{"embedding":[1]},{"embedding":[1]},{"embedding":[1]}]}`, garbage},
		"the same index":      {`{"data":[{"index":0,"embedding":[1]},{"index":0,"embedding":[1]}]}`, garbage},
		"a wild index":        {`{"data":[{"index":0,"embedding":[1]},{"index":7,"embedding":[1]}]}`, garbage},
		"a negative index":    {`{"data":[{"index":-1,"embedding":[1]},{"index":0,"embedding":[1]}]}`, garbage},
		"different dims":      {`{"data":[{"embedding":[1,2]},{"embedding":[1,2,3]}]}`, garbage},
		"no numbers":          {`{"data":[{"embedding":[]},{"embedding":[]}]}`, garbage},
		"zeros":               {`{"data":[{"embedding":[0,0]},{"embedding":[0,0]}]}`, garbage},
		"NaN":                 {`{"data":[{"embedding":[NaN,1]},{"embedding":[1,1]}]}`, garbage},
		"infinite":            {`{"data":[{"embedding":[1e999,1]},{"embedding":[1,1]}]}`, garbage},
		"out of range":        {`{"data":[{"embedding":[1e300,1]},{"embedding":[1,1]}]}`, garbage},
		"words":               {`{"data":[{"embedding":["a"]},{"embedding":["b"]}]}`, garbage},
		"base64":              {`{"data":[{"embedding":"AACAPw=="},{"embedding":"AACAPw=="}]}`, garbage},
		"null":                {`{"data":[null,null]}`, garbage},
		"huge":                {`{"data":[` + strings.Repeat(" ", 2<<20+2*maxDim*26) + `]}`, garbage},
		"too many dimensions": {`{"data":[{"embedding":[` + many + `]},{"embedding":[` + many + `]}]}`, garbage},
		"another dimension":   {`{"data":[{"embedding":[1,2]},{"embedding":[1,2]}]}`, "the service answered with 2 dimensions, not 3"},
	} {
		t.Run(name, func(t *testing.T) {
			s := start(t, Options{Dim: 3}, func(_ int, _ embeddingRequest, w http.ResponseWriter) { io.WriteString(w, test.body) })
			vectors, err := s.Embed(t.Context(), []string{"a", "b"})
			checkError(t, err, test.want)
			if vectors != nil || len(s.asked) != 1 {
				t.Errorf("%v after %d requests", vectors, len(s.asked))
			}
		})
	}
}

// checkError checks that an error for callers is as expected and does not contain the key.
func checkError(t *testing.T, err error, want string) {
	t.Helper()
	var failed *Error
	if !errors.As(err, &failed) || err.Error() != want {
		t.Errorf("error %v, want %s", err, want)
	}
	for ; err != nil; err = errors.Unwrap(err) {
		if strings.Contains(err.Error(), secret) || strings.Contains(err.Error(), "http://") {
			t.Errorf("%q contains a secret", err)
		}
	}
}

func TestStatus(t *testing.T) {
	for _, test := range []struct {
		status   int
		want     string
		requests int
	}{
		{429, "API rate limit exceeded", maxAttempts},
		{500, "the service answered 500", maxAttempts},
		{503, "the service answered 503", maxAttempts},
		{401, "the service refused the key (401)", 1},
		{403, "the service refused the key (403)", 1},
		{404, "the service answered 404", 1},
		{400, "the service answered 400", 1},
		{204, "the service answered 204", 1},
	} {
		s := start(t, Options{}, func(_ int, _ embeddingRequest, w http.ResponseWriter) {
			w.WriteHeader(test.status)
			if test.status != 204 {
				io.WriteString(w, `{"error":"`+secret+`"}`)
			}
		})
		_, err := s.Embed(t.Context(), []string{"a"})
		checkError(t, err, test.want)
		if len(s.asked) != test.requests {
			t.Errorf("%d: %d requests, want %d", test.status, len(s.asked), test.requests)
		}
		for i := 1; i < len(s.pauses); i++ {
			if s.pauses[i] < s.pauses[0]/2 || s.pauses[i] > maxWait {
				t.Errorf("%d: pauses %v", test.status, s.pauses)
			}
		}
	}
}

func TestRetry(t *testing.T) {
	s := start(t, Options{}, func(n int, q embeddingRequest, w http.ResponseWriter) {
		if n == 1 {
			w.Header().Set("Retry-After", "7")
			w.WriteHeader(http.StatusTooManyRequests)
			return
		}
		if n == 2 {
			panic(http.ErrAbortHandler)
		}
		good(q, w)
	})
	if _, err := s.Embed(t.Context(), []string{"a"}); err != nil || s.pauses[0] != 7*time.Second || len(s.asked) < 3 {
		t.Errorf("%v, pauses %v, %d requests", err, s.pauses, len(s.asked))
	}
}

// TestRetryAfterBeyondDeadline checks that Embed fails at once if the requested delay is too
// long.
func TestRetryAfterBeyondDeadline(t *testing.T) {
	for _, after := range []string{"20", "86400", time.Now().Add(time.Hour).UTC().Format(http.TimeFormat)} {
		s := start(t, Options{}, func(_ int, _ embeddingRequest, w http.ResponseWriter) {
			w.Header().Set("Retry-After", after)
			w.WriteHeader(http.StatusTooManyRequests)
		})
		ctx, cancel := context.WithTimeout(t.Context(), 15*time.Second)
		defer cancel()
		_, err := s.Embed(ctx, []string{"a"})
		checkError(t, err, "API rate limit exceeded")
		if len(s.pauses) != 0 || len(s.asked) != 1 {
			t.Errorf("%s: %d requests, pauses %v", after, len(s.asked), s.pauses)
		}
	}
}

func TestRetryAfter(t *testing.T) {
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	for value, want := range map[string]time.Duration{
		"": 0, "3": 3 * time.Second, "0.5": 500 * time.Millisecond, "-3": 0, "NaN": 0, "Inf": 24 * time.Hour, "soon": 0, "1e99": 24 * time.Hour,
		"Fri, 02 Jan 2026 03:04:15 GMT": 10 * time.Second, "Thu, 01 Jan 1970 00:00:00 GMT": 0,
	} {
		if got := retryAfter(http.Header{"Retry-After": {value}}, now); got != want {
			t.Errorf("%q: %v, want %v", value, got, want)
		}
	}
}

// TestLongTextsAreCut checks that the client remembers the limit of a service that accepts only
// short texts.
func TestLongTextsAreCut(t *testing.T) {
	s := start(t, Options{}, func(_ int, q embeddingRequest, w http.ResponseWriter) {
		for _, text := range q.Input {
			if len(text) > 2500 {
				w.WriteHeader(http.StatusBadRequest)
				return
			}
		}
		good(q, w)
	})
	long := []string{strings.Repeat("a", 7000), "b"}
	for range 2 {
		if _, err := s.Embed(t.Context(), long); err != nil {
			t.Fatal(err)
		}
	}
	if len(s.asked) != 4 {
		t.Errorf("%d requests", len(s.asked))
	}
	if _, err := s.Embed(t.Context(), []string{strings.Repeat("a", 1800)}); err != nil || len(s.asked) != 5 {
		t.Errorf("%v after %d requests", err, len(s.asked))
	}
}

// TestShortTextsAreCutToo checks that the limit is found for short texts too: most texts are short,
// and some services accept even less.
func TestShortTextsAreCutToo(t *testing.T) {
	s := start(t, Options{}, func(_ int, q embeddingRequest, w http.ResponseWriter) {
		if len(q.Input[0]) > 1500 {
			w.WriteHeader(http.StatusBadRequest)
			return
		}
		good(q, w)
	})
	for i, want := range []int{2, 3} {
		if _, err := s.Embed(t.Context(), []string{strings.Repeat("a", 2200)}); err != nil || len(s.asked) != want {
			t.Errorf("text %d: %v after %d requests", i, err, len(s.asked))
		}
	}
	s.recordLimit(maxTextBytes)
	if textLimit := s.textLimit.Load(); textLimit != 1100 {
		t.Errorf("a higher limit replaced it: %d", textLimit)
	}
}

// TestTimeout checks the caller's deadline and the request's own timeout.
func TestTimeout(t *testing.T) {
	release := make(chan struct{})
	s := start(t, Options{Timeout: 50 * time.Millisecond}, func(int, embeddingRequest, http.ResponseWriter) { <-release })
	t.Cleanup(func() { close(release) })
	_, err := s.Embed(t.Context(), []string{"a"})
	checkError(t, err, "timed out after 50ms")
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	if _, err = s.Embed(ctx, []string{"a"}); err == nil || !strings.HasPrefix(err.Error(), "timed out after ") || !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("%v", err)
	}
	gone, leave := context.WithCancel(t.Context())
	leave()
	if _, err = s.Embed(gone, []string{"a"}); !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
}

func TestUnreachable(t *testing.T) {
	server := httptest.NewServer(nil)
	server.Close()
	c, err := New(Options{URL: server.URL, Model: "m", Key: secret})
	if err != nil {
		t.Fatal(err)
	}
	pauses := 0
	c.wait = func(context.Context, time.Duration) error { pauses++; return nil }
	_, err = c.Embed(t.Context(), []string{"a"})
	checkError(t, err, "the service cannot be reached")
	if pauses != maxAttempts-1 {
		t.Errorf("%d pauses", pauses)
	}
}

// TestRedirect checks that redirects to another host are refused: that host would get the key.
func TestRedirect(t *testing.T) {
	stolen := false
	thief := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { stolen = true }))
	t.Cleanup(thief.Close)
	for _, status := range []int{301, 302, 307, 308} {
		s := start(t, Options{}, func(_ int, _ embeddingRequest, w http.ResponseWriter) {
			w.Header().Set("Location", thief.URL+"/embeddings")
			w.WriteHeader(status)
		})
		_, err := s.Embed(t.Context(), []string{"a"})
		checkError(t, err, fmt.Sprintf("the service answered %d", status))
	}
	if stolen {
		t.Error("the other host got a request")
	}
	s := start(t, Options{}, func(n int, q embeddingRequest, w http.ResponseWriter) {
		if n == 1 {
			w.Header().Set("Location", "/elsewhere")
			w.WriteHeader(http.StatusTemporaryRedirect)
			return
		}
		good(q, w)
	})
	if _, err := s.Embed(t.Context(), []string{"a"}); err != nil {
		t.Errorf("a redirect on the same host: %v", err)
	}
}

func TestEndpoint(t *testing.T) {
	for base, want := range map[string]string{
		"http://localhost:11434/v1":              "http://localhost:11434/v1/embeddings",
		"http://localhost:11434/v1/":             "http://localhost:11434/v1/embeddings",
		"https://h/v1/embeddings":                "https://h/v1/embeddings",
		"https://h/v1/embeddings/":               "https://h/v1/embeddings",
		"https://h/d/x?api-version=1":            "https://h/d/x/embeddings?api-version=1",
		"http://h":                               "http://h/embeddings",
		"ftp://h":                                "",
		"localhost:1":                            "",
		"http://":                                "",
		"https://me:" + secret + "@h/v1":         "",
		"http://h:x" + secret + "/?key=\x7f\x00": "",
	} {
		c, err := New(Options{URL: base, Model: "m"})
		switch {
		case err != nil && (want != "" || strings.Contains(err.Error(), secret)), err == nil && c.endpoint != want:
			t.Errorf("%q: %v, %v, want %q", base, c, err, want)
		}
	}
	if _, err := New(Options{URL: "http://h"}); err == nil {
		t.Error("a model without a name")
	}
	if _, err := New(Options{URL: "http://h", Model: "m", Dim: -1}); err == nil {
		t.Error("a negative dimension")
	}
}

func FuzzParse(f *testing.F) {
	f.Add([]byte(`{"data":[{"index":1,"embedding":[0,1]},{"index":0,"embedding":[1,0]}]}`), 2)
	f.Add([]byte(`{"data":[{"embedding":[1e300]}]}`), 1)
	f.Add([]byte(`{"data":[]}`), 0)
	f.Fuzz(func(t *testing.T, data []byte, count int) {
		vectors, err := parse(data, count)
		if err != nil {
			return
		}
		if len(vectors) != count {
			t.Fatalf("%d vectors, want %d", len(vectors), count)
		}
		for _, v := range vectors {
			var square float64
			for _, n := range v {
				square += float64(n) * float64(n)
			}
			if len(v) != len(vectors[0]) || math.Abs(square-1) > 1e-3 {
				t.Fatalf("%v has the length %v", v, math.Sqrt(square))
			}
		}
	})
}
