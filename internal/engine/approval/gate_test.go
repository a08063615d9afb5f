package approval_test

import (
	"context"
	"encoding/json"
	"errors"
	"regexp"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"remit/internal/contract"
	"remit/internal/engine/approval"
)

func TestParseMode(t *testing.T) {
	for _, want := range []approval.Mode{approval.Ask, approval.Auto, approval.Deny} {
		if got, err := approval.ParseMode(string(want)); got != want || err != nil {
			t.Errorf("ParseMode(%q) = %q, %v", want, got, err)
		}
	}
	for _, s := range []string{"", "Ask", "yes", " auto"} {
		_, err := approval.ParseMode(s)
		if err == nil || !strings.Contains(err.Error(), "ask, auto or deny") {
			t.Errorf("ParseMode(%q): %v", s, err)
		}
	}
}

func TestKey(t *testing.T) {
	base := subject()
	others := map[string]func(*approval.Subject){
		"principal": func(s *approval.Subject) { s.Principal = "eve" },
		"tool":      func(s *approval.Subject) { s.Tool = "learning-os/delete_file" },
		"digest":    func(s *approval.Subject) { s.Digest = "sha256:def" },
		"arguments": func(s *approval.Subject) { s.Arguments = []byte(`{"path":"b"}`) },
		"border":    func(s *approval.Subject) { s.Principal, s.Tool = "adal", "earning-os/write_file" },
	}
	for name, change := range others {
		other := subject()
		if change(&other); other.Key() == base.Key() {
			t.Errorf("another %s has the same key", name)
		}
	}
	same := subject()
	same.Version, same.Summary, same.Window = "9", "other words", time.Minute
	if same.Key() != base.Key() {
		t.Error("fields that are only for people change the key")
	}
	if !regexp.MustCompile(`^[0-9a-f]{64}$`).MatchString(base.Key()) {
		t.Errorf("key %q is no sha256 in hex", base.Key())
	}
}

func TestKeysOfDifferentSubjectsDiffer(t *testing.T) {
	part := rapid.StringOfN(rapid.SampledFrom([]rune("a\x00\x01/")), 0, 4, -1)
	draw := rapid.Custom(func(t *rapid.T) approval.Subject {
		return approval.Subject{
			Principal: part.Draw(t, "principal"), Tool: part.Draw(t, "tool"),
			Digest: part.Draw(t, "digest"), Arguments: []byte(part.Draw(t, "arguments")),
		}
	})
	rapid.Check(t, func(t *rapid.T) {
		a, b := draw.Draw(t, "a"), draw.Draw(t, "b")
		if (a.Key() == b.Key()) != cmp.Equal(a, b) {
			t.Fatalf("equal keys: %v, equal subjects: %v", a.Key() == b.Key(), cmp.Equal(a, b))
		}
	})
}

func TestModesWithoutQuestion(t *testing.T) {
	broken := &fake{fail: errors.New("must not be used")}
	ask := answering(approval.Accepted, nil)
	auto := &approval.Gate{Mode: approval.Auto, Store: broken}
	if _, err := auto.Pass(t.Context(), subject(), ask); err != nil {
		t.Errorf("auto: %v", err)
	}
	deny := &approval.Gate{Mode: approval.Deny, Store: broken}
	_, err := deny.Pass(t.Context(), subject(), ask)
	isError(t, err, contract.Denied, "This server denies every call that needs approval (the setting approve is deny), so learning-os/write_file was not run")
}

func TestPendingSaysHowToContinue(t *testing.T) {
	at := time.Date(2026, 8, 1, 14, 0, 0, 0, time.FixedZone("CEST", 2*60*60))
	g := &approval.Gate{Store: &fake{}, Now: func() time.Time { return at }, NewID: func() string { return "7kq2m" }}
	_, err := g.Pass(t.Context(), subject(), nil)
	isError(t, err, contract.Pending, `Approval needed: request 7kq2m waits for a person, `+
		`who decides in the console or at a terminal. Repeat the same call after that.`)
	details(t, err, `{"approval":{"expires_at":"2026-08-01T12:10:00Z","id":"7kq2m","status":"pending"}}`)
}

func TestApprovalIsForOneCall(t *testing.T) {
	store := &fake{}
	g := &approval.Gate{Mode: approval.Ask, Store: store}
	id := pendingID(t, errorOf(g.Pass(t.Context(), subject(), nil)))
	if again := pendingID(t, errorOf(g.Pass(t.Context(), subject(), nil))); again != id {
		t.Errorf("repeating the call asks again: %s, then %s", id, again)
	}
	decide(t, store, id, approval.Verdict{Approve: true, By: "grace"})
	if _, err := g.Pass(t.Context(), subject(), nil); err != nil {
		t.Fatalf("approved: %v", err)
	}
	if next := pendingID(t, errorOf(g.Pass(t.Context(), subject(), nil))); next == id {
		t.Errorf("the second call waits for the spent request %s", id)
	}
}

