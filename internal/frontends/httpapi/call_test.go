package httpapi_test

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"remit/internal/bodies"
	"remit/internal/contract"
	"remit/internal/engine"
	"remit/internal/engine/approval"
)

func TestGoodCalls(t *testing.T) {
	for _, tc := range []struct {
		name    string
		request *http.Request
		want    string
	}{
		{"arguments", post("look", `{"text":"hi"}`), `{"said":"you said hi"}`},
		{"no body", post("look", ""), `{"said":"you said nothing"}`},
		{"null", post("look", "null"), `{"said":"you said nothing"}`},
		{"no type", post("look", `{"text":"hi"}`, "Content-Type", ""), `{"said":"you said hi"}`},
		{"a type with its charset", post("look", `{"text":"hi"}`, "Content-Type", `Application/JSON; charset="UTF-8"`), `{"said":"you said hi"}`},
		{"what curl -d says of any body", post("look", `{"text":"hi"}`, "Content-Type", "application/x-www-form-urlencoded"), `{"said":"you said hi"}`},
		{"a body of unknown length", withoutLength(`{"text":"hi"}`), `{"said":"you said hi"}`},
		{"a task that is waited for", post("long", ""), `{"said":"you said nothing"}`},
		{"a known caller", post("private", "", "X-Test-Principal", "ann"), `{"said":"you said nothing"}`},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got := newRig(t, nil).do(tc.request)
			if got.Code != http.StatusOK || got.Body.String() != tc.want {
				t.Errorf("%d %s, want 200 %s", got.Code, got.Body, tc.want)
			}
			tool := strings.TrimPrefix(tc.request.URL.Path, "/tools/")
			for header, want := range map[string]string{
				"Content-Type": "application/json", "Cache-Control": "no-store", "X-Content-Type-Options": "nosniff",
				"X-Remit-Contract": "demo/" + tool + "@1.2.3", "X-Remit-Outcome": "ok", "Retry-After": "",
			} {
				if got := got.Header().Get(header); got != want {
					t.Errorf("%s: %q, want %q", header, got, want)
				}
			}
		})
	}
}

// TestErrorStatus checks that each kind of error has its status, and that the response
// does not contain the cause.
func TestErrorStatus(t *testing.T) {
	want := map[contract.Kind]int{
		contract.Invalid: 400, contract.Denied: 403, contract.NotFound: 404, contract.Conflict: 409, contract.TooLarge: 413,
		contract.Limited: 429, contract.Pending: 403, contract.Unavailable: 503, contract.Internal: 500,
	}
	for _, kind := range contract.Kinds() {
		t.Run(string(kind), func(t *testing.T) {
			r := newRig(t, nil)
			r.handler = func(context.Context, in) (out, error) {
				return out{}, contract.Errorf(kind, "no luck").With("retry_after", 7).Because(errors.New("SELECT secret FROM /home/ann"))
			}
			got := r.do(post("look", ""))
			if got.Code != want[kind] || got.Header().Get("X-Remit-Outcome") != string(kind) {
				t.Errorf("%d %s, want %d %s", got.Code, got.Header().Get("X-Remit-Outcome"), want[kind], kind)
			}
			var body struct{ Error struct{ Message string } }
			if err := json.Unmarshal(got.Body.Bytes(), &body); err != nil || body.Error.Message == "" {
				t.Errorf("not in the shape of the set: %s", got.Body)
			}
			for _, secret := range []string{"SELECT", "/home"} {
				if strings.Contains(got.Body.String(), secret) {
					t.Errorf("the cause was leaked: %s", got.Body)
				}
			}
		})
	}
}

