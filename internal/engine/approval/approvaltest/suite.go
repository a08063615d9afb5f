// Package approvaltest provides a test suite for implementations of approval.Store.
package approvaltest

import (
	"bytes"
	"context"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"remit/internal/contract"
	"remit/internal/contract/contracttest"
	"remit/internal/engine/approval"
	"remit/internal/engine/passkey"
)

// Suite tests a store. open returns an empty store that lives until the end of its test.
func Suite(t *testing.T, open func(t *testing.T) approval.Store) {
	for name, check := range map[string]func(*testing.T, approval.Store){
		"Ask stores every field":               askStores,
		"Ask finds the pending request":        askFinds,
		"Ask after expiry":                     askAfterExpiry,
		"Ask after a decision":                 askAfterDecision,
		"concurrent Ask creates one request":   concurrentAsk,
		"Ask limits pending requests":          askTooMany,
		"Take returns decided requests only":   takeDecided,
		"Take returns the oldest first":        takeOldest,
		"Take ignores expired requests":        takeExpired,
		"concurrent Take has one winner":       concurrentTake,
		"Take finds what has changed":          takeChanged,
		"Decided returns what Take takes":      decidedPeeks,
		"Withdraw takes an approval back":      withdraw,
		"Withdraw rejects with a reason":       withdrawRejects,
		"Withdraw or Take wins, not both":      withdrawOrTake,
		"Decide stores the verdict":            decideStores,
		"Decide rejects with a reason":         decideRejects,
		"concurrent Decide has one winner":     concurrentDecide,
		"Get by id and by prefix":              getByPrefix,
		"Get rejects an ambiguous prefix":      getAmbiguous,
		"List pending, newest first":           listPending,
		"List all":                             listAll,
		"WaitingIDs returns the open requests": waiting,
		"List what is selected":                listSelected,
		"List in pages":                        listPages,
		"Waiting counts by group":              waitingGroups,
		"Similar decisions":                    similarDecisions,
		"large arguments stay whole":           largeArguments,
		"a cancelled call changes nothing":     cancelled,
	} {
		t.Run(name, func(t *testing.T) { check(t, open(t)) })
	}
}

// noon is the time of all calls in the suite. Stores have microsecond precision.
var noon = time.Date(2026, 8, 1, 12, 0, 0, 123456000, time.UTC)

func request(id, key string) approval.Request {
	return approval.Request{
		ID: id, Key: key,
		Principal: "ada", Tool: "learning-os/write_file", Version: "1.2.0", Digest: "sha256:abc",
		Arguments: []byte(`{"path":"docs/ü.md"}`), Summary: "Write docs/ü.md", Target: "docs/ü.md",
		Origin: approval.Origin{Frontend: "mcp", Client: "agent 1.0", Session: "s1", CallerReason: "The guide says so."}, AskedSeal: "seal",
		State: approval.Pending, CreatedAt: noon, ExpiresAt: noon.Add(time.Hour),
	}
}

func askStores(t *testing.T, s approval.Store) {
	want := request("a1", "k")
	got := ask(t, s, want)
	contracttest.Equal(t, got, want)
	contracttest.Equal(t, get(t, s, "a1"), want)
}

func askFinds(t *testing.T, s approval.Store) {
	first := ask(t, s, request("a1", "k"))
	again := request("a2", "k")
	again.CreatedAt = first.ExpiresAt.Add(-time.Microsecond)
	contracttest.Equal(t, ask(t, s, again), first)

	if other := ask(t, s, request("a3", "another key")); other.ID != "a3" {
		t.Errorf("another key was answered with request %s", other.ID)
	}
}

func askAfterExpiry(t *testing.T, s approval.Store) {
	first := ask(t, s, request("a1", "k"))
	later := request("a2", "k")
	later.CreatedAt, later.ExpiresAt = first.ExpiresAt, first.ExpiresAt.Add(time.Hour)
	contracttest.Equal(t, ask(t, s, later), later)
	contracttest.Equal(t, get(t, s, "a1"), first)
}

func askAfterDecision(t *testing.T, s approval.Store) {
	ask(t, s, request("a1", "k"))
	decide(t, s, "a1", true)
	if got := ask(t, s, request("a2", "k")); got.ID != "a2" {
		t.Errorf("a decided request was returned as the open question: %s", got.ID)
	}
}

func concurrentAsk(t *testing.T, s approval.Store) {
	var ids sync.Map
	contracttest.Concurrently(16, func(i int) {
		r, err := s.Ask(t.Context(), request(fmt.Sprintf("a%02d", i), "k"))
		if err != nil {
			t.Errorf("ask: %v", err)
		}
		ids.Store(r.ID, true)
	})
	if n := size(&ids); n != 1 {
		t.Errorf("%d open questions about one call, want 1", n)
	}
	if n := len(list(t, s, approval.ListOptions{All: true, Now: noon})); n != 1 {
		t.Errorf("%d requests kept, want 1", n)
	}
}

