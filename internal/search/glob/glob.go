// Package glob matches paths against globs such as src/**/*.{ts,tsx}. It does not read folders.
//
// `**` as a whole path element matches any number of folders, `*` and `?` match characters of one
// element (also a leading dot), [a-z] and [!a-z] match a character, {a,b} matches either, and a
// backslash escapes the next character. The syntax is that of doublestar, but matching is faster,
// and takes at most time proportional to the length of the path times that of the pattern. An
// invalid UTF-8 byte counts as U+FFFD.
package glob

import (
	"fmt"

	"github.com/bmatcuk/doublestar/v4"
)

// MaxPatterns is the maximum number of patterns to which the braces of a pattern may expand.
const MaxPatterns = 64

// A SyntaxError is returned for an invalid pattern.
type SyntaxError struct {
	Pattern string
	Reason  string
}

func (e *SyntaxError) Error() string {
	return fmt.Sprintf("invalid glob pattern %q: %s", e.Pattern, e.Reason)
}

// A TooManyError is returned if the braces of a pattern expand to more than MaxPatterns patterns.
type TooManyError struct {
	Pattern string
}

func (e *TooManyError) Error() string {
	return fmt.Sprintf("glob pattern %q expands to more than %d patterns; use fewer braces", e.Pattern, MaxPatterns)
}

// A Pattern is a compiled glob. It is safe for concurrent use.
type Pattern struct {
	source string
	plain  []matcher // one for each expanded pattern
	match  func(path string) bool
}

// Compile compiles a pattern. A returned error is a *SyntaxError or a *TooManyError.
func Compile(pattern string) (*Pattern, error) {
	if !doublestar.ValidatePattern(pattern) {
		return nil, &SyntaxError{Pattern: pattern, Reason: "a [ or { is not closed, or it ends with a backslash"}
	}
	plain, ok := withoutBraces(pattern)
	if !ok {
		return nil, &TooManyError{Pattern: pattern}
	}
	p := &Pattern{source: pattern, plain: make([]matcher, len(plain))}
	for i := range plain {
		p.plain[i] = newMatcher(plain[i])
	}
	return p, nil
}

// Func returns a Pattern that matches the paths for which match returns true. The name must be
// different for different functions.
func Func(name string, match func(path string) bool) *Pattern {
	return &Pattern{source: name, match: match}
}

// String returns the pattern that was passed to Compile, or the name that was passed to Func.
func (p *Pattern) String() string { return p.source }

// Match reports whether the whole path matches. Its elements must be separated by /.
func (p *Pattern) Match(path string) bool {
	if p.match != nil {
		return p.match(path)
	}
	for i := range p.plain {
		if p.plain[i].match(path) {
			return true
		}
	}
	return false
}