func TestRefusals(t *testing.T) {
	long := `{"text":"` + strings.Repeat("x", 2000) + `"}`
	for _, tc := range []struct {
		name    string
		request *http.Request
		status  int
		want    string
		handler func(context.Context, in) (out, error)
	}{
		{"unknown tool", post("lok", ""), 404, `{"error":"Unknown tool \"lok\"; did you mean \"look\"?"}`, nil},
		{"unknown and far", post("%2Fetc%2Fpasswd", ""), 404, `known: bulk`, nil},
		{"unknown argument", post("look", `{"txt":"a"}`), 400, `did you mean \"text\"?`, nil},
		{"not an object", post("look", `[1]`), 400, `the arguments must be an object, not an array`, nil},
		{"malformed", post("look", `{"text":}`), 400, `{"error":{"code":400,"message":"the body is not valid JSON: unexpected '}' at byte 8"}}`, nil},
		{"two values", post("look", `{} {}`), 400, "unexpected data after the value at byte 3", nil},
		{"a key twice", post("look", `{"text":"a","text":"b"}`), 400, `duplicate key \"text\" at byte 12`, nil},
		{"invalid UTF-8", post("look", "{\"text\":\"\xff\"}"), 400, "invalid UTF-8 at byte 9", nil},
		{"only spaces", post("look", "  "), 400, "unexpected end at byte 2", nil},
		{"a form", post("look", "text=a", "Content-Type", "application/x-www-form-urlencoded"), 415, `send application/json`, nil},
		{"text", post("look", "{}", "Content-Type", "text/plain"), 415, `send application/json`, nil},
		{"another charset", post("look", "{}", "Content-Type", "application/json; charset=latin1"), 415, `send application/json`, nil},
		{"an invalid type", post("look", "{}", "Content-Type", ";"), 415, `send application/json`, nil},
		{"compressed", post("look", "{}", "Content-Encoding", "gzip"), 415, `send it without Content-Encoding`, nil},
		{"over what the contract allows", post("look", long), 413, "at most 1024 bytes", nil},
		{"over that, and it did not say", withoutLength(long), 413, "at least 1025 bytes; at most 1024 bytes", nil},
		{"anonymous", post("private", ""), 403, "requires an authenticated caller", nil},
		{"a tool that asks", post("look", ""), 403, "the client did not declare the capability elicitation.form", askQuestion},
		{"a handler that suspends by itself", post("look", ""), 501, "call it over MCP", func(context.Context, in) (out, error) { return out{}, &engine.SuspendedError{} }},
		{"a panic", post("look", ""), 500, "Internal server error", func(context.Context, in) (out, error) { panic("at /home/ann") }},
	} {
		t.Run(tc.name, func(t *testing.T) {
			r := newRig(t, nil)
			r.handler = tc.handler
			got := r.do(tc.request)
			if got.Code != tc.status || !strings.Contains(got.Body.String(), tc.want) {
				t.Errorf("%d %s, want %d with %s", got.Code, got.Body, tc.status, tc.want)
			}
			if got.Header().Get("Content-Type") != "application/json" || !json.Valid(got.Body.Bytes()) {
				t.Errorf("not JSON: %s", got.Body)
			}
		})
	}
}

// TestAdmit checks that requests over the limit get Retry-After and take no slot.
func TestAdmit(t *testing.T) {
	running := 0
	r := newRig(t, nil)
	r.api.Admit = func() (func(), bool) {
		running++
		return func() { running-- }, running <= 1
	}
	running = 1
	if got := r.do(post("look", `{}`)); got.Code != http.StatusServiceUnavailable || got.Header().Get("Retry-After") != "1" {
		t.Errorf("one too many: %d %s", got.Code, got.Body)
	}
	running = 0
	if got := r.do(post("look", `{}`)); got.Code != http.StatusOK || running != 0 {
		t.Errorf("after that: %d %s, %d run", got.Code, got.Body, running)
	}
}

// TestBodyMemory checks that a large body for which there is no memory gets Retry-After, whatever
// the tool does, and that a body over the contract's limit is a call that fails and is recorded.
func TestBodyMemory(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, nil)
		large := `{"text":"` + strings.Repeat("x", 100<<10) + `"}`
		r.api.Bodies = bodies.NewBudget(64<<10, 1000)
		got := r.do(post("bulk", large))
		if got.Code != http.StatusServiceUnavailable || got.Header().Get("Retry-After") != "1" || !strings.Contains(got.Body.String(), "Too many large requests") {
			t.Errorf("no memory: %d %v %s", got.Code, got.Header(), got.Body)
		}
		r.api.Bodies = bodies.NewBudget(1<<20, 1000)
		if got := r.do(post("bulk", large)); got.Code != http.StatusOK {
			t.Errorf("memory: %d %s", got.Code, got.Body)
		}
		if got := r.do(post("look", large)); got.Code != http.StatusRequestEntityTooLarge {
			t.Errorf("over the limit: %d %s", got.Code, got.Body)
		}
		if n := r.api.Bodies.InUse(); n != 0 {
			t.Errorf("%d bytes are still in use", n)
		}
		records := r.Records()
		if len(records) != 2 || records[1].Outcome != "too_large" {
			t.Errorf("recorded %+v", records)
		}
	})
}

