package identity

import (
	"context"
	"slices"
	"strings"
	"time"

	"remit/internal/contract"
)

// Credential identifies what a caller authenticated with. It contains no secret: links carry it, so
// that they end together with it.
type Credential struct {
	Kind    CredentialKind
	ID      string    // of the token, the person or the issuer
	Expires time.Time // zero: never
}

// CredentialKind is a kind of credential, as links name it.
type CredentialKind string

// The kinds of credentials.
const (
	TokenCredential  CredentialKind = "token"
	PersonCredential CredentialKind = "person" // somebody who is signed in at the console
	IssuerCredential CredentialKind = "issuer" // the token of an OpenID provider
	// LocalCredential is that of a caller while callers need no token.
	LocalCredential CredentialKind = "local"
	// ProcessCredential is that of a client on this machine, over stdio or the command line, while
	// callers over HTTP need a token.
	ProcessCredential CredentialKind = "process"
)

// String returns the text that Check takes.
func (c Credential) String() string { return string(c.Kind) + ":" + c.ID }

// CredentialCheck checks whether the credentials of links are still valid.
type CredentialCheck struct {
	Tokens *Tokens
	SignIn *SignIn
	Issuer string // the configured issuer; "" if there is none
	// Local returns an error if callers need a token.
	Local func(ctx context.Context) error
}

// Check returns nil if a credential that was valid at the time since is still valid. needs is the
// role that a person must have. The error is a contract.Unavailable, or a contract.Denied whose
// message continues a sentence about the link.
func (c *CredentialCheck) Check(ctx context.Context, credential string, needs Role, since time.Time) error {
	kind, id, _ := strings.Cut(credential, ":")
	switch CredentialKind(kind) {
	case TokenCredential:
		return c.Tokens.Live(ctx, id)
	case PersonCredential:
		return c.SignIn.signedInSince(ctx, id, needs, since)
	case IssuerCredential:
		if id != "" && id == c.Issuer {
			return nil // the link ends when the issuer's token does
		}
	case LocalCredential:
		return c.Local(ctx)
	case ProcessCredential:
		return nil
	}
	return contract.Errorf(contract.Denied, "whoever got it can no longer authenticate here")
}

// Live returns nil if the token with this id is valid. The errors are those of
// CredentialCheck.Check.
func (t *Tokens) Live(ctx context.Context, id string) error {
	list, err := t.List(ctx)
	if err != nil {
		return unreachable(err)
	}
	i := slices.IndexFunc(list, func(one Token) bool { return one.ID == id })
	if i < 0 {
		return contract.Errorf(contract.Denied, "its token is unknown here")
	}
	switch state := list[i].State(t.Now()); state {
	case "live":
		return nil
	case "foreign":
		return contract.Errorf(contract.Denied, "its token was not created here")
	default:
		return contract.Errorf(contract.Denied, "its token %q is %s", list[i].Name, state)
	}
}

// signedInSince returns nil if a person has a session that began before and still lasts, with this
// role at least.
func (s *SignIn) signedInSince(ctx context.Context, name string, needs Role, since time.Time) error {
	people, err := s.People(ctx)
	if err != nil {
		return unreachable(err)
	}
	if slices.ContainsFunc(people, func(one Session) bool {
		return one.Name == name && one.Role >= needs && !one.Created.After(since)
	}) {
		return nil
	}
	return contract.Errorf(contract.Denied, "%s has signed out of the console since", name)
}
