package identity

import (
	"context"
	"fmt"
	"slices"
	"time"

	"remit/internal/contract"
	"remit/internal/engine/ratelimit"
)

// Narrowing describes what a token may still do. It never allows more than the token does.
type Narrowing struct {
	Scopes  Scopes
	User    string         // see NewToken
	Rate    ratelimit.Rate // zero: none of its own
	Expires time.Time      // zero: never
}

// Narrow takes rights from a live token of an agent. Its secret stays the same, but its id changes:
// a database that is put back has only the old id, which the anchor knows as revoked, so the rights
// do not come back. For the same reason, streams and links that the old rights opened end. The
// error is a contract.Invalid, a contract.NotFound, or a contract.Conflict if the token is not
// live.
func (t *Tokens) Narrow(ctx context.Context, id string, n Narrowing) (Token, error) {
	list, err := t.List(ctx)
	if err != nil {
		return Token{}, err
	}
	i := slices.IndexFunc(list, func(one Token) bool { return one.ID == id })
	if i < 0 {
		return Token{}, TokenNotFound(id)
	}
	old, now := list[i], truncated(t.Now())
	n.Expires = truncated(n.Expires)
	if err := n.check(&old, now); err != nil {
		return Token{}, err
	}
	store, key, err := t.open(ctx)
	if err != nil {
		return Token{}, err
	}
	narrow := old
	narrow.ID, narrow.Scopes, narrow.User, narrow.Rate, narrow.Expires = NewID(), n.Scopes, n.User, n.Rate, n.Expires
	narrow.Seal = narrow.seal(key)
	narrow.DescribeIn(ctx)
	if err := store.Replace(ctx, old.ID, narrow); err != nil {
		return Token{}, fmt.Errorf("narrow token: %w", err)
	}
	if t.Anchor != nil {
		if _, err := t.Anchor.End(ctx, anchorToken+old.ID, now, old.Expires); err != nil {
			return Token{}, contract.Errorf(contract.Unavailable, "The token was narrowed, but a restored database could undo that: "+
				"the key folder cannot be written; revoke the token and create another").Because(err)
		}
	}
	return narrow, nil
}

// check returns an error if the token is not live or would get a right that it has not.
func (n *Narrowing) check(old *Token, now time.Time) error {
	switch {
	case !old.Live(now):
		return NotLive(old.Name)
	case old.Role != NoRole:
		return contract.Errorf(contract.Invalid, "The token of a person has no scopes; revoke it instead")
	case len(n.Scopes) == 0:
		return contract.Errorf(contract.Invalid, "A token needs at least one scope; revoke it instead")
	case n.User != old.User && n.User != "" && old.User != AnyUser:
		return contract.Errorf(contract.Invalid, "user must be %q or empty: the token has no right to the data of others", old.User)
	case !old.Expires.IsZero() && (n.Expires.IsZero() || n.Expires.After(old.Expires)):
		return contract.Errorf(contract.Invalid, "The expiry must not be later than %s, which is that of the token", old.Expires.Format(time.RFC3339))
	case !n.Expires.IsZero() && !n.Expires.After(now):
		return contract.Errorf(contract.Invalid, "The expiry is in the past; revoke the token instead")
	case old.Rate.Requests > 0 && (n.Rate.Requests == 0 || contract.Rate(n.Rate).IsLooser(contract.Rate(old.Rate))):
		return contract.Errorf(contract.Invalid, "The rate must not be higher than %s, which is that of the token", contract.Rate(old.Rate))
	}
	for scope := range n.Scopes {
		if !old.Scopes.Has(scope.Set, scope.Write) {
			return contract.Errorf(contract.Invalid, "The token has no scope %s, and narrowing adds none", scope)
		}
	}
	if n.Rate != (ratelimit.Rate{}) {
		if err := n.Rate.Check(); err != nil {
			return contract.Errorf(contract.Invalid, "The rate of a token must be positive, such as 600/min").Because(err)
		}
	}
	return checkUser(n.User)
}

// NotLive returns the error for a token that cannot be narrowed, because it has ended.
func NotLive(name string) error {
	return contract.Errorf(contract.Conflict, "The token %q is no longer valid; create another", name)
}