// TestPending checks that a call that needs approval gets 403 and a header that scripts see.
func TestPending(t *testing.T) {
	got := newRig(t, nil).do(post("guarded", ""))
	if want := `{"error":{"code":403,"message":"Approval needed","approval":{"id":"abc"}}}`; got.Code != http.StatusForbidden || got.Body.String() != want {
		t.Errorf("%d %s, want 403 %s", got.Code, got.Body, want)
	}
	if outcome := got.Header().Get("X-Remit-Outcome"); outcome != "pending" {
		t.Errorf("outcome %q, want pending", outcome)
	}
}

func TestRateLimit(t *testing.T) {
	r := newRig(t, nil)
	r.do(post("scarce", ""))
	got := r.do(post("scarce", ""))
	if after := got.Header().Get("Retry-After"); got.Code != http.StatusTooManyRequests || after != "60" {
		t.Errorf("%d, Retry-After %q; want 429 and 60", got.Code, after)
	}
	if other := r.do(post("scarce", "", "X-Test-Principal", "ann")); other.Code != http.StatusOK {
		t.Errorf("another caller is limited too: %d", other.Code)
	}
}

// TestRetryAfterOnlyIfSafe checks that clients are not told to repeat a write.
func TestRetryAfterOnlyIfSafe(t *testing.T) {
	for tool, want := range map[string]string{"look": "1", "replace": "1", "note": ""} {
		r := newRig(t, nil)
		r.handler = func(context.Context, in) (out, error) {
			return out{}, contract.Errorf(contract.Unavailable, "The store is down")
		}
		got := r.do(post(tool, ""))
		if after := got.Header().Get("Retry-After"); got.Code != http.StatusServiceUnavailable || after != want {
			t.Errorf("%s: %d, Retry-After %q; want 503 and %q", tool, got.Code, after, want)
		}
	}
}

// TestWrongMethod checks the response to other methods, also beside a catch-all route.
func TestWrongMethod(t *testing.T) {
	r := newRig(t, nil)
	r.mux.HandleFunc("/", func(http.ResponseWriter, *http.Request) { t.Error("the catch-all route was called") })
	for path, allow := range map[string]string{
		"/tools": "GET, HEAD", "/tools/look": "GET, HEAD, POST", "/health": "GET, HEAD", "/metrics": "GET, HEAD",
	} {
		got := r.do(httptest.NewRequest(http.MethodDelete, path, http.NoBody))
		if got.Code != http.StatusMethodNotAllowed || got.Header().Get("Allow") != allow || !json.Valid(got.Body.Bytes()) {
			t.Errorf("%s: %d, Allow %q, %s; want 405 and %q", path, got.Code, got.Header().Get("Allow"), got.Body, allow)
		}
	}
}

func TestAuditRecord(t *testing.T) {
	r := newRig(t, nil)
	r.do(post("look", "", "X-Test-Principal", "ann", "User-Agent", strings.Repeat("é", 60)))
	r.do(post("look", "not JSON")) // never became a call
	records := r.Records()
	if len(records) != 2 || records[1].Tool != "refused/no_call" {
		t.Fatalf("%d records, want a call and a body that is none", len(records))
	}
	got := records[0]
	if got.Frontend != "http" || got.Principal != "ann" || got.Client != strings.Repeat("é", 50) || got.Tool != "demo/look" || got.Outcome != "ok" {
		t.Errorf("recorded %+v", got)
	}
}

func TestProgressIsDropped(t *testing.T) {
	r := newRig(t, nil)
	r.handler = reportProgress
	if got := r.do(post("long", "")); got.Body.String() != `{"said":"done"}` {
		t.Errorf("%d %s", got.Code, got.Body)
	}
}

