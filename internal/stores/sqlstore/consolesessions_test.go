package sqlstore_test

import (
	"context"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"remit/internal/contract"
	"remit/internal/engine/identity"
	"remit/internal/engine/identity/identitytest"
)

func TestConsoleSessions(t *testing.T) {
	t.Parallel()
	engines(t, func(t *testing.T, url func(t *testing.T) string) {
		identitytest.Sessions(t, func(t *testing.T) identity.SessionStore { return open(t, url(t)).ConsoleSessions() })
	})
}

// signInAt returns a sign-in whose sessions are stored at url.
func signInAt(t *testing.T, url, secret, place string) *identity.SignIn {
	t.Helper()
	db := open(t, url)
	return &identity.SignIn{
		Sessions:  func(context.Context) (identity.SessionStore, error) { return db.ConsoleSessions(), nil },
		Secret:    func() ([]byte, error) { return []byte(secret), nil },
		Workspace: place, UseOnce: db.UseOnce, Now: noon,
	}
}

func linkFor(t *testing.T, s *identity.SignIn, role identity.Role) string {
	t.Helper()
	link, err := s.Link(identity.Person{Name: "grace", Role: role}, 10*time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	return link
}

func TestLinkIsSingleUse(t *testing.T) {
	engines(t, func(t *testing.T, url func(t *testing.T) string) {
		at := url(t)
		signIn := signInAt(t, at, "secret", "/w")
		link := linkFor(t, signIn, identity.Approver)
		var in atomic.Int32
		var wg sync.WaitGroup
		for range 8 {
			wg.Go(func() {
				cookie, who, expires, err := signIn.Redeem(t.Context(), link)
				if err != nil {
					if contract.AsError(err).Kind != contract.Denied {
						t.Error(err)
					}
					return
				}
				in.Add(1)
				if want := (identity.Person{Name: "grace", Role: identity.Approver}); who != want || !expires.Equal(noon().Add(12*time.Hour).Truncate(time.Microsecond)) {
					t.Errorf("%v is signed in until %s", who, expires)
				}
				other := signInAt(t, at, "secret", "/w") // a replica
				if got, err := other.Person(t.Context(), cookie); err != nil || got != who {
					t.Errorf("the cookie is that of %v, error %v", got, err)
				}
				if err := other.End(t.Context(), cookie); err != nil {
					t.Error(err)
				}
				if _, err := signIn.Person(t.Context(), cookie); contract.AsError(err).Kind != contract.Denied {
					t.Errorf("after the end: %v", err)
				}
			})
		}
		wg.Wait()
		if n := in.Load(); n != 1 {
			t.Errorf("%d sign-ins with one link", n)
		}
	})
}

// TestDatabaseCannotSignIn checks that no change of a row gives a person more rights, and that
// sessions of another machine or workspace are not valid.
func TestDatabaseCannotSignIn(t *testing.T) {
	t.Parallel()
	engines(t, func(t *testing.T, url func(t *testing.T) string) {
		for name, c := range map[string]struct{ statement, secret, place string }{
			"a role":            {`UPDATE console_sessions SET role = 'admin'`, "secret", "/w"},
			"an unknown role":   {`UPDATE console_sessions SET role = 'root'`, "secret", "/w"},
			"a name":            {`UPDATE console_sessions SET name = 'ada'`, "secret", "/w"},
			"a later end":       {`UPDATE console_sessions SET expires_at = expires_at + 1`, "secret", "/w"},
			"no seal":           {`UPDATE console_sessions SET seal = ''`, "secret", "/w"},
			"another machine":   {`SELECT 1`, "their secret", "/w"},
			"another workspace": {`SELECT 1`, "secret", "/other"},
		} {
			t.Run(name, func(t *testing.T) {
				at := url(t)
				signIn := signInAt(t, at, c.secret, c.place)
				cookie, _, _, err := signIn.Redeem(t.Context(), linkFor(t, signIn, identity.Viewer))
				if err != nil {
					t.Fatal(err)
				}
				behind(t, at, c.statement)
				if who, err := signInAt(t, at, "secret", "/w").Person(t.Context(), cookie); err == nil || contract.AsError(err).Kind != contract.Denied {
					t.Errorf("%v is signed in, error %v", who, err)
				}
			})
		}
	})
}