func TestDenialIsReturnedOnce(t *testing.T) {
	for reason, message := range map[string]string{
		"not on a Friday": "A person denied this call: not on a Friday",
		"":                "A person denied this call",
	} {
		store := &fake{}
		g := &approval.Gate{Store: store}
		id := pendingID(t, errorOf(g.Pass(t.Context(), subject(), nil)))
		decide(t, store, id, approval.Verdict{By: "grace", Reason: reason})

		_, err := g.Pass(t.Context(), subject(), nil)
		isError(t, err, contract.Denied, message)
		details(t, err, `{"approval":{"id":"`+id+`","status":"denied"}}`)
		pendingID(t, errorOf(g.Pass(t.Context(), subject(), nil)))
	}
}

func TestApprovalIsForThisCallOnly(t *testing.T) {
	store := &fake{}
	g := &approval.Gate{Store: store}
	id := pendingID(t, errorOf(g.Pass(t.Context(), subject(), nil)))
	decide(t, store, id, approval.Verdict{Approve: true})

	for name, change := range map[string]func(*approval.Subject){
		"arguments": func(s *approval.Subject) { s.Arguments = []byte(`{"path":"docs/b.md"}`) },
		"principal": func(s *approval.Subject) { s.Principal = "eve" },
		"digest":    func(s *approval.Subject) { s.Digest = "sha256:def" },
		"tool":      func(s *approval.Subject) { s.Tool = "learning-os/delete_file" },
	} {
		other := subject()
		change(&other)
		if got := pendingID(t, errorOf(g.Pass(t.Context(), other, nil))); got == id {
			t.Errorf("a call with another %s waits for the same request", name)
		}
	}
	if _, err := g.Pass(t.Context(), subject(), nil); err != nil {
		t.Errorf("the approved call itself: %v", err)
	}
}

func TestWindows(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &fake{}
		g := &approval.Gate{Store: store}
		s := subject()
		first := pendingID(t, errorOf(g.Pass(t.Context(), s, nil)))
		time.Sleep(s.Window)
		second := pendingID(t, errorOf(g.Pass(t.Context(), s, nil)))
		if first == second {
			t.Fatal("an expired question is still the one to answer")
		}

		time.Sleep(s.Window - 1)
		decide(t, store, second, approval.Verdict{Approve: true})
		time.Sleep(s.Window - 1) // the window starts again with the answer
		if _, err := g.Pass(t.Context(), s, nil); err != nil {
			t.Errorf("within the window of the answer: %v", err)
		}

		third := pendingID(t, errorOf(g.Pass(t.Context(), s, nil)))
		decide(t, store, third, approval.Verdict{Approve: true})
		time.Sleep(s.Window)
		pendingID(t, errorOf(g.Pass(t.Context(), s, nil)))
	})
}

func TestDefaultWindow(t *testing.T) {
	store := &fake{}
	s := subject()
	s.Window = 0
	id := pendingID(t, errorOf((&approval.Gate{Store: store}).Pass(t.Context(), s, nil)))
	r, err := store.Get(t.Context(), id)
	if err != nil || r.ExpiresAt.Sub(r.CreatedAt) != approval.DefaultWindow {
		t.Errorf("expires %s after creation, error %v", r.ExpiresAt.Sub(r.CreatedAt), err)
	}
}

