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
