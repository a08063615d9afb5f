package ignore

import (
	"iter"
	"strings"
)

// A rule is one line of an ignore file.
type rule struct {
	verdict verdict
	include bool // it begins with !
	folder  bool // it is for folders alone
	kind    kind
	text    string // what the kind needs to know
	pattern pattern
}

// kind is what a rule looks at.
type kind byte

const (
	byName        kind = iota // the name is the text
	byEnding                  // the name ends with the text
	byPattern                 // the name matches the pattern
	byPath                    // the path is the text
	byPathPattern             // the path begins with the text, and the pattern matches what follows
)

// lines are those of an ignore file that are no comments, with neither the end of the line nor spaces at it. As for git, a
// zero byte ends a line early.
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

// withoutSpaces is how long a line is without the spaces at its end, of which one after a backslash is none. If there is
// nothing after the last backslash, git leaves the line as it is.
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

// newRule understands a line. It is false for one that never matches anything.
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
	// What follows the plain part is a pattern by itself, as if it began there: a/b**/c matches a/bc.
	r.kind = byPathPattern
	ok := r.pattern.compile(line[plain:], true, fold)
	return r, ok
}

// nameRule makes a rule of a line that holds for a name in any folder.
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

// plainLength is how much of a line means itself.
func plainLength(line string) int {
	if i := strings.IndexAny(line, `*?[\`); i >= 0 {
		return i
	}
	return len(line)
}

// matches tells whether a rule that cannot be looked up matches. The path is one from the folder of the rule.
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