func TestAskClient(t *testing.T) {
	for name, c := range map[string]struct {
		answer approval.Answer
		err    error
		after  time.Duration
		want   contract.Kind // empty if the call may run
		state  approval.State
	}{
		"accepted":            {answer: approval.Accepted, after: time.Minute, state: approval.Approved},
		"accepted too early":  {answer: approval.Accepted, after: approval.MinAnswerTime - 1, want: contract.Pending, state: approval.Pending},
		"accepted at once":    {answer: approval.Accepted, want: contract.Pending, state: approval.Pending},
		"declined":            {answer: approval.Declined, after: approval.MinAnswerTime, want: contract.Denied, state: approval.Denied},
		"declined too early":  {answer: approval.Declined, after: approval.MinAnswerTime - 1, want: contract.Pending, state: approval.Pending},
		"declined at once":    {answer: approval.Declined, want: contract.Pending, state: approval.Pending},
		"not shown":           {answer: approval.NotShown, after: time.Minute, want: contract.Pending, state: approval.Pending},
		"failed":              {answer: approval.Accepted, err: errors.New("gone"), want: contract.Pending, state: approval.Pending},
		"an unknown answer":   {answer: 7, after: time.Minute, want: contract.Pending, state: approval.Pending},
		"accepted too late":   {answer: approval.Accepted, after: 10 * time.Minute, want: contract.Pending, state: approval.Pending},
		"declined eventually": {answer: approval.Declined, after: 9 * time.Minute, want: contract.Denied, state: approval.Denied},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				store := &fake{}
				g := &approval.Gate{Store: store}
				asked := ""
				_, err := g.Pass(t.Context(), subject(), func(_ context.Context, q approval.Request, _ approval.Shown) (approval.Answer, error) {
					asked = q.ID
					time.Sleep(c.after)
					return c.answer, c.err
				})
				if kind := kindOf(err); kind != c.want {
					t.Errorf("error of kind %q, want %q: %v", kind, c.want, err)
				}
				if c.err != nil && !errors.Is(err, c.err) {
					t.Errorf("the error does not wrap the cause: %v", err)
				}
				r, err := store.Get(t.Context(), asked)
				if err != nil || r.State != c.state {
					t.Errorf("request is %s, want %s (error %v)", r.State, c.state, err)
				}
				if r.State != approval.Pending && (r.DecidedBy != "client" || r.UsedAt.IsZero()) {
					t.Errorf("decided by %q, spent at %s", r.DecidedBy, r.UsedAt)
				}
				if r.State != approval.Pending && r.ExpiresAt.Sub(r.DecidedAt) != subject().Window {
					t.Errorf("the answer counts for %s, want %s", r.ExpiresAt.Sub(r.DecidedAt), subject().Window)
				}
			})
		})
	}
}

// Somebody decides at the console while the client asks: the first decision counts.
func TestDecidedElsewhereMeanwhile(t *testing.T) {
	for name, c := range map[string]struct {
		console bool
		client  approval.Answer
		want    contract.Kind
	}{
		"approved there, declined here":  {console: true, client: approval.Declined},
		"approved there, not shown here": {console: true, client: approval.NotShown},
		"denied there, accepted here":    {console: false, client: approval.Accepted, want: contract.Denied},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				store := &fake{}
				_, err := (&approval.Gate{Store: store}).Pass(t.Context(), subject(),
					func(_ context.Context, q approval.Request, _ approval.Shown) (approval.Answer, error) {
						time.Sleep(time.Second)
						decide(t, store, q.ID, approval.Verdict{Approve: c.console, By: "console"})
						return c.client, nil
					})
				if kind := kindOf(err); kind != c.want {
					t.Errorf("error of kind %q, want %q: %v", kind, c.want, err)
				}
			})
		})
	}
}

// An identical call may use the approval that was given for this one.
func TestAnotherCallUsesTheApproval(t *testing.T) {
	store := &fake{}
	g := &approval.Gate{Store: store}
	asked := ""
	_, err := g.Pass(t.Context(), subject(), func(_ context.Context, q approval.Request, _ approval.Shown) (approval.Answer, error) {
		asked = q.ID
		decide(t, store, q.ID, approval.Verdict{Approve: true})
		if _, err := g.Pass(t.Context(), subject(), nil); err != nil {
			t.Errorf("the other call: %v", err)
		}
		return approval.Accepted, nil
	})
	if id := pendingID(t, err); id == asked {
		t.Error("the caller is sent to a request that is spent")
	}
}

func TestCancelledWhileAsking(t *testing.T) {
	for _, answer := range []approval.Answer{approval.Accepted, approval.Declined, approval.NotShown} {
		store := &fake{}
		ctx, cancel := context.WithCancel(t.Context())
		_, err := (&approval.Gate{Store: store}).Pass(ctx, subject(),
			func(ctx context.Context, _ approval.Request, _ approval.Shown) (approval.Answer, error) {
				cancel()
				return answer, nil
			})
		if !errors.Is(err, context.Canceled) {
			t.Errorf("answer %d: %v, want the context's error", answer, err)
		}
		if left, _ := store.List(t.Context(), approval.ListOptions{Now: time.Now()}); len(left) != 1 {
			t.Errorf("answer %d: %d requests wait, want 1", answer, len(left))
		}
	}
}

func TestStoreFails(t *testing.T) {
	down := errors.New("disk on fire")
	for name, ask := range map[string]approval.Asker{"no client": nil, "a client": answering(approval.Accepted, nil)} {
		_, err := (&approval.Gate{Store: &fake{fail: down}}).Pass(t.Context(), subject(), ask)
		e := contract.AsError(err)
		if e.Kind != contract.Unavailable || !errors.Is(err, down) || strings.Contains(e.Message, "fire") {
			t.Errorf("%s: %v", name, err)
		}
	}
	// The store fails between the question and the answer.
	store := &fake{}
	_, err := (&approval.Gate{Store: store}).Pass(t.Context(), subject(),
		func(context.Context, approval.Request, approval.Shown) (approval.Answer, error) {
			store.fail = down
			return approval.Accepted, nil
		})
	if kindOf(err) != contract.Unavailable {
		t.Errorf("an approval that was not stored: %v", err)
	}
}

