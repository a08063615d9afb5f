// Package text finds the lines of a text that match a pattern. It finds the same lines as Go's
// regexp, but faster. It works on bytes in memory and does not read files.
//
// A search has up to three stages:
//
//  1. Most patterns have literals of which every match contains at least one (literals.go). A
//     prefilter searches them all at once (prefilter.go), and only lines that contain one are read.
//     If the pattern consists of literals alone, this stage decides. A single literal that occurs
//     in many lines is found with bitmaps (bitmap.go).
//  2. A deterministic automaton, built while it runs, reads those lines (lazydfa.go). If there are
//     no literals, it reads the whole text, several parts at once (lanes.go).
//  3. If it gets too many states, the NFA it is built from (automaton.go) reads on without caching
//     any (nfa.go).
//
// All stages are exact: they find what regexp finds in each line by itself, also in text that is
// not valid UTF-8, where each invalid byte counts as U+FFFD. With Options.Unicode they find what
// ripgrep finds (unicode.go).
package text

import (
	"regexp"
	"regexp/syntax"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
)

// Options select the meaning of a pattern.
type Options struct {
	// IgnoreCase has the effect of (?i) at the beginning of the pattern.
	IgnoreCase bool
	// Unicode gives the pattern ripgrep's meaning: \d, \s, \w and \b follow Unicode, and nothing
	// matches a byte of invalid UTF-8.
	Unicode bool
	// Word finds only matches with no word character before and after them.
	Word bool
	// WholeLine finds only matches that are a whole line.
	WholeLine bool
	// Invert finds the lines that do not match.
	Invert bool
	// Multiline lets a match span several lines; ^ and $ match at the ends of each.
	Multiline bool
}

// A Pattern is a compiled pattern. It is safe for concurrent use.
type Pattern struct {
	Options
	key       string
	needs     []Literal
	prefilter *prefilter // nil: every line must be read
	exact     bool       // every line that the prefilter finds matches
	automaton *automaton
	dfas      sync.Pool             // of *lazyDFA, each used by one search at a time
	finder    func() *regexp.Regexp // compiled on first use
	matcher   func() *syntax.Prog   // the same, without what Word adds; compiled on first use
}

// Compile compiles a pattern in the syntax of Go's regexp. A returned error is a *SyntaxError.
func Compile(pattern string, o Options) (*Pattern, error) { return CompileAny([]string{pattern}, o) }

// CompileAny is like Compile for lines that match any of the patterns.
func CompileAny(patterns []string, o Options) (*Pattern, error) {
	inner, err := o.join(patterns)
	if err != nil {
		return nil, err
	}
	written, source := strings.Join(patterns, "\n"), inner
	if o.Word {
		source = o.expand(wordBegins) + inner + o.expand(wordEnds)
	}
	tree, err := syntax.Parse(source, o.flags())
	if err != nil {
		return nil, explain(written, o.flags(), err)
	}
	p := &Pattern{Options: o, key: o.key() + written, needs: needs(tree)}
	literals, exact := needles(tree)
	prog, err := syntax.Compile(tree.Simplify())
	if err != nil {
		return nil, explain(written, o.flags(), err)
	}
	if p.automaton = newAutomaton(prog, o.Unicode); p.automaton == nil {
		return nil, &SyntaxError{Pattern: written, Column: 1, Reason: tooLarge}
	}
	if p.Multiline = o.Multiline && spansLines(prog); p.Multiline && slices.ContainsFunc(literals, Literal.hasNewline) {
		literals = nil
	}
	if p.Invert || p.Multiline && slices.ContainsFunc(p.needs, Literal.hasNewline) {
		p.needs = nil
	}
	p.prefilter, p.exact = newPrefilter(literals), exact
	p.dfas.New = func() any { return newLazyDFA(p.automaton) }
	p.finder = sync.OnceValue(func() *regexp.Regexp { return finder(source, o) })
	p.matcher = sync.OnceValue(func() *syntax.Prog { return program(inner, o.flags()) })
	return p, nil
}

