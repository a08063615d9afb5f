package contract_test

import (
	"strings"
	"testing"

	"remit/internal/contract"
)

func policyOf(t *testing.T, set string) *contract.PathPolicy {
	t.Helper()
	for _, s := range published(t) {
		if s.Name == set {
			return s.Find("read_repo_file").PathPolicy("path")
		}
	}
	t.Fatalf("there is no set %s", set)
	return nil
}

// everywhere returns a name at the root and in folders, in several letter cases.
func everywhere(name string) []string {
	var all []string
	for _, spelling := range []string{name, strings.ToUpper(name), strings.ToUpper(name[:1]) + name[1:]} {
		all = append(all, spelling, "docs/"+spelling, "a/b/c/"+spelling)
	}
	return all
}

// TestBoosterPaths tests the rule of booster: any file except those that may hold secrets.
func TestBoosterPaths(t *testing.T) {
	policy := policyOf(t, "booster")
	blocked := []string{
		".env", ".envrc", ".env.local", ".env.production", ".environment", "a/.env.local/b", ".env/x",
		"secrets", "secrets/x", "x/secrets", "x/secrets/y/z",
		"key.pem", "a.key", ".key", ".pem", "tls.key/part",
		".git", ".git/config", "sub/.git/hooks/pre-commit", "node_modules", "node_modules/a/b.js", "x/__pycache__/y.pyc",
		"credentials", "credentials.json", "aws-credentials", "my_credentials_old.txt", "password", "password.txt", "api_password",
		"token", "my-token.txt", "token.json", "api_token", "-token", "_token_", "my.env",
	}
	for _, name := range blocked {
		for _, path := range everywhere(name) {
			if !policy.Denies(path) {
				t.Errorf("%s is not denied", path)
			}
		}
	}
	free := []string{
		"README.md", "docs/a.md", ".gitignore", ".github/workflows/ci.yml", "gitconfig", "env", "environment.md", "dot.env.md",
		"secret.md", "secrets.md", "mysecrets/x", "secrets-guide.md",
		"tokenizer.md", "tokens.md", "src/token.go", "docs/password-policy.md", "x.token", "detoken.py", "mytoken.txt", "passwords.md", "passwordless.md", "credential.md", "mycredentials",
		"keys.md", "pem.md", "a.keys", "key", "node_modules.md", "pycache", "paths/Advanced/tracker.md",
	}
	for _, name := range free {
		for _, path := range everywhere(name) {
			if policy.Denies(path) {
				t.Errorf("%s is denied", path)
			}
			if !policy.Allows(path) {
				t.Errorf("%s is not allowed, though this policy allows everything it does not deny", path)
			}
		}
	}
	if policy.Max != 1<<20 {
		t.Errorf("max = %s, want 1MiB", policy.Max)
	}
}

// TestLearningPaths tests the rule of learning-os: the learner's folders, except what is denied.
func TestLearningPaths(t *testing.T) {
	policy := policyOf(t, "learning-os")
	for _, path := range []string{
		"README.md", "CLAUDE.md", "docs", "docs/a.md", "docs/a/b/c.txt", "paths/x", "stacks/y/z.md", ".claude/memory/decisions.jsonl", "docs/.hidden", "docs/.gitignore", "docs/secrets.md", "docs/token.md",
	} {
		if !policy.Allows(path) || policy.Denies(path) {
			t.Errorf("%s: allowed %t, denied %t", path, policy.Allows(path), policy.Denies(path))
		}
	}
	for _, path := range []string{
		"src/main.go", "AGENTS.md", "readme.md", "README.md.bak", "docs2/x", "sub/README.md", "sub/docs/x", ".claude/settings.json", ".claude", "go.mod", "", ".", "..", "/docs/x",
	} {
		if policy.Allows(path) {
			t.Errorf("%s is allowed", path)
		}
	}
	for _, name := range []string{
		".env", ".envrc", ".env.local", ".env.d/x", "secrets", "secrets/x", "a/secrets/b/c", ".git", ".git/config", "..", "a..b", "x/..", "../x", "..x/y",
	} {
		for _, path := range everywhere(name) {
			if !policy.Denies(path) {
				t.Errorf("%s is not denied", path)
			}
		}
	}
}

func TestPathPolicy(t *testing.T) {
	anything := contract.PathPolicy{}
	if !anything.Allows("x/y") || anything.Denies("x/y") {
		t.Error("an empty policy lets everything through")
	}
	folder := contract.PathPolicy{Deny: []string{"private"}}
	for path, want := range map[string]bool{"private": true, "PRIVATE/x/y": true, "x/private": false, "private2": false, "": false, ".": false, "/": false} {
		if folder.Denies(path) != want {
			t.Errorf("Denies(%q) = %t", path, !want)
		}
	}
	c := load(t, goodYAML)
	if c.PathPolicy("path") == nil || c.PathPolicy("text") != nil {
		t.Error("a policy belongs to its argument alone")
	}
}
