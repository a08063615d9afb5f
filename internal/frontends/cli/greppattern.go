package cli

import (
	"errors"
	"fmt"
	"path"
	"regexp"
	"strings"

	"remit/internal/toolsets/codebase"
	"remit/internal/visible"
)

// explained prints where the pattern is wrong. It returns other errors unchanged.
func (g *grepCommands) explained(err error, pattern string) error {
	var wrong *codebase.PatternError
	if !errors.As(err, &wrong) {
		return err
	}
	fmt.Fprintf(g.Stderr, "remit: the pattern is wrong at column %d: %s\n%s",
		wrong.Column, visible.Line(wrong.Reason), caret(pattern, wrong.Column))
	return failure{ExitUsage}
}

// caret returns the pattern with a caret under the character at column, or "" if the pattern is too
// long for a line.
func caret(pattern string, column int) string {
	runes := []rune(pattern)
	at := min(max(column-1, 0), len(runes))
	text, before := visible.Line(pattern), visible.Line(string(runes[:at]))
	if columns(text) > 76 {
		return ""
	}
	return fmt.Sprintf("  %s\n  %s^\n", text, strings.Repeat(" ", columns(before)))
}

// globFor returns one glob for the files that are in any of the paths and match any of the names,
// or "" for all files.
func globFor(paths, names []string) (string, error) {
	var all []string
	for _, p := range paths {
		globs, err := pathGlobs(p)
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
			glob, err := nameGlob(name)
			if err != nil {
				return "", err
			}
			all = append(all, glob)
		}
		return anyOf(all), nil
	}
	return globForBoth(paths, names)
}

// globForBoth returns the glob for files in any of the paths that match any of the names.
func globForBoth(paths, names []string) (string, error) {
	var all []string
	for _, p := range paths {
		for _, name := range names {
			if isGlob(p) || strings.Contains(name, "/") {
				return "", fmt.Errorf("%s and --glob %s cannot be combined; write one glob, such as 'src/**/*.go'", p, name)
			}
			glob, err := nameGlob(name)
			if err != nil {
				return "", err
			}
			all = append(all, path.Clean(p)+"/"+glob)
		}
	}
	return anyOf(all), nil
}

// pathGlobs returns the globs for a PATH argument, or nil for the whole project.
func pathGlobs(given string) ([]string, error) {
	clean := path.Clean(given)
	switch {
	case clean == ".":
		return nil, nil
	case path.IsAbs(clean) || clean == ".." || strings.HasPrefix(clean, "../"):
		return nil, fmt.Errorf("%s is outside the workspace; name another workspace with --root", visible.Line(given))
	case isGlob(given):
		glob, err := nameGlob(strings.TrimPrefix(given, "./"))
		return []string{glob}, err
	}
	return []string{clean, clean + "/**"}, nil
}

// nameGlob returns the glob for a value of --glob. A value without a slash matches file names in
// any folder.
func nameGlob(name string) (string, error) {
	switch {
	case strings.HasPrefix(name, "!"):
		return "", fmt.Errorf("--glob %s: excluding files is not supported; name the files to search", visible.Line(name))
	case name == "":
		return "", errors.New("--glob needs a name or a path, such as '*.go'")
	case !strings.Contains(name, "/"):
		return "**/" + name, nil
	}
	return strings.TrimPrefix(name, "/"), nil
}

func isGlob(text string) bool { return strings.ContainsAny(text, `*?[{\`) }

// anyOf joins globs into one.
func anyOf(globs []string) string {
	switch len(globs) {
	case 0:
		return ""
	case 1:
		return globs[0]
	}
	return "{" + strings.Join(globs, ",") + "}"
}

// marker returns a function that finds the matches in a line for highlighting, or nil if wanted is
// false.
func (g *grepCommands) marker(q codebase.LineQuery, wanted bool) func(line string) [][]int {
	if !wanted {
		return nil
	}
	if words := g.wordFinder(q); words != nil {
		return words.all
	}
	re := g.compiled(q, q.Pattern)
	if re == nil {
		return nil // the search reports the error
	}
	return func(line string) [][]int { return re.FindAllStringIndex(line, -1) }
}

// compiled returns the compiled pattern, or nil if it is invalid.
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

// wordFinder locates the word itself in a match that includes the characters around it.
type wordFinder struct{ re *regexp.Regexp }

// wordFinder returns nil unless --word-regexp is given.
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

// all returns the positions of the words in a line.
func (w *wordFinder) all(line string) [][]int {
	var found [][]int
	for at := 0; at <= len(line); {
		m := w.re.FindStringSubmatchIndex(line[at:])
		if m == nil {
			break
		}
		found = append(found, []int{at + m[2], at + m[3]})
		at += max(m[3], m[2]+1) // the character that ends a word may precede the next one
	}
	return found
}

// place corrects the columns of lines to the start of the words.
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