// wordBegins and wordEnds enclose a whole word. \b would not work, because the word may begin or
// end with a character that is not a letter.
const wordBegins, wordEnds = `(?:^|\W)(?:`, `)(?:$|\W)`

// join returns one pattern for all, in which escapes for classes have their meaning of o.
func (o Options) join(patterns []string) (string, error) {
	all := make([]string, len(patterns))
	for i, written := range patterns {
		if _, err := syntax.Parse(written, o.flags()); err != nil {
			return "", explain(written, o.flags(), err)
		}
		tree, err := syntax.Parse(o.expand(written), o.flags())
		if err != nil {
			return "", explain(written, o.flags(), err)
		}
		if len(patterns) == 1 && !o.Word && !o.WholeLine {
			return o.expand(written), nil
		}
		all[i] = "(?:" + tree.String() + ")" // a \Q without \E would go on
	}
	joined := strings.Join(all, "|")
	if o.WholeLine {
		joined = "^(?:" + joined + ")$"
	}
	return joined, nil
}

// expand gives escapes in a pattern their meaning in Unicode, if that is wanted.
func (o Options) expand(pattern string) string {
	if o.Unicode {
		return expandUnicode(pattern)
	}
	return pattern
}

// flags returns the flags of the parser.
func (o Options) flags() syntax.Flags {
	flags := syntax.Perl
	if o.IgnoreCase {
		flags |= syntax.FoldCase
	}
	if o.Multiline {
		flags &^= syntax.OneLine
	}
	return flags
}

// key returns a prefix that distinguishes the options of patterns with the same text.
func (o Options) key() string {
	key := make([]byte, 0, 8)
	for i, on := range [...]bool{o.IgnoreCase, o.Unicode, o.Word, o.WholeLine, o.Invert, o.Multiline} {
		if on {
			key = append(key, "iuwxvm"[i])
		}
	}
	return string(key) + ":"
}

// Key returns a string that is the same for patterns compiled from the same text with the same
// options, and different for all others.
func (p *Pattern) Key() string { return p.key }

// Lines calls found for every line of data that matches, in order, with its number, counted from 1,
// and the offsets of its start and end in data. A line ends before \n or at the end of the data. A
// match lies within one line: ^ and $ (also \A and \z) match at its ends. If \r precedes \n, end
// excludes it too, although the pattern can match it. Lines stops when found returns false.
func (p *Pattern) Lines(data []byte, found func(number, start, end int) bool) {
	p.Scan(data, nil, found)
}

// Scan is like Lines but can be stopped by another goroutine: it checks stop, unless that is nil,
// at least every 64 KiB, also within a line. It returns false if stop ended it.
//
// With Options.Multiline, found is called for each run of lines that matches touch, and stop is
// checked only at the beginning.
func (p *Pattern) Scan(data []byte, stop *atomic.Bool, found func(number, start, end int) bool) (whole bool) {
	switch {
	case p.Invert:
		return p.scanOthers(data, stop, found)
	case p.Multiline:
		return p.scanRuns(data, stop, found)
	}
	return p.scanLines(data, stop, found)
}

// scanLines implements Scan for matches within a line.
func (p *Pattern) scanLines(data []byte, stop *atomic.Bool, found func(number, start, end int) bool) (whole bool) {
	s := search{Pattern: p, data: data, stop: stop, found: found, number: 1}
	s.run()
	return !s.stopped
}

// Count returns how often Scan calls found. It can be stopped as Scan can. If it was, whole is
// false and some lines are not counted.
func (p *Pattern) Count(data []byte, stop *atomic.Bool) (lines int, whole bool) {
	if p.Invert || p.Multiline {
		whole = p.Scan(data, stop, func(int, int, int) bool { lines++; return true })
		return lines, whole
	}
	s := search{Pattern: p, data: data, stop: stop}
	s.run()
	return s.lines, !s.stopped
}

// RequiredLiterals returns at most 64 literals of three bytes or more. Every line that matches
// contains at least one of them. It returns nil if none are known.
func (p *Pattern) RequiredLiterals() []Literal { return p.needs }
