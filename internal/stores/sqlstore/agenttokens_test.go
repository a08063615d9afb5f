package sqlstore_test

import (
	"context"
	"testing"
	"time"

	"remit/internal/contract"
	"remit/internal/engine/identity"
	"remit/internal/engine/identity/identitytest"
)

func TestAgentTokens(t *testing.T) {
	t.Parallel()
	engines(t, func(t *testing.T, url func(t *testing.T) string) {
		identitytest.Tokens(t, func(t *testing.T) identity.TokenStore { return open(t, url(t)).AgentTokens() })
	})
}

// tokensAt returns an issuer of tokens that are stored at url.
func tokensAt(t *testing.T, url, secret, place string) *identity.Tokens {
	t.Helper()
	store := open(t, url).AgentTokens()
	return &identity.Tokens{
		Store:     func(context.Context) (identity.TokenStore, error) { return store, nil },
		Secret:    func() ([]byte, error) { return []byte(secret), nil },
		Workspace: place,
		Now:       noon,
	}
}

func newToken(name string) identity.NewToken {
	return identity.NewToken{Name: name, User: "ada", Scopes: identity.Scopes{{Set: "tasks"}: true}, Expires: noon().Add(time.Hour), By: "cli:grace"}
}

func issued(t *testing.T, tokens *identity.Tokens, n identity.NewToken) string {
	t.Helper()
	secret, _, err := tokens.Create(t.Context(), n)
	if err != nil {
		t.Fatal(err)
	}
	return secret
}

// TestDatabaseCannotGrant checks that no change of a row gives its token more rights, or makes it
// someone else's token.
func TestDatabaseCannotGrant(t *testing.T) {
	engines(t, func(t *testing.T, url func(t *testing.T) string) {
		for name, statement := range map[string]string{
			"scopes":           `UPDATE agent_tokens SET scopes = '*:read,*:write' WHERE name = 'mine'`,
			"unreadable scope": `UPDATE agent_tokens SET scopes = 'everything' WHERE name = 'mine'`,
			"another user":     `UPDATE agent_tokens SET user_id = '*' WHERE name = 'mine'`,
			"another name":     `UPDATE agent_tokens SET name = 'yours' WHERE name = 'mine'`,
			"no end":           `UPDATE agent_tokens SET expires_at = NULL WHERE name = 'mine'`,
			"no rate":          `UPDATE agent_tokens SET rate_requests = 0, rate_per = 0 WHERE name = 'mine'`,
			"a later end":      `UPDATE agent_tokens SET expires_at = expires_at + 1 WHERE name = 'mine'`,
			"no seal":          `UPDATE agent_tokens SET seal = '' WHERE name = 'mine'`,
			"the secret of another": `UPDATE agent_tokens SET hash = 'x' || hash WHERE name = 'mine';
				UPDATE agent_tokens SET hash = (SELECT substr(hash, 2) FROM agent_tokens WHERE name = 'mine') WHERE name = 'rich'`,
		} {
			t.Run(name, func(t *testing.T) {
				at := url(t)
				tokens := tokensAt(t, at, "secret", "/w")
				limited := newToken("mine")
				limited.Rate.Requests, limited.Rate.Per = 1, time.Second
				secret := issued(t, tokens, limited)
				issued(t, tokens, newToken("rich"))
				if _, err := tokens.Check(t.Context(), secret); err != nil {
					t.Fatal(err)
				}
				behind(t, at, statement)
				if got, err := tokens.Check(t.Context(), secret); err == nil || contract.AsError(err).Kind != contract.Denied {
					t.Errorf("it accepts %q, error %v", got.Name, err)
				}
			})
		}
	})
}

// TestTokensOfAnotherMachine checks that a database copied from another machine grants nothing, and
// makes a server require tokens: a lost key looks the same.
func TestTokensOfAnotherMachine(t *testing.T) {
	engines(t, func(t *testing.T, url func(t *testing.T) string) {
		at := url(t)
		secret := issued(t, tokensAt(t, at, "their secret", "/w"), newToken("ci"))
		for name, ours := range map[string]*identity.Tokens{"another machine": tokensAt(t, at, "our secret", "/w"), "another workspace": tokensAt(t, at, "their secret", "/other")} {
			if _, err := ours.Check(t.Context(), secret); contract.AsError(err).Kind != contract.Denied {
				t.Errorf("%s: %v, want denied", name, err)
			}
			if needed, err := ours.AnyCreated(t.Context()); err != nil || !needed {
				t.Errorf("%s: callers need no token: %v", name, err)
			}
			if list, err := ours.List(t.Context()); err != nil || len(list) != 1 || !list[0].Foreign {
				t.Errorf("%s: the list is %v, error %v", name, list, err)
			}
		}
	})
}

func TestTokensSurviveReopening(t *testing.T) {
	engines(t, func(t *testing.T, url func(t *testing.T) string) {
		at := url(t)
		secret := issued(t, tokensAt(t, at, "secret", "/w"), newToken("ci"))
		again := tokensAt(t, at, "secret", "/w")
		if got, err := again.Check(t.Context(), secret); err != nil || got.Name != "ci" || got.User != "ada" || got.Scopes.String() != "tasks:read" {
			t.Errorf("got %v, error %v", got, err)
		}
		if _, err := again.Revoke(t.Context(), "ci"); err != nil {
			t.Fatal(err)
		}
		if _, err := tokensAt(t, at, "secret", "/w").Check(t.Context(), secret); contract.AsError(err).Kind != contract.Denied {
			t.Errorf("a revoked token is accepted: %v", err)
		}
	})
}

func BenchmarkCheckToken(b *testing.B) {
	store := open(b, "sqlite://"+b.TempDir()+"/remit.db").AgentTokens()
	tokens := &identity.Tokens{
		Store:  func(context.Context) (identity.TokenStore, error) { return store, nil },
		Secret: func() ([]byte, error) { return []byte("secret"), nil },
		Now:    noon,
	}
	secret, _, err := tokens.Create(b.Context(), newToken("ci"))
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		if _, err := tokens.Check(b.Context(), secret); err != nil {
			b.Fatal(err)
		}
	}
}
