// Package identitytest provides test suites for implementations of identity.TokenStore and
// identity.SessionStore.
package identitytest

import (
	"context"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"remit/internal/contract"
	"remit/internal/contract/contracttest"
	"remit/internal/engine/identity"
	"remit/internal/engine/ratelimit"
)

// Tokens tests a TokenStore. open returns an empty store that lives until the end of its test.
func Tokens(t *testing.T, open func(t *testing.T) identity.TokenStore) {
	for name, check := range map[string]func(*testing.T, identity.TokenStore){
		"Add stores every field":                      addStores,
		"Add rejects the name of a live token":        addRejects,
		"Add accepts a name that is free again":       addFreed,
		"concurrent Add has one winner":               concurrentAdd,
		"Add rejects too many":                        addMany,
		"Add deletes tokens that ended a year before": addDeletesOld,
		"ByHash":                           byHash,
		"List all, newest first":           listTokens,
		"Revoke by id and by name":         revoke,
		"Revoke the live token of a name":  revokeLive,
		"Revoke again changes nothing":     revokeAgain,
		"Revoke rejects unknown tokens":    revokeNothing,
		"Replace keeps the secret":         replace,
		"Replace only a live token":        replaceEnded,
		"Use never goes back in time":      use,
		"a cancelled call changes nothing": cancelledToken,
		"names and users in any script":    anyWriting,
	} {
		t.Run(name, func(t *testing.T) { check(t, open(t)) })
	}
}

// noon is the time of all calls in the suites. Stores have microsecond precision.
var noon = time.Date(2026, 8, 1, 12, 0, 0, 123456000, time.UTC)

func token(id, name string) identity.Token {
	return identity.Token{
		ID: id, Name: name, User: "ada", Scopes: identity.Scopes{{Set: "tasks"}: true, {Set: identity.AnySet, Write: true}: true},
		Rate: ratelimit.Rate{Requests: 600, Per: time.Minute}, By: "cli:grace",
		Created: noon, Expires: noon.Add(time.Hour), Hash: "hash of " + id, Seal: "seal of " + id,
	}
}

func addStores(t *testing.T, s identity.TokenStore) {
	full, bare := token("t1", "ci"), token("t2", "bare")
	bare.User, bare.Rate, bare.Expires, bare.Created = "", ratelimit.Rate{}, time.Time{}, noon.Add(-time.Second)
	bare.Scopes = identity.Scopes{{Set: "books"}: true}
	bare.Elicits = true
	person := token("t3", "bot")
	person.User, person.Scopes, person.Role, person.Created = "", nil, identity.Approver, noon.Add(-time.Minute)
	add(t, s, full, bare, person)
	contracttest.Equal(t, list(t, s), []identity.Token{full, bare, person})
}

func addRejects(t *testing.T, s identity.TokenStore) {
	add(t, s, token("t1", "ci"))
	again := token("t2", "ci")
	again.Created = noon.Add(time.Hour - time.Microsecond)
	contracttest.WantError(t, s.Add(t.Context(), again), contract.Conflict, "ci")
	add(t, s, token("t3", "CI"))
	if n := len(list(t, s)); n != 2 {
		t.Errorf("%d tokens are kept, want 2", n)
	}
}

func addFreed(t *testing.T, s identity.TokenStore) {
	add(t, s, token("t1", "ci"))
	later := token("t2", "ci")
	later.Created, later.Expires = noon.Add(time.Hour), time.Time{}
	add(t, s, later)
	if _, err := s.Revoke(t.Context(), "t2", later.Created); err != nil {
		t.Fatal(err)
	}
	last := token("t3", "ci")
	last.Created = later.Created
	add(t, s, last)
	contracttest.Equal(t, ids(list(t, s)), "t3 t2 t1")
}

func concurrentAdd(t *testing.T, s identity.TokenStore) {
	var added atomic.Int32
	contracttest.Concurrently(16, func(i int) {
		err := s.Add(t.Context(), token(fmt.Sprint("t", i), "ci"))
		switch {
		case err == nil:
			added.Add(1)
		case contract.AsError(err).Kind != contract.Conflict:
			t.Errorf("add: %v", err)
		}
	})
	if n := added.Load(); n != 1 || len(list(t, s)) != 1 {
		t.Errorf("%d tokens of one name were added, %d are kept", n, len(list(t, s)))
	}
}

