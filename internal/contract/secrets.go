package contract

import (
	"fmt"
	"path"
	"slices"
	"strings"
	"unicode"

	"github.com/bmatcuk/doublestar/v4"
	"golang.org/x/text/unicode/norm"
)

// SecretPolicy says which files no tool may read, search, index, import or archive, whatever its
// own path policy allows. It goes by name, at any depth and in any case. The built-in rules always
// hold, also for a nil policy; an operator or a workspace can only add to them.
type SecretPolicy struct {
	deny []string // as written
	fold []string // the same in lower case
}

// NewSecretPolicy returns the policy with further patterns: globs over slash-separated paths
// relative to the workspace root, or to a book.
func NewSecretPolicy(deny []string) (*SecretPolicy, error) {
	p := &SecretPolicy{deny: deny}
	for _, pattern := range deny {
		if err := checkDeny(pattern); err != nil {
			return nil, err
		}
		p.fold = append(p.fold, fold(pattern))
	}
	return p, nil
}

// Guard puts the policy under the path policies of all contracts of the sets.
func (p *SecretPolicy) Guard(sets []*Set) {
	for _, set := range sets {
		for _, c := range set.Contracts {
			for i := range c.Paths {
				c.Paths[i].Secrets = p
			}
		}
	}
}

// fold returns the spelling in which paths and patterns are compared: in lower case, and with
// accents as parts of their letters, which some systems store apart.
func fold(text string) string { return strings.ToLower(norm.NFC.String(text)) }

// checkDeny returns an error for a deny pattern that is invalid or could never match.
func checkDeny(pattern string) error {
	if strings.HasPrefix(pattern, "!") {
		return fmt.Errorf(`%q begins with "!", but no pattern takes back what another denies; write \! for a name that begins with it`, pattern)
	}
	if pattern == "" || !doublestar.ValidatePattern(pattern) {
		return fmt.Errorf("%q is not a valid pattern", pattern)
	}
	if plain := strings.Trim(path.Clean("/"+pattern), "/"); plain != pattern {
		return fmt.Errorf("%q would deny nothing; write %q", pattern, plain)
	}
	return nil
}

// Rule returns the rule that denies a clean path, or "" if none does. folder says that the path is
// that of a folder.
func (p *SecretPolicy) Rule(clean string, folder bool) string {
	lower := fold(clean)
	for at, rest, more := "", lower, true; more; {
		var name string
		name, rest, more = strings.Cut(rest, "/")
		if rule := secretName(name, at); rule != "" {
			return rule
		}
		at = name
	}
	if !folder && isSecretData(path.Base(clean)) {
		return "data files named after credentials, passwords, secrets or tokens"
	}
	if p == nil || len(p.fold) == 0 {
		return ""
	}
	if i := deniedBy(p.fold, lower); i >= 0 {
		return "deny: " + p.deny[i]
	}
	return ""
}

// secretName returns the built-in rule for one element of a path, in lower case; folder is the
// element before it.
func secretName(name, folder string) string {
	switch name {
	case "secrets", ".ssh", ".aws", ".gnupg", ".kube":
		return name + "/"
	case ".netrc", ".npmrc", ".pypirc", ".git-credentials", ".htpasswd":
		return name
	case "config.json":
		if folder == ".docker" {
			return ".docker/config.json"
		}
	}
	if strings.HasPrefix(name, ".env") {
		return ".env*"
	}
	for _, ending := range []string{".env", ".key", ".pem", ".p12", ".pfx", ".jks", ".keystore"} {
		if strings.HasSuffix(name, ending) {
			return "*" + ending
		}
	}
	if strings.HasPrefix(name, "id_") && !strings.HasSuffix(name, ".pub") {
		for _, kind := range []string{"id_rsa", "id_dsa", "id_ecdsa", "id_ed25519"} {
			if strings.HasPrefix(name, kind) {
				return kind + "*"
			}
		}
	}
	if strings.Contains(name, ".tfstate") {
		return "*.tfstate*"
	}
	return ""
}

// isSecretData reports whether a file is a data file, or has no extension, and one of the words in
// its name says that it holds secrets: db-password.txt, clientSecret.json, token. Code and
// documents about them, such as token.go and password-policy.md, are not.
func isSecretData(name string) bool {
	stem := strings.TrimPrefix(name, ".")
	ext := path.Ext(stem)
	switch strings.ToLower(ext) {
	case "", ".json", ".yaml", ".yml", ".toml", ".ini", ".cfg", ".conf", ".txt", ".csv":
	default:
		return false
	}
	for word := range strings.FieldsFuncSeq(strings.TrimSuffix(stem, ext), func(r rune) bool { return !unicode.IsLetter(r) }) {
		if isSecretWord(word) || slices.ContainsFunc(camelWords(word), isSecretWord) {
			return true
		}
	}
	return false
}

// camelWords splits a word like apiToken or APIToken.
func camelWords(word string) []string {
	var words []string
	letters, start := []rune(word), 0
	for i := 1; i < len(letters); i++ {
		if unicode.IsUpper(letters[i]) && (unicode.IsLower(letters[i-1]) || i+1 < len(letters) && unicode.IsLower(letters[i+1])) {
			words = append(words, string(letters[start:i]))
			start = i
		}
	}
	return append(words, string(letters[start:]))
}

func isSecretWord(word string) bool {
	return slices.ContainsFunc([]string{"credentials", "password", "passwords", "secret", "secrets", "token", "tokens"},
		func(secret string) bool { return strings.EqualFold(secret, word) })
}
