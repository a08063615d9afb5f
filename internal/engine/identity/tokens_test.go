package identity_test

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"remit/internal/contract"
	"remit/internal/engine/identity"
	"remit/internal/engine/ratelimit"
)

var noon = time.Date(2026, 8, 1, 12, 0, 0, 123456789, time.UTC)

// clock is a clock that the test sets.
type clock struct{ at time.Time }

func (c *clock) now() time.Time { return c.at }

func newTokens(store *memory, c *clock) *identity.Tokens {
	return &identity.Tokens{
		Store:     func(context.Context) (identity.TokenStore, error) { return store, nil },
		Secret:    func() ([]byte, error) { return []byte("a secret of the machine"), nil },
		Workspace: "/w", Now: c.now,
	}
}

func wanted(name string) identity.NewToken {
	return identity.NewToken{
		Name: name, User: "ada", Scopes: identity.Scopes{{Set: "tasks"}: true}, Rate: ratelimit.Rate{Requests: 600, Per: time.Minute},
		Expires: noon.Add(time.Hour), By: "cli:grace",
	}
}

func create(t *testing.T, tokens *identity.Tokens, n identity.NewToken) (string, identity.Token) {
	t.Helper()
	secret, made, err := tokens.Create(t.Context(), n)
	if err != nil {
		t.Fatal(err)
	}
	return secret, made
}

func TestCreateAndCheck(t *testing.T) {
	store, c := &memory{}, &clock{noon}
	tokens := newTokens(store, c)
	secret, made := create(t, tokens, wanted("ci"))
	if !regexp.MustCompile(`^remit_[A-Za-z0-9_-]{49}$`).MatchString(secret) {
		t.Errorf("the secret is %s", secret)
	}
	got, err := tokens.Check(t.Context(), secret)
	if err != nil {
		t.Fatal(err)
	}
	made.Used = got.Used
	if diff := cmp.Diff(made, got); diff != "" {
		t.Errorf("differs (-made +checked):\n%s", diff)
	}
	if got.Principal() != "agent:ci" || got.Grant().User != "ada" || !got.Grant().Scopes.Has("tasks", false) ||
		got.Grant().Scopes.Has("tasks", true) {
		t.Errorf("%s may do %v", got.Principal(), got.Grant())
	}
	if kept := fmt.Sprintf("%+v", store.tokens); strings.Contains(kept, secret[6:]) || strings.Contains(kept, secret[6:49]) {
		t.Error("the secret is kept")
	}
	other, _ := create(t, tokens, wanted("other"))
	if other == secret {
		t.Error("two tokens have one secret")
	}
}

func TestCheckRejects(t *testing.T) {
	store, c := &memory{}, &clock{noon}
	tokens := newTokens(store, c)
	good, _ := create(t, tokens, wanted("ci"))
	revoked, _ := create(t, tokens, wanted("gone"))
	if _, err := tokens.Revoke(t.Context(), "gone"); err != nil {
		t.Fatal(err)
	}
	typo := []byte(good)
	typo[20] ^= 1
	for _, tc := range []struct {
		name, secret string
		after        time.Duration
		want         string
	}{
		{"nothing", "", 0, "mistyped or cut off"},
		{"another kind", "ghp_" + strings.Repeat("x", 40), 0, "mistyped or cut off"},
		{"a typo", string(typo), 0, "mistyped or cut off"},
		{"a part of it", good[:len(good)-1], 0, "mistyped or cut off"},
		{"more than it", good + "x", 0, "mistyped or cut off"},
		{"very long", good + strings.Repeat("x", 1<<20), 0, "mistyped or cut off"},
		{"one that was never made", secretOfAnother(t), 0, "unknown"},
		{"a revoked one", revoked, 0, `"gone" was revoked at 2026-08-01T12:00:00Z`},
		{"an expired one", good, time.Hour, `"ci" expired at 2026-08-01T13:00:00Z`},
	} {
		t.Run(tc.name, func(t *testing.T) {
			c.at = noon.Add(tc.after)
			_, err := tokens.Check(t.Context(), tc.secret)
			denied(t, err, tc.want)
			if tc.secret != "" && strings.Contains(err.Error(), tc.secret) {
				t.Errorf("the error contains the secret: %v", err)
			}
		})
	}
	c.at = noon.Add(time.Hour - time.Microsecond)
	if _, err := tokens.Check(t.Context(), good); err != nil {
		t.Errorf("at the last moment: %v", err)
	}
}

