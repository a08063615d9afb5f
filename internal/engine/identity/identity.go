// Package identity says who calls and what they may do: agents with tokens and scopes, and people
// at the console with roles. It does not read HTTP requests; package auth does.
package identity

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"remit/internal/contract"
	"remit/internal/visible"
)

// Identity is the sender of a request.
type Identity struct {
	Principal string // the name in records and approvals; "" is an anonymous caller
	Grant     *Grant // what they may do; nil allows everything that is served
	// Of a person with a token, which allows nothing but decisions; NoRole for all others.
	Role Role
}

// Owner returns what is bound to the caller: see Grant.Owner.
func (i Identity) Owner() string { return i.Grant.Owner(i.Principal) }

// AnyUser is the User of a grant for the data of every user.
const AnyUser = "*"

// Grant is what somebody may do. A nil Grant, that of a person at this machine, allows everything.
type Grant struct {
	User   string // the user whose data it may access; AnyUser for all, "" for none
	Scopes Scopes
	// Elicits means that an answer in a dialog of the client counts as that of a person.
	Elicits bool
	// Credential is what the caller authenticated with. The links that it gets end with it.
	Credential Credential

	unverifiable error
}

// UnverifiableGrant returns the grant of an anonymous caller while the server cannot find out
// whether callers must authenticate, and why. It allows nothing. The caller should try again
// instead of getting a token.
func UnverifiableGrant(why error) *Grant { return &Grant{unverifiable: why} }

// IsUnverifiable reports whether it is not known if the caller must authenticate.
func (g *Grant) IsUnverifiable() bool { return g != nil && g.unverifiable != nil }

// Allows returns nil if the grant includes the reading, or the writing, tools of a set, and a
// *ScopeError otherwise.
func (g *Grant) Allows(set string, write bool) error {
	if g == nil || g.Scopes.Has(set, write) {
		return nil
	}
	return &ScopeError{Needs: Scope{Set: set, Write: write}}
}

// ActsFor returns a contract.Denied error unless the grant may access the data of this user.
func (g *Grant) ActsFor(user string) error {
	switch {
	case g == nil || g.User == AnyUser || g.User == user && user != "":
		return nil
	case g.User == "":
		return contract.Errorf(contract.Denied, "This token belongs to no user, so it cannot access data of users; create one with --user")
	default:
		return contract.Errorf(contract.Denied, "This token acts only for the user %q, not for %q", g.User, user)
	}
}

// Owner returns what the approvals, tasks, sessions, waiting calls and idempotency keys of a caller
// are bound to: the name and the token. A new token gets nothing of a revoked one with its name.
func (g *Grant) Owner(principal string) string {
	if g == nil || g.Credential.Kind != TokenCredential {
		return principal
	}
	return principal + "\n" + g.Credential.String()
}

// ErrAnonymous is the cause of the error for a call without credentials.
var ErrAnonymous = errors.New("the call has no credentials")

// AnonymousError returns the error for an anonymous caller of something that requires identity.
// what names it.
func AnonymousError(g *Grant, what string) error {
	if g.IsUnverifiable() {
		if own, ok := errors.AsType[*contract.Error](g.unverifiable); ok && own.Kind == contract.Unavailable {
			return own
		}
		return contract.Errorf(contract.Unavailable, "Credentials cannot be checked right now; try again, or see what remit doctor says").
			Because(g.unverifiable)
	}
	return contract.Errorf(contract.Denied, "%s requires an authenticated caller; send a token", what).Because(ErrAnonymous)
}

// ScopeError reports that a token lacks a scope.
type ScopeError struct{ Needs Scope }

func (e *ScopeError) Error() string { return fmt.Sprintf("the token has no scope %s", e.Needs) }

// Role is what a person may do at the console. Each role includes those before it.
type Role int

// The roles. The zero Role may do nothing.
const (
	NoRole   Role = iota
	Viewer        // view everything but the configuration
	Approver      // decide about requests, and use tools
	Admin         // see the configuration, and create and revoke tokens
)

var roleNames = []string{"nobody", "viewer", "approver", "admin"}

func (r Role) String() string {
	if r < NoRole || r > Admin {
		return roleNames[NoRole]
	}
	return roleNames[r]
}

