package identity_test

import (
	"context"
	"testing"
	"time"

	"remit/internal/contract"
	"remit/internal/contract/contracttest"
	"remit/internal/engine/identity"
	"remit/internal/engine/ratelimit"
)

// ends is an identity.Anchor that remembers only what has ended.
type ends map[string]time.Time

func (ends) Place() (string, error)                            { return "here", nil }
func (ends) NeedsIdentity(context.Context) (bool, bool, error) { return true, true, nil }
func (ends) RequireIdentity(context.Context) error             { return nil }
func (e ends) End(_ context.Context, key string, now, _ time.Time) (bool, error) {
	_, ended := e[key]
	e[key] = now
	return !ended, nil
}

func (e ends) Ended(key string) (time.Time, bool, error) {
	at, ended := e[key]
	return at, ended, nil
}

func (ends) Void(context.Context, string, time.Time, time.Time) error { return nil }
func (ends) VoidUntil(...string) (time.Time, error)                   { return time.Time{}, nil }

func TestNarrow(t *testing.T) {
	store, c := &memory{}, &clock{noon}
	tokens := newTokens(store, c)
	tokens.Anchor = ends{}
	n := wanted("ci")
	n.Scopes = identity.Scopes{{Set: "tasks"}: true, {Set: identity.AnySet, Write: true}: true}
	secret, made := create(t, tokens, n)
	restored := store.tokens[0]
	narrow, err := tokens.Narrow(t.Context(), made.ID, identity.Narrowing{
		Scopes: identity.Scopes{{Set: "books", Write: true}: true}, Rate: ratelimit.Rate{Requests: 60, Per: time.Minute}, Expires: noon.Add(time.Minute),
	})
	if err != nil {
		t.Fatal(err)
	}
	got, err := tokens.Check(t.Context(), secret)
	if err != nil {
		t.Fatal(err)
	}
	if got.ID == made.ID || got.ID != narrow.ID || got.Name != "ci" || got.User != "" || got.Scopes.String() != "books:write" ||
		got.Rate.Requests != 60 || !got.Expires.Equal(noon.Add(time.Minute).Truncate(time.Microsecond)) {
		t.Errorf("the token is %+v", got)
	}
	contracttest.WantError(t, tokens.Live(t.Context(), made.ID), contract.Denied, "unknown")
	store.tokens[0] = restored // an older copy of the database
	_, err = tokens.Check(t.Context(), secret)
	contracttest.WantError(t, err, contract.Denied, "was revoked")
}

func TestNarrowNeverWidens(t *testing.T) {
	store, c := &memory{}, &clock{noon}
	tokens := newTokens(store, c)
	_, made := create(t, tokens, wanted("ci"))
	same := identity.Narrowing{Scopes: made.Scopes, User: "ada", Rate: made.Rate, Expires: made.Expires}
	for words, change := range map[string]func(*identity.Narrowing){
		"has no scope tasks:write": func(n *identity.Narrowing) { n.Scopes = identity.Scopes{{Set: "tasks", Write: true}: true} },
		"has no scope *:read":      func(n *identity.Narrowing) { n.Scopes = identity.Scopes{{Set: identity.AnySet}: true} },
		"at least one scope":       func(n *identity.Narrowing) { n.Scopes = nil },
		"user must be \"ada\"":     func(n *identity.Narrowing) { n.User = "bob" },
		"user must be \"ada\" or":  func(n *identity.Narrowing) { n.User = identity.AnyUser },
		"must not be later":        func(n *identity.Narrowing) { n.Expires = noon.Add(2 * time.Hour) },
		"must not be later than":   func(n *identity.Narrowing) { n.Expires = time.Time{} },
		"in the past":              func(n *identity.Narrowing) { n.Expires = noon.Add(-time.Hour) },
		"must not be higher":       func(n *identity.Narrowing) { n.Rate = ratelimit.Rate{} },
		"must not be higher than":  func(n *identity.Narrowing) { n.Rate.Requests++ },
		"must be positive":         func(n *identity.Narrowing) { n.Rate = ratelimit.Rate{Requests: 1, Per: -time.Minute} },
	} {
		n := same
		change(&n)
		_, err := tokens.Narrow(t.Context(), made.ID, n)
		contracttest.WantError(t, err, contract.Invalid, words)
	}
	_, err := tokens.Narrow(t.Context(), "nothing", same)
	contracttest.WantError(t, err, contract.NotFound)
	if _, err := tokens.Revoke(t.Context(), made.ID); err != nil {
		t.Fatal(err)
	}
	_, err = tokens.Narrow(t.Context(), made.ID, same)
	contracttest.WantError(t, err, contract.Conflict, "no longer valid")
	person := identity.NewToken{Name: "bot", Role: identity.Approver, By: "cli:grace"}
	_, bot := create(t, tokens, person)
	_, err = tokens.Narrow(t.Context(), bot.ID, identity.Narrowing{Scopes: same.Scopes})
	contracttest.WantError(t, err, contract.Invalid, "of a person")
}

func TestEndSession(t *testing.T) {
	c := &clock{noon}
	s := newSignIn(&sessionMemory{}, c)
	var cookies []string
	for range 2 {
		cookies = append(cookies, enter(t, s))
		c.at = c.at.Add(time.Second)
	}
	list, err := s.People(t.Context()) // newest first
	if err != nil || len(list) != 2 {
		t.Fatalf("%d sessions, error %v", len(list), err)
	}
	if ended, err := s.EndSession(t.Context(), list[1].ID()); err != nil || ended.Name == "" {
		t.Fatalf("ended %+v, error %v", ended, err)
	}
	_, err = s.Person(t.Context(), cookies[0])
	contracttest.WantError(t, err, contract.Denied)
	if _, err := s.Person(t.Context(), cookies[1]); err != nil {
		t.Error(err)
	}
	_, err = s.EndSession(t.Context(), list[1].ID())
	contracttest.WantError(t, err, contract.NotFound)
}
