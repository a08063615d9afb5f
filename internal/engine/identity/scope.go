package identity

import (
	"fmt"
	"slices"
	"strings"

	"remit/internal/contract"
)

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