// ParseRole returns the role with this name.
func ParseRole(name string) (Role, error) {
	if i := slices.Index(roleNames, name); i > int(NoRole) {
		return Role(i), nil
	}
	return NoRole, fmt.Errorf("role %q: must be viewer, approver or admin", name)
}

// Person is somebody who is signed in at the console.
type Person struct {
	Name string
	Role Role
}

// Principal returns the person's name in records and approvals.
func (p Person) Principal() string { return "console:" + p.Name }

// maxNameLength is how many characters a name may have.
const maxNameLength = 64

// CheckName returns a contract.Invalid error for a name of a token or a person that people could
// misread. Names are in records, and people base decisions on them.
func CheckName(name string) error {
	switch n := utf8.RuneCountInString(name); {
	case n == 0:
		return contract.Errorf(contract.Invalid, "A name is needed: 1 to %d visible characters", maxNameLength)
	case n > maxNameLength:
		return contract.Errorf(contract.Invalid, "The name has %d characters; at most %d are allowed", n, maxNameLength)
	}
	return checkShown("name", name)
}

// maxUserLength is how many bytes a user id may have.
const maxUserLength = 255

// checkUser returns an error for a user id that no tool would accept.
func checkUser(user string) error {
	if len(user) > maxUserLength {
		return contract.Errorf(contract.Invalid, "The user has %d bytes; at most %d are allowed", len(user), maxUserLength)
	}
	return checkShown("user", user)
}

// checkShown returns an error for a text with invisible characters, such as control characters and
// marks that change the direction of writing.
func checkShown(what, text string) error {
	if strings.TrimSpace(text) != text {
		return contract.Errorf(contract.Invalid, "The %s %q begins or ends with a space", what, text)
	}
	at := visible.Index(text)
	if at < 0 {
		// Other spaces than that of ASCII.
		at = strings.IndexFunc(text, func(r rune) bool { return !unicode.IsPrint(r) })
	}
	if at >= 0 {
		return contract.Errorf(contract.Invalid, "The %s %q contains an invisible character at byte %d", what, text, at)
	}
	return nil
}

// AnySet is the Set of a scope for all toolsets.
const AnySet = "*"

// Scope is the right to call the reading, or the writing, tools of a set.
type Scope struct {
	Set   string
	Write bool
}

func (s Scope) String() string {
	if s.Write {
		return s.Set + ":write"
	}
	return s.Set + ":read"
}

// Scopes are the rights of a token. The right to write does not include the right to read.
type Scopes map[Scope]bool

// Has reports whether the scopes include the reading, or the writing, tools of a set.
func (s Scopes) Has(set string, write bool) bool {
	return s[Scope{set, write}] || s[Scope{AnySet, write}]
}

// List returns the scopes in a fixed order.
func (s Scopes) List() []string {
	var list []string
	for scope := range s {
		list = append(list, scope.String())
	}
	slices.Sort(list)
	return list
}

func (s Scopes) String() string { return strings.Join(s.List(), ",") }

// ParseScopes parses scopes that are separated by commas or spaces: tasks:read, books:write, *:read
// for all toolsets, and "*" or "all" for everything. sets are the toolsets that exist; nil accepts
// any name, as for stored scopes of toolsets that no longer exist.
func ParseScopes(text string, sets []string) (Scopes, error) {
	scopes := Scopes{}
	for _, word := range strings.FieldsFunc(text, func(r rune) bool { return r == ',' || r == ' ' }) {
		if word == AnySet || word == "all" {
			scopes[Scope{AnySet, false}], scopes[Scope{AnySet, true}] = true, true
			continue
		}
		set, right, ok := strings.Cut(word, ":")
		if !ok || right != "read" && right != "write" || set == "" {
			return nil, fmt.Errorf("scope %q: write it as TOOLSET:read or TOOLSET:write, such as tasks:read; "+
				"* stands for all toolsets", word)
		}
		if sets != nil && set != AnySet && !slices.Contains(sets, set) {
			return nil, fmt.Errorf("scope %q: there is no toolset %q%s", word, set, contract.Hint(set, sets))
		}
		scopes[Scope{set, right == "write"}] = true
	}
	if len(scopes) == 0 {
		return nil, fmt.Errorf("name at least one scope, such as tasks:read")
	}
	return scopes, nil
}
