// Package identity says who calls and what they may do: the tokens of agents with
// their scopes, and the people at the console with their roles.
package identity

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

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

// longestName is how many characters a name may have.
const longestName = 64

// CheckName refuses a name of a token or a person that others could misread: it
// stands in records, and people decide by it. The error is a contract.Invalid.
func CheckName(name string) error {
	switch n := utf8.RuneCountInString(name); {
	case n == 0:
		return contract.Errorf(contract.Invalid, "A name is needed: 1 to %d characters that can be seen", longestName)
	case n > longestName:
		return contract.Errorf(contract.Invalid, "The name has %d characters; it may have %d", n, longestName)
	}
	return checkShown("name", name)
}

// longestUser is how many bytes the id of a user may have.
const longestUser = 255

// checkUser refuses an id of a user that no tool would take.
func checkUser(user string) error {
	if len(user) > longestUser {
		return contract.Errorf(contract.Invalid, "The user has %d bytes; it may have %d", len(user), longestUser)
	}
	return checkShown("user", user)
}

// checkShown refuses a text with characters that do not show themselves, such as
// control characters and marks that turn the direction of writing.
func checkShown(what, text string) error {
	if strings.TrimSpace(text) != text {
		return contract.Errorf(contract.Invalid, "The %s %q begins or ends with a space", what, text)
	}
	for i, r := range text {
		if _, size := utf8.DecodeRuneInString(text[i:]); !unicode.IsPrint(r) || r == utf8.RuneError && size == 1 {
			return contract.Errorf(contract.Invalid, "The %s %q has a character that cannot be seen, at byte %d", what, text, i)
		}
	}
	return nil
}

// AnySet is the Set of a scope that goes for all toolsets.
const AnySet = "*"

// Scope is the right to call the tools of a set that read, or those that write.
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

// Scopes are the rights of a token. To write is another right than to read.
type Scopes map[Scope]bool

// Has tells whether the scopes reach the tools of a set that read, or those that write.
func (s Scopes) Has(set string, write bool) bool {
	return s[Scope{set, write}] || s[Scope{AnySet, write}]
}

// List gives the scopes in a fixed order.
func (s Scopes) List() []string {
	var list []string
	for scope := range s {
		list = append(list, scope.String())
	}
	slices.Sort(list)
	return list
}

func (s Scopes) String() string { return strings.Join(s.List(), ",") }

// ParseScopes reads scopes with commas or spaces between: tasks:read, books:write,
// *:read for all toolsets, and "*" or "all" for everything. sets are those that there
// are; nil if any name will do, as in what was stored when there were others.
func ParseScopes(text string, sets []string) (Scopes, error) {
	scopes := Scopes{}
	for _, word := range strings.FieldsFunc(text, func(r rune) bool { return r == ',' || r == ' ' }) {
		if word == AnySet || word == "all" {
			scopes[Scope{AnySet, false}], scopes[Scope{AnySet, true}] = true, true
			continue
		}
		set, right, ok := strings.Cut(word, ":")
		if !ok || right != "read" && right != "write" || set == "" {
			return nil, fmt.Errorf("scope %q: write it as TOOLSET:read or TOOLSET:write, such as tasks:read; * stands for all toolsets", word)
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
