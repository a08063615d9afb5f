package httpapi_test

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestToolList(t *testing.T) {
	r := newRig(t, nil)
	got := r.get("/tools")
	var list []map[string]any
	if err := json.Unmarshal(got.Body.Bytes(), &list); err != nil {
		t.Fatal(err)
	}
	if got.Code != http.StatusOK || len(list) != len(tools) {
		t.Errorf("%d, %d tools, want %d", got.Code, len(list), len(tools))
	}
	if strings.Contains(got.Body.String(), "x-redact") {
		t.Error("a keyword that only Remit reads is listed")
	}
	etag := got.Header().Get("Etag")
	request := httptest.NewRequest(http.MethodGet, "/tools", http.NoBody)
	request.Header.Set("If-None-Match", `"other", `+etag)
	if again := r.do(request); again.Code != http.StatusNotModified || again.Body.Len() != 0 {
		t.Errorf("%d with %d bytes for %s, want 304", again.Code, again.Body.Len(), etag)
	}
}

func TestOneTool(t *testing.T) {
	r := newRig(t, nil)
	got := r.get("/tools/guarded")
	var definition map[string]any
	if err := json.Unmarshal(got.Body.Bytes(), &definition); err != nil {
		t.Fatal(err)
	}
	tool, err := r.api.Engine.Find("guarded")
	if err != nil {
		t.Fatal(err)
	}
	delete(definition, "inputSchema")
	delete(definition, "outputSchema")
	want := map[string]any{
		"name": "guarded", "title": "Do something", "description": "Does what the test says.",
		"toolset": "demo", "version": "1.2.3", "digest": tool.Digest, "access": "public",
		"annotations": map[string]any{"readOnlyHint": false, "destructiveHint": false, "idempotentHint": false, "openWorldHint": false},
		"deadline":    map[string]any{"target": "1s", "max": "2m0s"},
		"maxBytes":    1024.0,
		"approval":    map[string]any{"required": true, "window": "1h0m0s"},
	}
	if diff := cmp.Diff(want, definition); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	if scarce := r.get("/tools/scarce").Body.String(); !strings.Contains(scarce, `"rate":"1/min"`) {
		t.Errorf("no rate in %s", scarce)
	}
	missing := r.get("/tools/guard")
	if missing.Code != http.StatusNotFound || !strings.Contains(missing.Body.String(), `did you mean \"guarded\"?`) {
		t.Errorf("%d %s, want 404", missing.Code, missing.Body)
	}
}

func TestHealth(t *testing.T) {
	for _, tc := range []struct {
		name   string
		health func(context.Context) map[string]error
		status int
		want   string
	}{
		{"nothing to check", nil, 200, `{"status":"ok","version":"9.9.9","checks":{}}`},
		{
			"all well",
			func(context.Context) map[string]error { return map[string]error{"store": nil, "audit": nil} },
			200, `{"status":"ok","version":"9.9.9","checks":{"audit":"ok","store":"ok"}}`,
		},
		{
			"one fails",
			func(context.Context) map[string]error {
				return map[string]error{"store": errors.New("open /home/ann/remit.db"), "audit": nil}
			},
			503, `{"status":"failing","version":"9.9.9","checks":{"audit":"ok","store":"failed"}}`,
		},
		{
			"one would never end",
			func(ctx context.Context) map[string]error {
				at, bounded := ctx.Deadline()
				if !bounded || time.Until(at) > time.Minute {
					return nil
				}
				return map[string]error{"store": context.DeadlineExceeded}
			},
			503, `{"status":"failing","version":"9.9.9","checks":{"store":"failed"}}`,
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			r := newRig(t, nil)
			r.api.Health = tc.health
			got := r.get("/health")
			if got.Code != tc.status || got.Body.String() != tc.want || got.Header().Get("Cache-Control") != "no-store" {
				t.Errorf("%d %s, want %d %s", got.Code, got.Body, tc.status, tc.want)
			}
			if failed := tc.status == 503; failed != strings.Contains(r.log.String(), "check=store") {
				t.Errorf("logged: %s", r.log.String())
			}
			head := r.do(httptest.NewRequest(http.MethodHead, "/health", http.NoBody))
			if head.Code != tc.status {
				t.Errorf("HEAD: %d, want %d", head.Code, tc.status)
			}
		})
	}
}