func askTooMany(t *testing.T, s approval.Store) {
	for i := range approval.MaxPending {
		ask(t, s, request(fmt.Sprint("a", i), fmt.Sprint("k", i)))
	}
	more := request("b", "one too many")
	_, err := s.Ask(t.Context(), more)
	contracttest.WantError(t, err, contract.Limited, strconv.Itoa(approval.MaxPending))
	if n := len(list(t, s, approval.ListOptions{Now: noon, Limit: 2 * approval.MaxPending})); n != approval.MaxPending {
		t.Errorf("%d requests wait, want %d", n, approval.MaxPending)
	}
	if again := ask(t, s, request("c", "k7")); again.ID != "a7" {
		t.Errorf("the open question was answered with %s, want a7", again.ID)
	}
	other := request("d", "of another")
	other.Principal = "bob"
	contracttest.Equal(t, ask(t, s, other), other)

	decide(t, s, "a0", false)
	contracttest.Equal(t, ask(t, s, more), more)
	later := request("e", "when they have expired")
	later.CreatedAt, later.ExpiresAt = noon.Add(time.Hour), noon.Add(2*time.Hour)
	contracttest.Equal(t, ask(t, s, later), later)
}

func takeDecided(t *testing.T, s approval.Store) {
	ask(t, s, request("a1", "k"))
	takeNothing(t, s, "k", noon)
	decide(t, s, "a1", true)
	takeNothing(t, s, "another key", noon)

	want := get(t, s, "a1")
	want.UsedAt = noon.Add(2 * time.Minute)
	contracttest.Equal(t, take(t, s, "k", want.UsedAt), want)
	contracttest.Equal(t, get(t, s, "a1"), want)
	takeNothing(t, s, "k", noon.Add(2*time.Minute))
}

func takeOldest(t *testing.T, s approval.Store) {
	for i, id := range []string{"z1", "a2", "m3"} {
		r := request(id, "k")
		r.CreatedAt = noon.Add(time.Duration(i) * time.Second)
		ask(t, s, r)
		decide(t, s, id, i != 1)
	}
	for _, want := range []string{"z1", "a2", "m3"} {
		if got := take(t, s, "k", noon.Add(2*time.Minute)); got.ID != want {
			t.Errorf("took %s, want %s", got.ID, want)
		}
	}
}

func takeExpired(t *testing.T, s approval.Store) {
	ask(t, s, request("a1", "k"))
	decided := decide(t, s, "a1", true)
	takeNothing(t, s, "k", decided.ExpiresAt)
	takeNothing(t, s, "k", decided.ExpiresAt.Add(time.Hour))
	take(t, s, "k", decided.ExpiresAt.Add(-time.Microsecond))
}

func concurrentTake(t *testing.T, s approval.Store) {
	for attempt := range 8 {
		key := fmt.Sprint("k", attempt)
		ask(t, s, request(fmt.Sprint("a", attempt), key))
		decide(t, s, fmt.Sprint("a", attempt), true)

		var winners sync.Map
		contracttest.Concurrently(16, func(i int) {
			_, found, err := s.Take(t.Context(), key, "", noon)
			if err != nil {
				t.Errorf("take: %v", err)
			}
			if found {
				winners.Store(i, true)
			}
		})
		if n := size(&winners); n != 1 {
			t.Errorf("attempt %d: %d callers got one approval, want 1", attempt, n)
		}
	}
}

func decideStores(t *testing.T, s approval.Store) {
	for _, v := range []approval.Verdict{
		{Approve: true, By: "grace"},
		{Approve: true, By: "ada", Proof: passkey.Proof{Claim: passkey.Claim{"a", "ü"}, Signature: "00ff"}},
		{Approve: false, By: "client", Reason: "not on a Friday"},
	} {
		want := ask(t, s, request("id-"+v.By, "key of "+v.By))
		want.State = approval.Approved
		if !v.Approve {
			want.State = approval.Denied
		}
		want.DecidedBy, want.Reason, want.Proof = v.By, v.Reason, v.Proof.String()
		want.DecidedAt, want.ExpiresAt = noon.Add(time.Minute), noon.Add(3*time.Hour)

		got, err := s.Decide(t.Context(), want.ID, v, want.DecidedAt, want.ExpiresAt)
		if err != nil {
			t.Fatalf("decide: %v", err)
		}
		contracttest.Equal(t, got, want)
		contracttest.Equal(t, get(t, s, want.ID), want)
	}
}

func decideRejects(t *testing.T, s approval.Store) {
	approve := func(id string, now time.Time) error {
		_, err := s.Decide(t.Context(), id, approval.Verdict{Approve: true, By: "eve"}, now, now.Add(time.Hour))
		return err
	}
	contracttest.WantError(t, approve("nothing", noon), contract.NotFound, "nothing")

	ask(t, s, request("a1", "k"))
	// A prefix is enough to read, not to decide.
	contracttest.WantError(t, approve("a", noon), contract.NotFound, "a")
	before := decide(t, s, "a1", false)
	contracttest.WantError(t, approve("a1", noon), contract.Conflict, "a1", "denied", "2026-08-01T12:01:00Z", "grace")
	contracttest.Equal(t, get(t, s, "a1"), before)

	late := ask(t, s, request("b1", "k"))
	contracttest.WantError(t, approve("b1", late.ExpiresAt), contract.Conflict, "b1", "expired", "2026-08-01T13:00:00Z")
	contracttest.Equal(t, get(t, s, "b1"), late)
}

