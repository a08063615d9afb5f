package contract_test

import (
	"strings"
	"testing"

	"remit/internal/contract"
	"remit/internal/contract/contracttest"
)

func TestSecretPolicy(t *testing.T) {
	var none *contract.SecretPolicy
	for name, want := range contracttest.DeniedNames() {
		for _, path := range everywhere(name) {
			if got := none.Rule(path, false); got != want {
				t.Errorf("%s: denied by %q, want %q", path, got, want)
			}
		}
	}
	for _, name := range contracttest.ReadableNames() {
		for _, path := range everywhere(name) {
			if got := none.Rule(path, false); got != "" {
				t.Errorf("%s: denied by %q", path, got)
			}
		}
	}
	for _, name := range []string{"clientSecret.json", "APIToken.txt", "apiTokens", "dbPassword2.cfg"} {
		if none.Rule(name, false) == "" {
			t.Errorf("%s is not denied", name)
		}
	}
	// Only files hold data: a folder of this name is an ordinary one.
	for name, want := range map[string]bool{"src/token": false, "credentials": false, "x/secrets": true, ".ssh": true, "a.key": true} {
		if got := none.Rule(name, true) != ""; got != want {
			t.Errorf("folder %s: denied %t", name, got)
		}
	}
}

func TestSecretPolicyOfTheOperator(t *testing.T) {
	p, err := contract.NewSecretPolicy([]string{"Drafts/**", "**/*.secret.md", "notes", "R\u00e9sum\u00e9/**", "a\u0308/**"})
	if err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]string{
		"drafts/a.md": "deny: Drafts/**", "DRAFTS/a/b.md": "deny: Drafts/**", "x/y.Secret.md": "deny: **/*.secret.md",
		"notes/x/y.md": "deny: notes", "x/notes/y.md": "", "a.md": "", ".env": ".env*",
		"re\u0301sume\u0301/a.md": "deny: R\u00e9sum\u00e9/**", "r\u00e9sum\u00e9/a.md": "deny: R\u00e9sum\u00e9/**",
		"\u00e4/b.md": "deny: a\u0308/**", "a/b.md": "",
	} {
		if got := p.Rule(path, false); got != want {
			t.Errorf("%s: denied by %q, want %q", path, got, want)
		}
	}
	for _, pattern := range []string{"", "a/", "/a", "./a", "a//b", "[", "../x", "!drafts/**"} {
		if _, err := contract.NewSecretPolicy([]string{pattern}); err == nil {
			t.Errorf("%q is accepted", pattern)
		}
	}
}

// FuzzSecretPolicy checks that no name crashes the policy, and that letter case and folders above
// make no difference.
func FuzzSecretPolicy(f *testing.F) {
	for name := range contracttest.DeniedNames() {
		f.Add(name)
	}
	f.Add("tok\xffen.txt")
	p, err := contract.NewSecretPolicy([]string{"**/private"})
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, name string) {
		denied := p.Rule(name, false) != ""
		if p.Rule(name, true) != "" && !denied {
			t.Errorf("%q is denied as a folder only", name)
		}
		if name != "" && !strings.HasPrefix(name, "/") && denied && p.Rule("docs/"+name, false) == "" {
			t.Errorf("%q is denied, but not in a folder", name)
		}
	})
}
