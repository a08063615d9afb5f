package httpapi_test

import (
	"context"
	"net/http"
	"strings"
	"testing"

	"remit/internal/contract"
	"remit/internal/engine"
	"remit/internal/engine/idempotency"
	"remit/internal/engine/idempotency/idempotencytest"
)

const keyHeader = "Idempotency-Key"

func keyedRig(t testing.TB) *rig {
	t.Helper()
	keys := &idempotencytest.Memory{}
	return newRig(t, func(o *engine.Options) {
		o.Idempotency = func(context.Context) (idempotency.Store, error) { return keys, nil }
	})
}

// TestKeys checks that a repeated call gets the same response with a header.
func TestKeys(t *testing.T) {
	r := keyedRig(t)
	calls := 0
	r.handler = func(_ context.Context, in in) (out, error) {
		calls++
		return out{in.Text}, nil
	}
	for i, replayed := range []string{"", "true", "true"} {
		got := r.do(post("note", `{"text":"a"}`, keyHeader, "k"))
		if got.Code != http.StatusOK || got.Body.String() != `{"said":"a"}` || got.Header().Get("Idempotency-Replayed") != replayed || got.Header().Get("X-Remit-Outcome") != "ok" {
			t.Errorf("call %d: %d %s %v", i, got.Code, got.Body, got.Header())
		}
	}
	other := r.do(post("note", `{"text":"b"}`, keyHeader, "k"))
	if other.Code != http.StatusConflict || !strings.Contains(other.Body.String(), "was used for another call") || other.Header().Get("Idempotency-Replayed") != "" {
		t.Errorf("another call: %d %s", other.Code, other.Body)
	}
	if calls != 1 {
		t.Errorf("carried out %d times", calls)
	}
}

// TestBadKeys checks that invalid keys are rejected in the error shape of the toolset.
func TestBadKeys(t *testing.T) {
	r := keyedRig(t)
	for name, values := range map[string][]string{
		"empty": {""}, "two words": {"a b"}, "not visible": {"a\x01"}, "not ASCII": {"é"}, "too long": {strings.Repeat("x", 256)},
		"twice": {"a", "b"}, "twice the same": {"a", "a"},
	} {
		request := post("note", `{}`)
		request.Header[keyHeader] = values
		got := r.do(request)
		if got.Code != http.StatusBadRequest || !strings.Contains(got.Body.String(), `{"error":{"code":400,"message":`) || got.Header().Get("X-Remit-Outcome") != "invalid" {
			t.Errorf("%s: %d %s", name, got.Code, got.Body)
		}
	}
	for _, record := range r.Records() {
		if record.Tool != "refused/no_call" {
			t.Errorf("%s was called", record.Tool)
		}
	}
}

// TestRetryAfterWithKey checks that a failed call with a key gets Retry-After.
func TestRetryAfterWithKey(t *testing.T) {
	r := keyedRig(t)
	r.handler = func(context.Context, in) (out, error) {
		return out{}, contract.Errorf(contract.Unavailable, "The store is down")
	}
	if got := r.do(post("note", "", keyHeader, "k")); got.Header().Get("Retry-After") != "1" {
		t.Errorf("%d %s %v", got.Code, got.Body, got.Header())
	}
}

// TestNoRetryAfterUnknownOutcome checks that a call with an unknown outcome gets no Retry-After,
// although its key would make a repeat safe.
func TestNoRetryAfterUnknownOutcome(t *testing.T) {
	r := keyedRig(t)
	r.handler = func(context.Context, in) (out, error) {
		return out{}, contract.Errorf(contract.Unavailable, "Whether it was written is not known").Because(idempotency.ErrUnknown)
	}
	if got := r.do(post("note", "", keyHeader, "k")); got.Code != http.StatusServiceUnavailable || got.Header().Get("Retry-After") != "" {
		t.Errorf("%d %s %v", got.Code, got.Body, got.Header())
	}
}

// TestKeysAreListed checks that definitions name the key header for tools that accept it.
func TestKeysAreListed(t *testing.T) {
	for tool, want := range map[string]bool{"note": true, "look": false} {
		if got := keyedRig(t).get("/tools/" + tool).Body.String(); strings.Contains(got, `"idempotencyKey":"Idempotency-Key"`) != want {
			t.Errorf("%s: %s", tool, got)
		}
	}
	if got := newRig(t, nil).get("/tools/note").Body.String(); strings.Contains(got, "idempotencyKey") {
		t.Errorf("without a store of keys: %s", got)
	}
}

// FuzzKey checks that any key is either valid or rejected.
func FuzzKey(f *testing.F) {
	for _, seed := range []string{"k", "", " ", "a b", "\x00", "é", `"k"`, strings.Repeat("x", 256)} {
		f.Add(seed)
	}
	r := keyedRig(f)
	f.Fuzz(func(t *testing.T, key string) {
		request := post("note", `{}`)
		request.Header[keyHeader] = []string{key}
		want := http.StatusOK
		if idempotency.CheckKey(key) != nil {
			want = http.StatusBadRequest
		}
		if got := r.do(request); got.Code != want {
			t.Errorf("%q: %d %s, want %d", key, got.Code, got.Body, want)
		}
	})
}
