package identity_test

import (
	"errors"
	"strings"
	"testing"

	"remit/internal/contract"
	"remit/internal/engine/identity"
)

func TestParseScopes(t *testing.T) {
	sets := []string{"tasks", "books", "learning-os"}
	for _, tc := range []struct{ text, want, wrong string }{
		{"tasks:read", "tasks:read", ""},
		{"tasks:write, books:read tasks:write", "books:read,tasks:write", ""},
		{"*:read", "*:read", ""},
		{"*", "*:read,*:write", ""},
		{"all", "*:read,*:write", ""},
		{"", "", "at least one scope"},
		{" , ", "", "at least one scope"},
		{"tasks", "", "TOOLSET:read"},
		{"tasks:admin", "", "TOOLSET:read"},
		{":read", "", "TOOLSET:read"},
		{"task:read", "", `did you mean "tasks"?`},
		{"weather:read", "", "known: tasks, books, learning-os"},
		{"tasks:read:write", "", "TOOLSET:read"},
	} {
		got, err := identity.ParseScopes(tc.text, sets)
		switch {
		case tc.wrong != "":
			if err == nil || !strings.Contains(err.Error(), tc.wrong) {
				t.Errorf("%q: %v, want %q", tc.text, err, tc.wrong)
			}
		case err != nil || got.String() != tc.want:
			t.Errorf("%q: %q, error %v, want %q", tc.text, got, err, tc.want)
		}
	}
	if _, err := identity.ParseScopes("gone:read", nil); err != nil {
		t.Errorf("a set of earlier: %v", err)
	}
}

func TestGrant(t *testing.T) {
	read := &identity.Grant{User: "ada", Scopes: identity.Scopes{{Set: "tasks"}: true}}
	all := &identity.Grant{User: identity.AnyUser, Scopes: identity.Scopes{{Set: identity.AnySet, Write: true}: true}}
	for _, tc := range []struct {
		name  string
		grant *identity.Grant
		set   string
		write bool
		ok    bool
	}{
		{"no grant", nil, "tasks", true, true},
		{"reads", read, "tasks", false, true},
		{"does not write", read, "tasks", true, false},
		{"another set", read, "books", false, false},
		{"any set", all, "books", true, true},
		{"to write is not to read", all, "books", false, false},
		{"no scopes", &identity.Grant{}, "books", false, false},
	} {
		err := tc.grant.Allows(tc.set, tc.write)
		var scope *identity.ScopeError
		if (err == nil) != tc.ok || err != nil && !errors.As(err, &scope) {
			t.Errorf("%s: %v", tc.name, err)
		}
	}
	for _, tc := range []struct {
		name  string
		grant *identity.Grant
		user  string
		ok    bool
	}{
		{"no grant", nil, "bob", true},
		{"their own", read, "ada", true},
		{"another's", read, "bob", false},
		{"another writing", read, "Ada", false},
		{"no user", read, "", false},
		{"any", all, "bob", true},
		{"of no user", &identity.Grant{}, "", false},
		{"of no user, for one", &identity.Grant{}, "ada", false},
	} {
		if err := tc.grant.ActsFor(tc.user); (err == nil) != tc.ok || err != nil && contract.AsError(err).Kind != contract.Denied {
			t.Errorf("%s: %v", tc.name, err)
		}
	}
}

func TestRoles(t *testing.T) {
	for _, role := range []identity.Role{identity.Viewer, identity.Approver, identity.Admin} {
		if got, err := identity.ParseRole(role.String()); err != nil || got != role {
			t.Errorf("%s is read as %s, error %v", role, got, err)
		}
	}
	for _, name := range []string{"", "nobody", "root", "Admin"} {
		if got, err := identity.ParseRole(name); err == nil || got != identity.NoRole {
			t.Errorf("%q is a %s", name, got)
		}
	}
	for _, odd := range []identity.Role{-1, 9} {
		if odd.String() != "nobody" {
			t.Errorf("role %d is %s", int(odd), odd)
		}
	}
}
