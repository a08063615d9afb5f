package ignore

import (
	"iter"
	"strings"
)

// A rule is one line of an ignore file.
type rule struct {
	verdict verdict
	include bool // it begins with !
	folder  bool // it applies to folders only
	kind    kind
	text    string // depends on the kind
	pattern pattern
}

// kind says how a rule is matched.
type kind byte

const (
	byName        kind = iota // the name equals the text
	byEnding                  // the name ends with the text
	byPattern                 // the name matches the pattern
	byPath                    // the path equals the text
	byPathPattern             // the path begins with the text, and the pattern matches what follows
)

// lines returns the lines of an ignore file, except comments, without line ends and trailing
// spaces. Like git, it ends a line early at a zero byte.
func lines(content string) iter.Seq[string] {
	return func(yield func(string) bool) {
		content := strings.TrimPrefix(content, "\xef\xbb\xbf")
		for content != "" {
			var line string
			line, content, _ = strings.Cut(content, "\n")
			if line == "" || line[0] == '#' {
				continue
			}
			line, _, _ = strings.Cut(strings.TrimSuffix(line, "\r"), "\x00")
			if !yield(line[:withoutSpaces(line)]) {
				return
			}
		}
	}
}

// withoutSpaces returns the length of a line without trailing spaces. A space after a backslash is
// kept. If nothing follows the last backslash, the line stays as it is, like in git.
func withoutSpaces(line string) int {
	if !strings.HasSuffix(line, " ") {
		return len(line)
	}
	end := 0
	for i := 0; i < len(line); i++ {
		switch line[i] {
		case ' ':
			continue
		case '\\':
			if i++; i == len(line) {
				return i
			}
		}
		end = i + 1
	}
	return end
}

// newRule parses a line. It returns false for a line that never matches anything.
func newRule(line string, fold bool) (rule, bool) {
	var r rule
	line, r.include = strings.CutPrefix(line, "!")
	line, r.folder = strings.CutSuffix(line, "/")
	if !strings.Contains(line, "/") {
		return r.nameRule(line, fold)
	}
	line = strings.TrimPrefix(line, "/")
	if name, anywhere := strings.CutPrefix(line, "**/"); anywhere && !strings.Contains(name, "/") {
		return r.nameRule(name, fold)
	}
	plain := plainLength(line)
	r.text = folded(line[:plain], fold)
	if plain == len(line) {
		r.kind = byPath
		return r, line != ""
	}
	// The part after the plain prefix is a pattern of its own, as if it began there: a/b**/c
	// matches a/bc.
	r.kind = byPathPattern
	ok := r.pattern.compile(line[plain:], true, fold)
	return r, ok
}

// nameRule parses a line that matches names in any folder.
func (r rule) nameRule(line string, fold bool) (rule, bool) {
	if plainLength(line) == len(line) {
		r.text = folded(line, fold)
		return r, line != ""
	}
	if line[0] == '*' && plainLength(line[1:]) == len(line)-1 {
		r.kind, r.text = byEnding, folded(line[1:], fold)
		return r, true
	}
	r.kind = byPattern
	ok := r.pattern.compile(line, false, fold)
	return r, ok
}

// plainLength returns the length of the prefix of a line without special characters.
func plainLength(line string) int {
	if i := strings.IndexAny(line, `*?[\`); i >= 0 {
		return i
	}
	return len(line)
}

// matches reports whether a rule that cannot be looked up matches. path is relative to the folder
// of the rule.
func (r *rule) matches(name, path string) bool {
	switch r.kind {
	case byEnding:
		return strings.HasSuffix(name, r.text)
	case byPattern:
		return r.pattern.match(name)
	}
	rest, ok := strings.CutPrefix(path, r.text)
	return ok && r.pattern.match(rest)
}
