package cli

import (
	"errors"
	"fmt"
	"path"
	"regexp"
	"strings"

	"remit/internal/engine/approval"
	"remit/internal/toolsets/codebase"
)

// explained shows a person where their pattern is wrong; other errors stay as they are.
func (g *grepCommands) explained(err error, pattern string) error {
	var wrong *codebase.PatternError
	if !errors.As(err, &wrong) {
		return err
	}
	fmt.Fprintf(g.Stderr, "remit: %s\n%s", fmt.Sprintf("the pattern is wrong at column %d: %s", wrong.Column, approval.Plain(wrong.Why)), caret(pattern, wrong.Column))
	return failure{ExitUsage}
}

// caret is the pattern with a sign under the character of a column; nothing, if that does not fit a screen.
func caret(pattern string, column int) string {
	runes := []rune(pattern)
	at := min(max(column-1, 0), len(runes))
	text, before := approval.Plain(pattern), approval.Plain(string(runes[:at]))
	if columns(text) > 76 {
		return ""
	}
	return fmt.Sprintf("  %s\n  %s^\n", text, strings.Repeat(" ", columns(before)))
}

// globOf is one glob for the files that are in any of the paths and have any of the names. It is empty if all are meant.
func globOf(paths, names []string) (string, error) {
	var all []string
	for _, p := range paths {
		globs, err := globsOfPath(p)
		if err != nil {
			return "", err
		}
		if globs == nil { // everything
			all = nil
			paths = nil
			break
		}
		all = append(all, globs...)
	}
	switch {
	case len(names) == 0:
		return anyOf(all), nil
	case len(paths) == 0:
		for _, name := range names {
			glob, err := globOfName(name)
			if err != nil {
				return "", err
			}
			all = append(all, glob)
		}
		return anyOf(all), nil
	}
	return namesIn(paths, names)
}

// namesIn is for paths and names: what is in a folder and has a name.
func namesIn(paths, names []string) (string, error) {
	var all []string
	for _, p := range paths {
		for _, name := range names {
			if isGlob(p) || strings.Contains(name, "/") {
				return "", fmt.Errorf("%s and --glob %s cannot both be meant; write one glob, such as 'src/**/*.go'", p, name)
			}
			glob, err := globOfName(name)
			if err != nil {
				return "", err
			}
			all = append(all, path.Clean(p)+"/"+glob)
		}
	}
	return anyOf(all), nil
}

// globsOfPath are the globs for what a person calls a path; none if it is the whole project.
func globsOfPath(given string) ([]string, error) {
	clean := path.Clean(given)
	switch {
	case clean == ".":
		return nil, nil
	case path.IsAbs(clean) || clean == ".." || strings.HasPrefix(clean, "../"):
		return nil, fmt.Errorf("%s is not beneath the root; --root names another", approval.Plain(given))
	case isGlob(given):
		glob, err := globOfName(strings.TrimPrefix(given, "./"))
		return []string{glob}, err
	}
	return []string{clean, clean + "/**"}, nil
}

// globOfName is the glob for what --glob is given: without a slash it is the name of files anywhere.
func globOfName(name string) (string, error) {
	switch {
	case strings.HasPrefix(name, "!"):
		return "", fmt.Errorf("--glob %s: leaving files out is not possible; say which ones to look at", approval.Plain(name))
	case name == "":
		return "", errors.New("--glob needs a name or a path, such as '*.go'")
	case !strings.Contains(name, "/"):
		return "**/" + name, nil
	}
	return strings.TrimPrefix(name, "/"), nil
}

func isGlob(text string) bool { return strings.ContainsAny(text, `*?[{\`) }

// anyOf joins globs to one.
func anyOf(globs []string) string {
	switch len(globs) {
	case 0:
		return ""
	case 1:
		return globs[0]
	}
	return "{" + strings.Join(globs, ",") + "}"
}

// marker finds the matches in a line, to show them; nil if nobody wants to see them.
func (g *grepCommands) marker(q codebase.LineQuery, wanted bool) func(line string) [][]int {
	if !wanted {
		return nil
	}
	if words := g.wordFinder(q); words != nil {
		return words.all
	}
	re := g.compiled(q, q.Pattern)
	if re == nil {
		return nil // the search says so
	}
	return func(line string) [][]int { return re.FindAllStringIndex(line, -1) }
}

// compiled is a pattern as Go takes it; nil if it is none.
func (g *grepCommands) compiled(q codebase.LineQuery, pattern string) *regexp.Regexp {
	if q.IgnoreCase {
		pattern = "(?i)" + pattern
	}
	re, err := regexp.Compile(pattern)
	if err != nil {
		return nil
	}
	return re
}

// wordFinder finds whole words where the search finds them with what stands around them.
type wordFinder struct{ re *regexp.Regexp }

// wordFinder returns nil unless whole words are asked for.
func (g *grepCommands) wordFinder(q codebase.LineQuery) *wordFinder {
	inner, isWord := strings.CutPrefix(q.Pattern, wordBegins)
	if !g.word || !isWord {
		return nil
	}
	re := g.compiled(q, "(?:^|\\W)("+strings.TrimSuffix(inner, wordEnds)+")(?:$|\\W)")
	if re == nil {
		return nil
	}
	return &wordFinder{re}
}

// all returns where the words of a line are.
func (w *wordFinder) all(line string) [][]int {
	var found [][]int
	for at := 0; at <= len(line); {
		m := w.re.FindStringSubmatchIndex(line[at:])
		if m == nil {
			break
		}
		found = append(found, []int{at + m[2], at + m[3]})
		at += max(m[3], m[2]+1) // what ends a word may begin the next
	}
	return found
}

// place moves the columns of lines to the words themselves.
func (w *wordFinder) place(lines []codebase.Line) {
	if w == nil {
		return
	}
	for i := range lines {
		if m := w.re.FindStringSubmatchIndex(lines[i].Text); m != nil {
			lines[i].Column += m[2] - m[0]
		}
	}
}
