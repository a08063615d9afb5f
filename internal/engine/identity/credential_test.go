package identity_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"remit/internal/contract"
	"remit/internal/engine/identity"
)

// TestCredentialCheck checks that what a link is bound to is valid exactly as long as its holder
// could authenticate.
func TestCredentialCheck(t *testing.T) {
	c := &clock{noon}
	store := &memory{}
	tokens, signIn := newTokens(store, c), newSignIn(&sessionMemory{}, c)
	var local error
	check := &identity.CredentialCheck{
		Tokens: tokens, SignIn: signIn, Issuer: "https://login.example.com", Local: func(context.Context) error { return local },
	}
	_, live := create(t, tokens, wanted("live"))
	_, gone := create(t, tokens, wanted("gone"))
	if _, err := tokens.Revoke(t.Context(), "gone"); err != nil {
		t.Fatal(err)
	}
	enter(t, signIn)
	expect := func(id string, needs identity.Role, since time.Time, says string) {
		t.Helper()
		err := check.Check(t.Context(), id, needs, since)
		if says == "" && err == nil {
			return
		}
		if err == nil || says == "" || contract.AsError(err).Kind != contract.Denied || !strings.Contains(err.Error(), says) {
			t.Errorf("%s at %s: %v, want %q", id, c.at, err, says)
		}
	}
	person := "person:grace"
	expect(live.Grant().Credential.String(), identity.Viewer, noon, "")
	expect(gone.Grant().Credential.String(), identity.Viewer, noon, `its token "gone" is revoked`)
	expect("token:none", identity.Viewer, noon, "unknown")
	expect(person, identity.Approver, noon, "")
	expect(person, identity.Admin, noon, "signed out")
	expect(person, identity.Viewer, noon.Add(-time.Second), "signed out") // before the session
	expect("person:ada", identity.Viewer, noon, "ada ")
	expect("issuer:https://login.example.com", identity.Viewer, noon, "")
	expect("issuer:https://other.example.com", identity.Viewer, noon, "no longer")
	expect("issuer:", identity.Viewer, noon, "no longer")
	expect("", identity.Viewer, noon, "no longer")
	expect("process:", identity.Viewer, noon, "")
	expect("local:", identity.Viewer, noon, "")
	local = contract.Errorf(contract.Denied, "this server requires a token now")
	expect("local:", identity.Viewer, noon, "requires a token")
	expect("process:", identity.Viewer, noon, "")

	if _, err := signIn.SignOut(t.Context(), "grace"); err != nil {
		t.Fatal(err)
	}
	expect(person, identity.Viewer, noon, "signed out")
	c.at = noon.Add(time.Minute)
	enter(t, signIn) // does not revive old links
	expect(person, identity.Viewer, noon, "signed out")
	c.at = noon.Add(time.Hour)
	expect(live.Grant().Credential.String(), identity.Viewer, noon, `its token "live" is expired`)
	if got := live.Grant().Credential.Expires; !got.Equal(live.Expires) || strings.Contains(live.Grant().Credential.String(), live.Hash) {
		t.Errorf("the credential is %+v", live.Grant().Credential)
	}
}

// TestCredentialsOfAnotherWorkspace checks that a token row of another workspace does not count.
func TestCredentialsOfAnotherWorkspace(t *testing.T) {
	store, c := &memory{}, &clock{noon}
	_, made := create(t, newTokens(store, c), wanted("ci"))
	other := newTokens(store, c)
	other.Workspace = "/other"
	if err := other.Live(t.Context(), made.ID); err == nil || contract.AsError(err).Kind != contract.Denied {
		t.Errorf("error %v", err)
	}
	other.Store = func(context.Context) (identity.TokenStore, error) { return nil, errors.New("the database is away") }
	if err := other.Live(t.Context(), made.ID); err == nil || contract.AsError(err).Kind != contract.Unavailable {
		t.Errorf("with the database away: error %v", err)
	}
}