func concurrentDecide(t *testing.T, s approval.Store) {
	ask(t, s, request("a1", "k"))
	var winners sync.Map
	contracttest.Concurrently(16, func(i int) {
		v := approval.Verdict{Approve: i%2 == 0, By: strconv.Itoa(i)}
		_, err := s.Decide(t.Context(), "a1", v, noon, noon.Add(time.Hour))
		switch {
		case err == nil:
			winners.Store(v.By, v)
		case contract.AsError(err).Kind != contract.Conflict:
			t.Errorf("decide: %v", err)
		}
	})
	if n := size(&winners); n != 1 {
		t.Fatalf("%d decisions on one request, want 1", n)
	}
	if by := get(t, s, "a1").DecidedBy; !has(&winners, by) {
		t.Errorf("kept the decision of %s, whose call returned a conflict", by)
	}
}

func getByPrefix(t *testing.T, s approval.Store) {
	for _, id := range []string{"7kq2m", "7kz9w", "7kq2m9"} {
		ask(t, s, request(id, "key of "+id))
	}
	for prefix, want := range map[string]string{"7kz": "7kz9w", "7kz9w": "7kz9w", "7kq2m9": "7kq2m9", "7kq2m": "7kq2m"} {
		if got := get(t, s, prefix); got.ID != want {
			t.Errorf("get %s returned %s, want %s", prefix, got.ID, want)
		}
	}
	// Characters that a person can type are never a pattern.
	for _, id := range []string{"9", "7kz9w0", "7k%", "7k_9", "%", "*", "K"} {
		_, err := s.Get(t.Context(), id)
		contracttest.WantError(t, err, contract.NotFound, id)
	}
	_, err := s.Get(t.Context(), "")
	contracttest.WantError(t, err, contract.Invalid)
}

func getAmbiguous(t *testing.T, s approval.Store) {
	for _, id := range []string{"7kq2m", "7kz9w", "8aaaa"} {
		ask(t, s, request(id, "key of "+id))
	}
	_, err := s.Get(t.Context(), "7k")
	contracttest.WantError(t, err, contract.Invalid, "7kq2m", "7kz9w")
	if strings.Contains(err.Error(), "8aaaa") {
		t.Errorf("an id with another prefix is listed: %v", err)
	}
}

func listPending(t *testing.T, s approval.Store) {
	if got := list(t, s, approval.ListOptions{Now: noon}); len(got) != 0 {
		t.Errorf("an empty store lists %v", ids(got))
	}
	for i := range 5 {
		r := request(fmt.Sprint("a", i), fmt.Sprint("k", i))
		r.CreatedAt = noon.Add(time.Duration(i) * time.Second)
		ask(t, s, r)
	}
	expired := request("b1", "k of b1")
	expired.ExpiresAt = noon.Add(time.Minute)
	ask(t, s, expired)
	decide(t, s, "a3", true)

	at := noon.Add(time.Minute)
	contracttest.Equal(t, ids(list(t, s, approval.ListOptions{Now: at})), "a4 a2 a1 a0")
	contracttest.Equal(t, ids(list(t, s, approval.ListOptions{Now: at, Limit: 2})), "a4 a2")
}

func listAll(t *testing.T, s approval.Store) {
	for i := range 120 {
		r := request(fmt.Sprintf("a%03d", i), fmt.Sprint("k", i))
		r.CreatedAt = noon.Add(time.Duration(i) * time.Second)
		r.Principal = []string{"ada", "bob"}[i%2] // so that neither exceeds the limit
		ask(t, s, r)
	}
	decide(t, s, "a119", false)

	got := list(t, s, approval.ListOptions{All: true, Limit: 1000, Now: noon.Add(24 * time.Hour)})
	if len(got) != 120 || got[0].ID != "a119" || got[119].ID != "a000" {
		t.Errorf("listed %d requests: %s", len(got), ids(got))
	}
	contracttest.Equal(t, got[0], get(t, s, "a119"))
	if n := len(list(t, s, approval.ListOptions{All: true, Now: noon})); n != 100 {
		t.Errorf("no limit listed %d requests, want 100", n)
	}
}

func largeArguments(t *testing.T, s approval.Store) {
	r := request("a1", "k")
	r.Arguments = bytes.Repeat([]byte("\x00\xffremit"), 1<<17)
	ask(t, s, r)
	if got := get(t, s, "a1"); !bytes.Equal(got.Arguments, r.Arguments) {
		t.Errorf("%d bytes of arguments came back as %d others", len(r.Arguments), len(got.Arguments))
	}
}

func cancelled(t *testing.T, s approval.Store) {
	ask(t, s, request("a1", "k"))
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := s.Decide(ctx, "a1", approval.Verdict{Approve: true}, noon, noon.Add(time.Hour)); err == nil {
		t.Error("a cancelled decision was acknowledged")
	}
	if got := get(t, s, "a1"); got.State != approval.Pending {
		t.Errorf("a cancelled decision was kept: %s", got.State)
	}
}
