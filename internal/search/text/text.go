// Package text finds the lines of texts that match a pattern, as Go's regexp would, but faster.
//
// A match is looked for in three steps, each of which may be the last:
//
//  1. Most patterns have literals, one of which every match contains (literals.go). They are all searched at once (sieve.go),
//     and only lines that contain one are looked at. If the pattern is nothing but literals, that is all. A single one that
//     is in many lines is found in all of them at once (chart.go).
//  2. A deterministic automaton, made while it runs, reads a line, or the whole text if there are no literals (machine.go),
//     then in several places at once (lanes.go).
//  3. Where its states become too many, the automaton it is made from (automaton.go) reads on without keeping any (plod.go).
//
// All are exact: they find what regexp finds in each line by itself, also in text that is not UTF-8, where a byte that
// belongs to no character counts as U+FFFD. With Options.Unicode they find what ripgrep finds (unicode.go).
package text

import (
	"regexp"
	"regexp/syntax"
	"sync"
	"sync/atomic"
)

// Options say how a pattern is meant.
type Options struct {
	// IgnoreCase is what (?i) at the beginning of the pattern would be.
	IgnoreCase bool
	// Unicode is how ripgrep means a pattern: \d, \s, \w and \b are those of Unicode, and a byte that belongs to no character
	// is matched by nothing.
	Unicode bool
}

// A Pattern is compiled once and used for many texts. It is safe for concurrent use.
type Pattern struct {
	key       string
	needs     []Literal
	sieve     *sieve // nil: every line must be read
	sure      bool   // whatever the sieve finds matches
	automaton *automaton
	machines  sync.Pool             // of *machine, each used by one search at a time
	finder    func() *regexp.Regexp // compiled when it is first asked for
}

// Compile understands a pattern in the syntax of Go's regexp. An error is a *SyntaxError.
func Compile(pattern string, o Options) (*Pattern, error) {
	flags := syntax.Perl
	if o.IgnoreCase {
		flags |= syntax.FoldCase
	}
	tree, err := syntax.Parse(pattern, flags)
	if err != nil {
		return nil, explain(pattern, flags, err)
	}
	written := pattern
	if o.Unicode {
		pattern = widen(pattern)
		if tree, err = syntax.Parse(pattern, flags); err != nil {
			return nil, explain(written, flags, err)
		}
	}
	p := &Pattern{key: o.key() + written, needs: needs(tree)}
	literals, sure := needles(tree)
	p.sieve, p.sure = newSieve(literals), sure
	prog, err := syntax.Compile(tree.Simplify())
	if err != nil {
		return nil, explain(written, flags, err)
	}
	if p.automaton = newAutomaton(prog, o.Unicode); p.automaton == nil {
		return nil, &SyntaxError{Pattern: written, Column: 1, Why: tooLarge}
	}
	p.machines.New = func() any { return newMachine(p.automaton) }
	p.finder = sync.OnceValue(func() *regexp.Regexp { return finder(pattern, o) })
	return p, nil
}

// key tells apart what patterns of the same text mean.
func (o Options) key() string {
	switch {
	case o.IgnoreCase && o.Unicode:
		return "iu:"
	case o.IgnoreCase:
		return "i:"
	case o.Unicode:
		return "u:"
	}
	return ":"
}

// Key returns the same for patterns that were compiled from the same text with the same options, and for no others.
func (p *Pattern) Key() string { return p.key }

// Lines calls found for every line of data in which the pattern matches, from the first to the last: with its number,
// counted from 1, and where it begins and ends in data. A line ends before \n, or with the data, and a match is within a line:
// ^ and $ (also \A and \z) are its ends. Where \r stands before \n, end leaves it out too, though the pattern has seen it.
// found returns false to stop.
func (p *Pattern) Lines(data []byte, found func(number, start, end int) bool) {
	p.Scan(data, nil, found)
}

// Scan is Lines that can be stopped from outside: it looks at stop, unless that is nil, at least every 64 KiB, also within a
// line. It returns false if it was stopped so.
func (p *Pattern) Scan(data []byte, stop *atomic.Bool, found func(number, start, end int) bool) (whole bool) {
	s := search{Pattern: p, data: data, stop: stop, found: found, number: 1}
	s.run()
	return !s.stopped
}

// Count returns how many lines of data match. If it was stopped, as Scan is, it is not whole, and some are not counted.
func (p *Pattern) Count(data []byte, stop *atomic.Bool) (lines int, whole bool) {
	s := search{Pattern: p, data: data, stop: stop}
	s.run()
	return s.lines, !s.stopped
}

// Needs returns literals of three bytes or more, at most 64, at least one of which is in every line that matches. It is nil if
// none are known.
func (p *Pattern) Needs() []Literal { return p.needs }
