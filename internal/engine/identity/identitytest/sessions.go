package identitytest

import (
	"context"
	"testing"
	"time"

	"remit/internal/contract/contracttest"
	"remit/internal/engine/identity"
)

// Sessions tests a SessionStore. open returns an empty store that lives until the end of its test.
func Sessions(t *testing.T, open func(t *testing.T) identity.SessionStore) {
	for name, check := range map[string]func(*testing.T, identity.SessionStore){
		"Add stores every field":           sessionStored,
		"Add deletes expired sessions":     sessionDeleted,
		"List all, newest first":           sessionsListed,
		"Touch never goes back in time":    sessionTouched,
		"End deletes a session for good":   sessionEnded,
		"Voided returns the latest time":   linksVoided,
		"a cancelled call changes nothing": sessionCancelled,
	} {
		t.Run(name, func(t *testing.T) { check(t, open(t)) })
	}
}

func session(hash string) identity.Session {
	return identity.Session{
		Hash: hash, Name: "Grâce 'x'", Role: identity.Approver, Created: noon, Expires: noon.Add(identity.SessionLength),
		Seen: noon, Seal: "seal of " + hash,
	}
}

func sessionStored(t *testing.T, s identity.SessionStore) {
	for _, role := range []identity.Role{identity.Viewer, identity.Approver, identity.Admin} {
		want := session("hash of " + role.String())
		want.Role = role
		begin(t, s, want)
		contracttest.Equal(t, found(t, s, want.Hash), want)
	}
	for _, hash := range []string{"", "hash", "%", "HASH OF admin"} {
		missing(t, s, hash)
	}
}

func sessionDeleted(t *testing.T, s identity.SessionStore) {
	begin(t, s, session("a"))
	for _, c := range []struct {
		hash string
		at   time.Duration
		kept bool
	}{{"b", identity.SessionLength - time.Microsecond, true}, {"c", identity.SessionLength, false}} {
		next := session(c.hash)
		next.Created = noon.Add(c.at)
		next.Expires = next.Created.Add(identity.SessionLength)
		begin(t, s, next)
		if _, kept, err := s.ByHash(t.Context(), "a"); err != nil || kept != c.kept {
			t.Errorf("after %s: kept %v, error %v", c.at, kept, err)
		}
	}
	found(t, s, "b")
}

func sessionsListed(t *testing.T, s identity.SessionStore) {
	list := func() []identity.Session {
		t.Helper()
		all, err := s.List(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		return all
	}
	if got := list(); len(got) != 0 {
		t.Errorf("an empty store lists %v", got)
	}
	newer := session("b")
	newer.Created = noon.Add(time.Second)
	begin(t, s, session("c"), newer, session("a"))
	contracttest.Equal(t, list(), []identity.Session{newer, session("a"), session("c")})
}

func sessionTouched(t *testing.T, s identity.SessionStore) {
	begin(t, s, session("a"), session("b"))
	for _, c := range []struct{ at, want time.Duration }{{time.Minute, time.Minute}, {0, time.Minute}, {time.Hour, time.Hour}} {
		if err := s.Touch(t.Context(), "a", noon.Add(c.at)); err != nil {
			t.Fatal(err)
		}
		want := session("a")
		want.Seen = noon.Add(c.want)
		contracttest.Equal(t, found(t, s, "a"), want)
	}
	contracttest.Equal(t, found(t, s, "b"), session("b"))
}

func sessionEnded(t *testing.T, s identity.SessionStore) {
	begin(t, s, session("a"), session("b"))
	for range 2 {
		if err := s.End(t.Context(), "a"); err != nil {
			t.Fatal(err)
		}
		missing(t, s, "a")
	}
	if err := s.Touch(t.Context(), "a", noon); err != nil {
		t.Fatal(err)
	}
	missing(t, s, "a")
	found(t, s, "b")
}

func linksVoided(t *testing.T, s identity.SessionStore) {
	void := func(whose string, until, forget time.Time) {
		if err := s.Void(t.Context(), whose, until, forget); err != nil {
			t.Fatal(err)
		}
	}
	expect := func(want time.Time, whose ...string) {
		t.Helper()
		if got, err := s.Voided(t.Context(), whose...); err != nil || !got.Equal(want) {
			t.Errorf("%q: %v, error %v, want %v", whose, got, err, want)
		}
	}
	expect(time.Time{}, "a", "b")
	void("a", noon, noon)
	void("b", noon.Add(time.Hour), noon)
	void("b", noon.Add(time.Minute), noon) // from a slow clock
	expect(noon, "a")
	expect(noon.Add(time.Hour), "a", "b", "c")
	expect(time.Time{}, "A")
	void("c", noon.Add(2*time.Hour), noon.Add(time.Microsecond))
	expect(time.Time{}, "a")
	expect(noon.Add(time.Hour), "b")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := s.Void(ctx, "d", noon, noon); err == nil {
		t.Error("a cancelled note was acknowledged")
	}
	expect(time.Time{}, "d")
}

func sessionCancelled(t *testing.T, s identity.SessionStore) {
	begin(t, s, session("a"))
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := s.End(ctx, "a"); err == nil {
		t.Error("a cancelled end was acknowledged")
	}
	if err := s.Add(ctx, session("b")); err == nil {
		t.Error("a cancelled session was acknowledged")
	}
	found(t, s, "a")
	missing(t, s, "b")
}

func begin(t *testing.T, s identity.SessionStore, sessions ...identity.Session) {
	t.Helper()
	for _, n := range sessions {
		if err := s.Add(t.Context(), n); err != nil {
			t.Fatalf("add %s: %v", n.Hash, err)
		}
	}
}

func found(t *testing.T, s identity.SessionStore, hash string) identity.Session {
	t.Helper()
	got, ok, err := s.ByHash(t.Context(), hash)
	if err != nil || !ok {
		t.Fatalf("session %s: found %v, error %v", hash, ok, err)
	}
	return got
}

func missing(t *testing.T, s identity.SessionStore, hash string) {
	t.Helper()
	if _, ok, err := s.ByHash(t.Context(), hash); err != nil || ok {
		t.Errorf("session %s: found %v, error %v, want none", hash, ok, err)
	}
}