func addMany(t *testing.T, s identity.TokenStore) {
	contracttest.Concurrently(8, func(worker int) {
		for i := worker; i < identity.MaxTokens; i += 8 {
			if err := s.Add(t.Context(), token(fmt.Sprint("t", i), fmt.Sprint("n", i))); err != nil {
				t.Errorf("add: %v", err)
			}
		}
	})
	contracttest.WantError(t, s.Add(t.Context(), token("x", "one too many")), contract.Limited, "1000")
	if _, err := s.Revoke(t.Context(), "n7", noon); err != nil {
		t.Fatal(err)
	}
	add(t, s, token("x", "one too many"))
}

func addDeletesOld(t *testing.T, s identity.TokenStore) {
	revoked, lasting := token("t2", "b"), token("t3", "c")
	revoked.Expires, lasting.Expires = time.Time{}, time.Time{}
	add(t, s, token("t1", "a"), revoked, lasting)
	if _, err := s.Revoke(t.Context(), "t2", noon.Add(time.Hour)); err != nil {
		t.Fatal(err)
	}
	year := noon.Add(time.Hour).AddDate(1, 0, 0)
	for i, c := range []struct {
		at   time.Time
		want string
	}{{year.Add(-time.Microsecond), "n0 t3 t2 t1"}, {year, "n1 n0 t3"}} {
		next := token(fmt.Sprint("n", i), fmt.Sprint("n", i))
		next.Created, next.Expires = c.at, time.Time{}
		add(t, s, next)
		contracttest.Equal(t, ids(list(t, s)), c.want)
	}
}

func byHash(t *testing.T, s identity.TokenStore) {
	want := token("t1", "ci")
	add(t, s, want, token("t2", "other"))
	got, found, err := s.ByHash(t.Context(), want.Hash)
	if err != nil || !found {
		t.Fatalf("found %v, error %v", found, err)
	}
	contracttest.Equal(t, got, want)
	for _, hash := range []string{"", "hash", "%", "HASH OF t1", want.Hash + " "} {
		if got, found, err := s.ByHash(t.Context(), hash); err != nil || found {
			t.Errorf("hash %q found %q, error %v", hash, got.ID, err)
		}
	}
}

func listTokens(t *testing.T, s identity.TokenStore) {
	if got := list(t, s); len(got) != 0 {
		t.Errorf("an empty store lists %s", ids(got))
	}
	for i, id := range []string{"b", "a", "c"} {
		n := token(id, "name of "+id)
		n.Created = noon.Add(time.Duration(i) * time.Second)
		add(t, s, n)
	}
	contracttest.Equal(t, ids(list(t, s)), "c a b")
}

func revoke(t *testing.T, s identity.TokenStore) {
	add(t, s, token("t1", "ci"), token("t2", "t1"))
	for _, c := range []struct{ given, want string }{{"t1", "t1"}, {"t1", "t1"}, {"ci", "t1"}, {"t2", "t2"}} {
		got, err := s.Revoke(t.Context(), c.given, noon.Add(time.Minute))
		if err != nil || got.ID != c.want || !got.Revoked.Equal(noon.Add(time.Minute)) {
			t.Errorf("revoke %s: %s at %s, error %v, want %s", c.given, got.ID, got.Revoked, err, c.want)
		}
	}
	want := token("t1", "ci")
	want.Revoked = noon.Add(time.Minute)
	got, _, err := s.ByHash(t.Context(), want.Hash)
	if err != nil {
		t.Fatal(err)
	}
	contracttest.Equal(t, got, want)
}

func revokeLive(t *testing.T, s identity.TokenStore) {
	add(t, s, token("t9", "ci"))
	next := token("t1", "ci")
	next.Created = noon.Add(time.Hour)
	add(t, s, next) // the first has expired
	for _, want := range []string{"t1", "t9", "t1"} {
		if got, err := s.Revoke(t.Context(), "ci", next.Created); err != nil || got.ID != want {
			t.Errorf("revoked %s, error %v, want %s", got.ID, err, want)
		}
	}
}

func revokeAgain(t *testing.T, s identity.TokenStore) {
	add(t, s, token("t1", "ci"))
	first, err := s.Revoke(t.Context(), "ci", noon.Add(time.Minute))
	if err != nil {
		t.Fatal(err)
	}
	again, err := s.Revoke(t.Context(), "t1", noon.Add(time.Hour))
	if err != nil {
		t.Fatal(err)
	}
	contracttest.Equal(t, again, first)
}

