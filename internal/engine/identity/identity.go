// Package identity says who calls and what they may do: the tokens of agents with
// their scopes, and the people at the console with their roles.
package identity

import (
	"errors"
	"fmt"
	"slices"

	"remit/internal/contract"
)

// Identity is who sends a request.
type Identity struct {
	Principal string // as records and approvals name them; "" is nobody
	Grant     *Grant // what they may do; nil is all that is served
}

// AnyUser is the User of a grant that may name every user.
const AnyUser = "*"

// Grant is what somebody may do. A nil Grant may do everything: it is that of a
// person at this machine.
type Grant struct {
	User   string // the one whose data it may name; AnyUser for all, "" for none
	Scopes Scopes
}

// Unsure is the grant of nobody while it cannot be told whether callers have to say who
// they are: it reaches nothing, and is no reason to look for a token.
var Unsure = &Grant{}

// Allows tells whether the grant reaches the tools of a set that read, or those that
// write. The error is a *ScopeError.
func (g *Grant) Allows(set string, write bool) error {
	if g == nil || g.Scopes.Has(set, write) {
		return nil
	}
	return &ScopeError{Needs: Scope{Set: set, Write: write}}
}

// ActsFor returns a contract.Denied error unless the grant may name this user.
func (g *Grant) ActsFor(user string) error {
	switch {
	case g == nil || g.User == AnyUser || g.User == user && user != "":
		return nil
	case g.User == "":
		return contract.Errorf(contract.Denied, "This token belongs to no user, so it cannot reach what users own; make one with --user")
	default:
		return contract.Errorf(contract.Denied, "This token acts for the user %q alone, not for %q", g.User, user)
	}
}

// ErrNobody is why a call is refused that says nothing of who makes it.
var ErrNobody = errors.New("nobody said who is calling")

// Unnamed is the error for whoever has to say who they are, to use what is named.
func Unnamed(g *Grant, what string) error {
	if g == Unsure {
		return contract.Errorf(contract.Unavailable, "Who calls cannot be checked right now; try again")
	}
	return contract.Errorf(contract.Denied, "%s needs to know who is calling; send a token", what).Because(ErrNobody)
}

// ScopeError is a call that the caller's token does not reach.
type ScopeError struct{ Needs Scope }

func (e *ScopeError) Error() string { return fmt.Sprintf("the token has no scope %s", e.Needs) }

// Role is what a person may do at the console. Each may do what those before it may.
type Role int

// The roles. The zero Role may do nothing.
const (
	Nobody   Role = iota
	Viewer        // look at everything but the configuration
	Approver      // decide about requests, and use tools
	Admin         // see the configuration, and make and revoke tokens
)

var roleNames = []string{"nobody", "viewer", "approver", "admin"}

func (r Role) String() string {
	if r < Nobody || r > Admin {
		return roleNames[Nobody]
	}
	return roleNames[r]
}

// ParseRole reads a role by its name.
func ParseRole(name string) (Role, error) {
	if i := slices.Index(roleNames, name); i > int(Nobody) {
		return Role(i), nil
	}
	return Nobody, fmt.Errorf("role %q: must be viewer, approver or admin", name)
}

// Person is who is signed in at the console.
type Person struct {
	Name string
	Role Role
}

// Principal is how records and approvals name the person.
func (p Person) Principal() string { return "console:" + p.Name }
