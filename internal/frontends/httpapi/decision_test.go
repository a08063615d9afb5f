package httpapi_test

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"reflect"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"remit/internal/contract"
	"remit/internal/engine/approval"
	"remit/internal/engine/identity"
	"remit/internal/frontends/httpapi"
)

// decisions is an approval.Store with one request that waits. It keeps what was decided.
type decisions struct {
	approval.Store
	request approval.Request
	decided []approval.Verdict
}

func (d *decisions) Get(_ context.Context, id string) (approval.Request, error) {
	if id != d.request.ID {
		return approval.Request{}, contract.Errorf(contract.NotFound, "There is no request %s", id)
	}
	return d.request, nil
}

func (d *decisions) Decide(_ context.Context, _ string, v approval.Verdict, _, _ time.Time) (approval.Request, error) {
	d.decided = append(d.decided, v)
	return d.request, nil
}

// newDecisions returns the routes of an API where a person decides about one request, the request,
// and the reasons why others were rejected.
func newDecisions(role identity.Role) (*decisions, *http.ServeMux, *[]string) {
	now := time.Date(2026, 1, 9, 10, 0, 0, 0, time.UTC)
	store := &decisions{request: approval.Request{
		ID: "abcdefghij", Key: "k", Tool: "demo/note", State: approval.Pending, CreatedAt: now, ExpiresAt: now.Add(time.Hour), Arguments: []byte("{}"),
	}}
	var rejected []string
	api := &httpapi.API{
		Identity: func(*http.Request) identity.Identity { return identity.Identity{Principal: "person:bot", Role: role} },
		Desk: &approval.Desk{
			Open: func(context.Context) (approval.Store, error) { return store, nil },
			Show: func(context.Context, approval.Request, string) (approval.Shown, error) {
				return approval.Shown{State: "now"}, nil
			},
			Now: func() time.Time { return now },
		},
		Address:  func(*http.Request) string { return "192.0.2.1" },
		Rejected: func(_ *http.Request, reason string) { rejected = append(rejected, reason) },
	}
	mux := http.NewServeMux()
	api.Register(mux)
	return store, mux, &rejected
}

func decide(mux *http.ServeMux, verb, body string) *httptest.ResponseRecorder {
	r := httptest.NewRequest(http.MethodPost, "/approvals/abcdefghij/"+verb, strings.NewReader(body))
	r.Header.Set("Authorization", "Bearer x")
	r.Header.Set("Content-Type", "application/json")
	w := httptest.NewRecorder()
	mux.ServeHTTP(w, r)
	return w
}

// TestOnlyPeopleDecide checks that an agent's token decides nothing and that the attempt is
// recorded, and that a person's decision says where it came from.
func TestOnlyPeopleDecide(t *testing.T) {
	store, mux, rejected := newDecisions(identity.NoRole)
	if w := decide(mux, "approve", `{"shown":"x"}`); w.Code != http.StatusForbidden || len(store.decided) > 0 || len(*rejected) != 1 {
		t.Errorf("an agent: %d %s, decided %v, recorded %q", w.Code, w.Body, store.decided, *rejected)
	}
	store, mux, _ = newDecisions(identity.Approver)
	body, _ := json.Marshal(map[string]string{"shown": store.request.PageMark("now"), "reason": " as\nagreed "})
	w := decide(mux, "approve", string(body))
	want := approval.Verdict{Approve: true, By: "person:bot", Via: "api", Address: "192.0.2.1", Reason: "as agreed", Shown: "now"}
	if w.Code != http.StatusOK || len(store.decided) != 1 || !reflect.DeepEqual(store.decided[0], want) {
		t.Errorf("a person: %d %s, decided %+v", w.Code, w.Body, store.decided)
	}
}

// FuzzDecision checks that no body approves unless it is one JSON object with the mark of what was
// shown, and that a denial needs valid JSON at most.
func FuzzDecision(f *testing.F) {
	mark := approval.Request{ID: "abcdefghij", Key: "k"}.PageMark("now")
	for _, body := range []string{
		"", "{}", `{"shown":"` + mark + `"}`, `{"shown":"` + mark + `","reason":"ok"}`, `{"shown":"` + mark + `"}{}`, `{"shown":["` + mark + `"]}`,
		`{"SHOWN":"` + mark + `"}`, `{"shown":"x","shown":"` + mark + `"}`, `[{"shown":"` + mark + `"}]`, `{"shown":"` + mark + `","verdict":"approve"}`,
		"{\"shown\":\"" + mark + "\",\"reason\":\"\xff\"}", `{"reason":"` + strings.Repeat("x", 1001) + `"}`, "null", `"` + mark + `"`, strings.Repeat("[", 5000),
	} {
		f.Add(body)
	}
	f.Fuzz(func(t *testing.T, body string) {
		for _, verb := range []string{"approve", "deny"} {
			store, mux, _ := newDecisions(identity.Approver)
			mark := store.request.PageMark("now")
			w := decide(mux, verb, body)
			if !json.Valid(w.Body.Bytes()) || w.Code >= http.StatusInternalServerError {
				t.Errorf("%s %q: %d %s", verb, body, w.Code, w.Body)
			}
			decided := len(store.decided) == 1
			if decided != (w.Code == http.StatusOK) || len(store.decided) > 1 {
				t.Errorf("%s %q: status %d, decided %v", verb, body, w.Code, store.decided)
			}
			if !decided {
				continue
			}
			v := store.decided[0]
			var sent struct{ Shown, Reason string }
			valid := body == "" || json.Unmarshal([]byte(body), &sent) == nil && utf8.ValidString(body)
			if v.Approve != (verb == "approve") || !valid || v.Approve && sent.Shown != mark || utf8.RuneCountInString(v.Reason) > 1000 {
				t.Errorf("%s %q is decided as %+v", verb, body, v)
			}
		}
	})
}