func secretOfAnother(t *testing.T) string {
	t.Helper()
	secret, _ := create(t, newTokens(&memory{}, &clock{noon}), wanted("ci"))
	return secret
}

func denied(t *testing.T, err error, words ...string) {
	t.Helper()
	if err == nil {
		t.Error("it is let in")
		return
	}
	e := contract.AsError(err)
	if e.Kind != contract.Denied {
		t.Errorf("an error of kind %s, want denied: %v", e.Kind, err)
	}
	for _, word := range words {
		if !strings.Contains(e.Message, word) {
			t.Errorf("%q does not say %q", e.Message, word)
		}
	}
}

func TestCreateRejects(t *testing.T) {
	for name, tc := range map[string]struct {
		change func(*identity.NewToken)
		kind   contract.Kind
		want   string
	}{
		"no name":     {func(n *identity.NewToken) { n.Name = "" }, contract.Invalid, "name is needed"},
		"a long name": {func(n *identity.NewToken) { n.Name = strings.Repeat("ü", 65) }, contract.Invalid, "65 characters"},
		"a line break": {
			func(n *identity.NewToken) { n.Name = "ci\nadmin" }, contract.Invalid,
			`"ci\nadmin" contains an invisible character at byte 2`,
		},
		"marks of direction":   {func(n *identity.NewToken) { n.Name = "ci\u202enimda" }, contract.Invalid, "invisible character"},
		"nothing to be seen":   {func(n *identity.NewToken) { n.Name = "ci\u200b" }, contract.Invalid, "invisible character"},
		"a blank letter":       {func(n *identity.NewToken) { n.Name = "ci\u3164" }, contract.Invalid, "invisible character at byte 2"},
		"another kind of room": {func(n *identity.NewToken) { n.Name = "c\u00a0i" }, contract.Invalid, "invisible character"},
		"a space at the end":   {func(n *identity.NewToken) { n.Name = "ci " }, contract.Invalid, "begins or ends with a space"},
		"no UTF-8":             {func(n *identity.NewToken) { n.Name = "ci\xff" }, contract.Invalid, "invisible character"},
		"an odd user":          {func(n *identity.NewToken) { n.User = "a\x00" }, contract.Invalid, "user"},
		"a long user":          {func(n *identity.NewToken) { n.User = strings.Repeat("u", 256) }, contract.Invalid, "256 bytes"},
		"no scopes":            {func(n *identity.NewToken) { n.Scopes = nil }, contract.Invalid, "at least one scope"},
		"half a rate":          {func(n *identity.NewToken) { n.Rate.Per = 0 }, contract.Invalid, "rate"},
		"a negative rate":      {func(n *identity.NewToken) { n.Rate.Requests = -1 }, contract.Invalid, "rate"},
		"expired already": {
			func(n *identity.NewToken) { n.Expires = noon }, contract.Invalid,
			"The expiry 2026-08-01T12:00:00Z is in the past",
		},
		"a name that is taken": {func(n *identity.NewToken) { n.Name = "taken" }, contract.Conflict, "revoke it first"},
	} {
		t.Run(name, func(t *testing.T) {
			tokens := newTokens(&memory{}, &clock{noon})
			create(t, tokens, wanted("taken"))
			n := wanted("ci")
			tc.change(&n)
			secret, _, err := tokens.Create(t.Context(), n)
			if e := contract.AsError(err); err == nil || e.Kind != tc.kind || !strings.Contains(e.Message, tc.want) || secret != "" {
				t.Errorf("got %v, want %s: %s", err, tc.kind, tc.want)
			}
		})
	}
	for _, name := range []string{"c", "CI of team Ü", strings.Repeat("界", 64), "a replacement \uFFFD"} {
		create(t, newTokens(&memory{}, &clock{noon}), wanted(name))
	}
}

