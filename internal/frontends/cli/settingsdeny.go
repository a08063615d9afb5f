package cli

import (
	"strings"

	"remit/internal/contract"
)

// deny resolves the paths that no tool may read, besides secrets. Unlike other settings, the
// patterns of flag, environment and file add up: each can only deny more.
func (r *resolver) deny(s *Settings) error {
	_, origin := r.lookup("deny")
	for _, from := range r.sources("deny") {
		patterns := splitGlobs(from.Value)
		if _, err := contract.NewSecretPolicy(patterns); err != nil {
			return r.file.wrongValue("deny", from.Origin, err)
		}
		s.Deny = append(s.Deny, patterns...)
	}
	r.record("deny", strings.Join(s.Deny, ","), origin)
	return nil
}

// sources returns what flag, environment and file say about a setting, highest precedence first.
func (r *resolver) sources(key string) []Value {
	var found []Value
	s := settingNamed(key)
	// "token create" has a flag --elicitation of its own, which is no setting.
	if f := r.flags.Lookup(s.flag()); f != nil && f.Changed && (f.Value.Type() == "bool") == (s.fallback == "false") {
		found = append(found, Value{Key: key, Value: f.Value.String(), Origin: FromFlag})
	}
	if text, ok := r.env("REMIT_" + strings.ToUpper(key)); ok && text != "" {
		found = append(found, Value{Key: key, Value: text, Origin: FromEnv})
	}
	if text, ok := r.file.settings[key]; ok {
		found = append(found, Value{Key: key, Value: text, Origin: FromFile})
	}
	return found
}

// splitGlobs splits a list at its commas, except those within braces and brackets.
func splitGlobs(text string) []string {
	var parts []string
	depth, start := 0, 0
	for i := range len(text) {
		switch text[i] {
		case '{', '[':
			depth++
		case '}', ']':
			depth--
		case ',':
			if depth == 0 {
				parts, start = append(parts, text[start:i]), i+1
			}
		}
	}
	var globs []string
	for _, part := range append(parts, text[start:]) {
		if part = strings.TrimSpace(part); part != "" {
			globs = append(globs, part)
		}
	}
	return globs
}