func revokeNothing(t *testing.T, s identity.TokenStore) {
	add(t, s, token("t1", "ci"))
	for _, name := range []string{"", "t", "c", "%", "ci ", "CI", "nul \x00", "no UTF-8 \xff"} {
		_, err := s.Revoke(t.Context(), name, noon)
		contracttest.WantError(t, err, contract.NotFound)
	}
	if got := list(t, s)[0]; !got.Revoked.IsZero() {
		t.Error("another token was revoked")
	}
}

func replace(t *testing.T, s identity.TokenStore) {
	add(t, s, token("t1", "ci"), token("t2", "other"))
	narrow := token("t3", "ci")
	narrow.Hash, narrow.User, narrow.Scopes, narrow.Rate.Requests = "hash of t1", "", identity.Scopes{{Set: "tasks"}: true}, 60
	narrow.Expires = noon.Add(time.Minute)
	if err := s.Replace(t.Context(), "t1", narrow); err != nil {
		t.Fatal(err)
	}
	contracttest.Equal(t, list(t, s), []identity.Token{narrow, token("t2", "other")})
	again := token("t4", "ci")
	// The name is still taken.
	contracttest.WantError(t, s.Add(t.Context(), again), contract.Conflict, "ci")
}

func replaceEnded(t *testing.T, s identity.TokenStore) {
	add(t, s, token("t1", "ci"))
	narrow := token("t2", "ci")
	// It has another secret.
	contracttest.WantError(t, s.Replace(t.Context(), "t1", narrow), contract.Conflict)
	narrow.Hash = "hash of t1"
	contracttest.WantError(t, s.Replace(t.Context(), "t9", narrow), contract.Conflict)
	if _, err := s.Revoke(t.Context(), "t1", noon); err != nil {
		t.Fatal(err)
	}
	contracttest.WantError(t, s.Replace(t.Context(), "t1", narrow), contract.Conflict)
	if got := list(t, s); len(got) != 1 || got[0].ID != "t1" {
		t.Errorf("the store has %+v", got)
	}
}

func use(t *testing.T, s identity.TokenStore) {
	add(t, s, token("t1", "ci"), token("t2", "other"))
	for _, c := range []struct{ at, want time.Duration }{{time.Minute, time.Minute}, {0, time.Minute}, {time.Hour, time.Hour}} {
		if err := s.Use(t.Context(), "t1", noon.Add(c.at)); err != nil {
			t.Fatal(err)
		}
		got, _, err := s.ByHash(t.Context(), "hash of t1")
		if err != nil || !got.Used.Equal(noon.Add(c.want)) {
			t.Errorf("used at %s, error %v, want %s", got.Used, err, noon.Add(c.want))
		}
	}
	if err := s.Use(t.Context(), "nothing", noon); err != nil {
		t.Errorf("a token that is not there: %v", err)
	}
	if got, _, err := s.ByHash(t.Context(), "hash of t2"); err != nil || !got.Used.IsZero() {
		t.Errorf("another token was used at %s, error %v", got.Used, err)
	}
}

func cancelledToken(t *testing.T, s identity.TokenStore) {
	add(t, s, token("t1", "ci"))
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := s.Revoke(ctx, "ci", noon); err == nil {
		t.Error("a cancelled revocation was acknowledged")
	}
	if err := s.Add(ctx, token("t2", "other")); err == nil {
		t.Error("a cancelled token was acknowledged")
	}
	if got := list(t, s); len(got) != 1 || !got[0].Revoked.IsZero() {
		t.Errorf("a cancelled call changed something: %v", got)
	}
}

func anyWriting(t *testing.T, s identity.TokenStore) {
	want := token("t1", "Übersetzer 翻訳 'x' \"y\" %_ 🤖")
	want.User = "ünï@例え"
	add(t, s, want)
	contracttest.Equal(t, list(t, s), []identity.Token{want})
	if _, err := s.Revoke(t.Context(), want.Name, noon); err != nil {
		t.Error(err)
	}
}

func add(t *testing.T, s identity.TokenStore, tokens ...identity.Token) {
	t.Helper()
	for _, n := range tokens {
		if err := s.Add(t.Context(), n); err != nil {
			t.Fatalf("add %s: %v", n.ID, err)
		}
	}
}

func list(t *testing.T, s identity.TokenStore) []identity.Token {
	t.Helper()
	got, err := s.List(t.Context())
	if err != nil {
		t.Fatalf("list: %v", err)
	}
	return got
}

func ids(tokens []identity.Token) string {
	var all []string
	for _, n := range tokens {
		all = append(all, n.ID)
	}
	return strings.Join(all, " ")
}