func TestUseIsNotedOnceAMinute(t *testing.T) {
	store, c := &memory{}, &clock{noon}
	tokens := newTokens(store, c)
	secret, _ := create(t, tokens, wanted("ci"))
	for _, step := range []struct {
		after time.Duration
		uses  int
	}{{0, 1}, {time.Second, 1}, {time.Minute - 1, 1}, {time.Minute, 2}, {2*time.Minute - 1, 2}, {10 * time.Minute, 3}} {
		c.at = noon.Add(step.after)
		var wg sync.WaitGroup
		for range 8 {
			wg.Go(func() {
				if _, err := tokens.Check(t.Context(), secret); err != nil {
					t.Error(err)
				}
			})
		}
		wg.Wait()
		if store.uses != step.uses {
			t.Errorf("after %s it was noted %d times, want %d", step.after, store.uses, step.uses)
		}
	}
	// Another process has just noted it.
	if _, err := newTokens(store, c).Check(t.Context(), secret); err != nil || store.uses != 3 {
		t.Errorf("noted %d times, error %v", store.uses, err)
	}
}

func TestMissingDatabaseIsNotCreated(t *testing.T) {
	tokens := &identity.Tokens{
		Store: func(context.Context) (identity.TokenStore, error) {
			t.Error("the store was opened")
			return nil, errors.ErrUnsupported
		},
		Secret: func() ([]byte, error) { t.Error("the secret was read"); return nil, errors.ErrUnsupported },
		Exists: func() bool { return false },
		Now:    func() time.Time { return noon },
	}
	_, err := tokens.Check(t.Context(), secretOfAnother(t))
	denied(t, err, "unknown")
	if list, err := tokens.List(t.Context()); err != nil || len(list) != 0 {
		t.Errorf("listed %v, error %v", list, err)
	}
	if live, err := tokens.AnyCreated(t.Context()); err != nil || live {
		t.Errorf("there is a live token, error %v", err)
	}
	if _, err := tokens.Revoke(t.Context(), "ci"); contract.AsError(err).Kind != contract.NotFound {
		t.Errorf("revoked: %v", err)
	}
}

func TestAny(t *testing.T) {
	store, c := &memory{}, &clock{noon}
	tokens := newTokens(store, c)
	check := func(what string, want bool) {
		t.Helper()
		if live, err := tokens.AnyCreated(t.Context()); err != nil || live != want {
			t.Errorf("%s: live %v, error %v", what, live, err)
		}
	}
	check("at first", false)
	create(t, tokens, wanted("ci"))
	check("with one", true)
	c.at = noon.Add(time.Hour)
	check("once it has expired", true)
	lasting := wanted("other")
	lasting.Expires = time.Time{}
	create(t, tokens, lasting)
	check("with one that lasts", true)
	if _, err := tokens.Revoke(t.Context(), "other"); err != nil {
		t.Fatal(err)
	}
	check("once it is revoked", true)
}

// TestStoreFails checks that nobody gets access while the store fails, and that the error asks to
// try again.
func TestStoreFails(t *testing.T) {
	store, c := &memory{}, &clock{noon}
	tokens := newTokens(store, c)
	secret, _ := create(t, tokens, wanted("ci"))
	store.fail = errors.New("the disk is on fire")
	_, err := tokens.Check(t.Context(), secret)
	if e := contract.AsError(err); err == nil || e.Kind != contract.Unavailable || strings.Contains(e.Message, "fire") {
		t.Errorf("got %v, want unavailable", err)
	}
	if _, err := tokens.AnyCreated(t.Context()); err == nil {
		t.Error("it was said that there is no token")
	}
}

func FuzzCheck(f *testing.F) {
	tokens := newTokens(&memory{}, &clock{noon})
	good, _, err := tokens.Create(f.Context(), wanted("ci"))
	if err != nil {
		f.Fatal(err)
	}
	for _, seed := range []string{"", "remit_", good, good[:54], "remit_" + strings.Repeat("A", 49), strings.ToUpper(good)} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, secret string) {
		got, err := tokens.Check(t.Context(), secret)
		if secret == good {
			if err != nil || got.Name != "ci" {
				t.Errorf("the good one: %v", err)
			}
			return
		}
		denied(t, err)
	})
}
