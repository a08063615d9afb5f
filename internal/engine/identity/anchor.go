package identity

import (
	"context"
	"time"
)

// Anchor remembers, outside of the database, what a database that is put back, copied or deleted
// must not undo. Every method is safe for concurrent use, also by several processes. An error means
// that nothing can be known, so callers must refuse.
type Anchor interface {
	// Place returns what the seals of the workspace name. It changes when all tokens, sessions and
	// approvals are made invalid.
	Place() (string, error)

	// NeedsIdentity reports whether callers need tokens, because one has existed. If it is not
	// certain, the tokens in the database decide.
	NeedsIdentity(ctx context.Context) (needed, certain bool, err error)
	// RequireIdentity records that callers need tokens from now on.
	RequireIdentity(ctx context.Context) error

	// End records that something was revoked or used, until expires; the zero time is never. It
	// returns fresh only to the first of all callers.
	End(ctx context.Context, key string, now, expires time.Time) (fresh bool, err error)
	// Ended returns when something was revoked or used; false if it was not.
	Ended(key string) (at time.Time, ended bool, err error)

	// Void records that what was made under a key until then is void.
	Void(ctx context.Context, key string, now, until time.Time) error
	// VoidUntil returns the time until which everything that was made under one of the keys is
	// void; the zero time if nothing is.
	VoidUntil(keys ...string) (time.Time, error)
}

// What the keys of an Anchor begin with.
const (
	anchorToken   = "token "
	anchorSession = "session "
	anchorLinks   = "sign-in "
)

// applyAnchor marks a token as revoked that the anchor says was revoked, whatever the database
// says.
func (t *Tokens) applyAnchor(token *Token) error {
	if t.Anchor == nil || !token.Revoked.IsZero() {
		return nil
	}
	at, ended, err := t.Anchor.Ended(anchorToken + token.ID)
	if err != nil {
		return unreachable(err)
	}
	if ended {
		token.Revoked = at
	}
	return nil
}

// voidUntil returns the time until which the anchor says that links and sessions of a person are
// void.
func (s *SignIn) voidUntil(name string) (until time.Time, err error) {
	if s.Anchor == nil {
		return until, nil
	}
	until, err = s.Anchor.VoidUntil(anchorLinks+name, anchorLinks+Everybody)
	if err != nil {
		return until, unreachable(err)
	}
	return until, nil
}

// hasEnded reports whether the anchor says that a session has ended, whatever the database says.
func (s *SignIn) hasEnded(found *Session) (bool, error) {
	if s.Anchor == nil {
		return false, nil
	}
	_, ended, err := s.Anchor.Ended(anchorSession + found.Hash)
	if err != nil {
		return false, unreachable(err)
	}
	until, err := s.voidUntil(found.Name)
	return ended || !until.IsZero() && !found.Created.After(until), err
}