func TestReadOnly(t *testing.T) {
	r := newRig(t, func(o *engine.Options) { o.ReadOnly = true })
	if got := r.do(post("note", "")); got.Code != http.StatusForbidden || !strings.Contains(got.Body.String(), "read_only is true") {
		t.Errorf("%d %s, want 403", got.Code, got.Body)
	}
	if got := r.get("/tools").Body.String(); strings.Contains(got, `"note"`) || !strings.Contains(got, `"look"`) {
		t.Errorf("listed: %s", got)
	}
}

// deadlineRecorder records the deadlines that are set, and has a body that never arrives.
type deadlineRecorder struct {
	*httptest.ResponseRecorder
	set []time.Time
}

func (d *deadlineRecorder) SetReadDeadline(at time.Time) error {
	d.set = append(d.set, at)
	return nil
}

type brokenBody struct{ err error }

func (b brokenBody) Read([]byte) (int, error) { return 0, b.err }

func TestIncompleteBodies(t *testing.T) {
	for _, tc := range []struct {
		err    error
		length int64
		status int
		want   string
	}{
		{os.ErrDeadlineExceeded, 10, http.StatusRequestTimeout, "the body did not arrive within 30s"},
		{io.ErrUnexpectedEOF, 10, http.StatusBadRequest, "the body ended early"},
		{errors.New("not to be read"), 1025, http.StatusRequestEntityTooLarge, "at least 1025 bytes; at most 1024 bytes"},
	} {
		r := newRig(t, nil)
		w := &deadlineRecorder{ResponseRecorder: httptest.NewRecorder()}
		request := post("look", "")
		request.Body, request.ContentLength = io.NopCloser(brokenBody{tc.err}), tc.length
		r.mux.ServeHTTP(w, request)
		if w.Code != tc.status || !strings.Contains(w.Body.String(), tc.want) {
			t.Errorf("%d %s, want %d with %s", w.Code, w.Body, tc.status, tc.want)
		}
		if len(w.set) != 1 || w.set[0].IsZero() {
			t.Errorf("deadlines %v: the rest of the body must stay bounded", w.set)
		}
	}
}

// FuzzPost checks that any body gets JSON with an expected status, and that the tool got what the
// JSON says.
func FuzzPost(f *testing.F) {
	f.Add("look", "application/json", []byte(`{"text":"hi"}`))
	f.Add("note", "", []byte(nil))
	f.Add("lok", "text/plain; charset=utf-8", []byte("null"))
	f.Add("guarded", "application/json;charset=utf-8", []byte("{\"text\":\"\xff\"}"))
	f.Add("a/../b", "application/json", []byte(`{"text":"\ud800"}`))
	r := newRig(f, func(o *engine.Options) { o.Limiter = nil })
	promised := []int{200, 202, 400, 403, 404, 405, 413, 415, 307}
	f.Fuzz(func(t *testing.T, tool, kind string, body []byte) {
		request := post("look", string(body), "Content-Type", kind)
		request.URL.Path = "/tools/" + tool
		got := r.do(request)
		if !slices.Contains(promised, got.Code) {
			t.Fatalf("%d %s", got.Code, got.Body)
		}
		if got.Header().Get("Content-Type") == "application/json" && !json.Valid(got.Body.Bytes()) {
			t.Fatalf("not JSON: %q", got.Body)
		}
		if got.Code != http.StatusOK || len(body) == 0 {
			return
		}
		var sent *in
		if err := json.Unmarshal(body, &sent); err != nil {
			t.Fatalf("%q was accepted, but is not JSON: %v", body, err)
		}
	})
}

// TestCallerReason checks that the person who decides can read why the caller wants the call.
func TestCallerReason(t *testing.T) {
	r := newRig(t, nil)
	r.do(post("guarded", `{"text":"a"}`, "Remit-Reason", "The guide says só.", "User-Agent", "bot/1"))
	if want := (approval.Origin{Frontend: "http", Client: "bot/1", CallerReason: "The guide says só."}); r.asked.Origin != want {
		t.Errorf("asked %+v, want %+v", r.asked.Origin, want)
	}
}