func TestConcurrentCallsWithOneApproval(t *testing.T) {
	for range 50 {
		store := &fake{}
		g := &approval.Gate{Store: store}
		decide(t, store, pendingID(t, errorOf(g.Pass(t.Context(), subject(), nil))), approval.Verdict{Approve: true})

		var passed atomic.Int64
		var wg sync.WaitGroup
		for range 8 {
			wg.Go(func() {
				if _, err := g.Pass(t.Context(), subject(), nil); err == nil {
					passed.Add(1)
				} else if kindOf(err) != contract.Pending {
					t.Errorf("pass: %v", err)
				}
			})
		}
		wg.Wait()
		if n := passed.Load(); n != 1 {
			t.Fatalf("%d calls passed on one approval", n)
		}
	}
}

func TestDefaultIDs(t *testing.T) {
	seen := map[string]bool{}
	for i := range 1000 {
		s := subject()
		s.Arguments = []byte{byte(i), byte(i >> 8)}
		id := pendingID(t, errorOf((&approval.Gate{Store: &fake{}}).Pass(t.Context(), s, nil)))
		if !regexp.MustCompile(`^[0-9a-hjkmnp-tv-z]{10}$`).MatchString(id) || seen[id] {
			t.Fatalf("id %q is not ten new characters of Crockford's base32", id)
		}
		seen[id] = true
	}
}

func subject() approval.Subject {
	return approval.Subject{
		Principal: "ada", Tool: "learning-os/write_file", Version: "1.2.0", Digest: "sha256:abc",
		Arguments: []byte(`{"path":"docs/a.md"}`), Window: 10 * time.Minute, Summary: "Write docs/a.md",
	}
}

func answering(a approval.Answer, err error) approval.Asker {
	return func(context.Context, approval.Request, approval.Shown) (approval.Answer, error) { return a, err }
}

func decide(t *testing.T, s approval.Store, id string, v approval.Verdict) {
	t.Helper()
	now := time.Now()
	if _, err := s.Decide(t.Context(), id, v, now, now.Add(subject().Window)); err != nil {
		t.Fatalf("decide: %v", err)
	}
}

// pendingID checks that err reports a pending request, and returns its id.
func pendingID(t *testing.T, err error) string {
	t.Helper()
	if kindOf(err) != contract.Pending {
		t.Fatalf("want an error of kind pending: %v", err)
	}
	id, _ := contract.AsError(err).Details["approval"].(map[string]any)["id"].(string)
	return id
}

func kindOf(err error) contract.Kind {
	if err == nil {
		return ""
	}
	return contract.AsError(err).Kind
}

func isError(t *testing.T, err error, kind contract.Kind, message string) {
	t.Helper()
	if e := contract.AsError(err); e.Kind != kind || e.Message != message {
		t.Errorf("got %s %q\nwant %s %q", e.Kind, e.Message, kind, message)
	}
}

func details(t *testing.T, err error, want string) {
	t.Helper()
	got, marshalErr := json.Marshal(contract.AsError(err).Details)
	if marshalErr != nil || string(got) != want {
		t.Errorf("details %s, want %s (error %v)", got, want, marshalErr)
	}
}

// errorOf returns the error of Pass.
func errorOf(_ approval.Passed, err error) error { return err }

// TestDescribe checks that arguments cannot hide anything, or look like other arguments.
func TestDescribe(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", 100)
	for arguments, want := range map[string]string{
		`{"text":"` + long + `","file":"a.md"}`:                                    "file: \"a.md\"\ntext: \"" + long + "\"\n",
		`{"a":"1\"\nb: \"2","\u202e":"\u3164\u001b[8m\udb40\udc41"}`:               "a: \"1\\\"\\nb: \\\"2\"\n\\u202e: \"\\u3164\\u001b[8m\\udb40\\udc41\"\n",
		`{"a":{"b":["\u0072m",1.50,"` + "a\u0301\u0301\u0301\u0301\u0301" + `"]}}`: `a: {"b":["rm",1.50,"a` + "\u0301\u0301\u0301\u0301" + `\u0301"]}` + "\n",
		"\x1b[2J": `\x1b[2J` + "\n",
	} {
		if got := (approval.Request{Arguments: []byte(arguments)}).Describe(); got != want {
			t.Errorf("%s: %q, want %q", arguments, got, want)
		}
	}
}
