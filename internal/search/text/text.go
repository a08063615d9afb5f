// Package text finds the lines of texts that match a pattern, as Go's regexp would, but faster.
//
// A match is looked for in three steps, each of which may be the last:
//
//  1. Most patterns have literals, one of which every match contains (literals.go). They are searched eight bytes at a
//     time (needle.go), and only lines that contain one are looked at. If the pattern is nothing but literals, that is all.
//  2. A deterministic automaton, made while it runs, reads a line, or the whole text if there are no literals (machine.go),
//     then in several places at once (lanes.go).
//  3. Where its states become too many, the automaton it is made from (automaton.go) reads on without keeping any.
//
// All are exact: they find what regexp finds in each line by itself, also in text that is not UTF-8, where a byte that
// belongs to no character counts as U+FFFD. ripgrep finds the same lines with ordinary patterns; it differs in that its `$`
// stands after the \r of \r\n, that its classes match no bytes that are not UTF-8, and that its \w, \d and \b know Unicode.
package text

import (
	"bytes"
	"regexp/syntax"
	"sync"
)

// Options say how a pattern is meant.
type Options struct {
	// IgnoreCase is what (?i) at the beginning of the pattern would be.
	IgnoreCase bool
}

// A Pattern is compiled once and used for many texts. It is safe for concurrent use.
type Pattern struct {
	needles   []needle // none: every line must be read
	sure      bool     // whatever contains a needle matches
	automaton *automaton
	machines  sync.Pool // of *machine, each used by one search at a time
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
	literals, sure := learn(tree).required()
	prog, err := syntax.Compile(tree.Simplify())
	if err != nil {
		return nil, explain(pattern, flags, err)
	}
	a := newAutomaton(prog)
	if a == nil {
		return nil, &SyntaxError{Pattern: pattern, Column: 1, Why: tooLarge}
	}
	p := &Pattern{needles: newNeedles(literals), sure: sure, automaton: a}
	p.machines.New = func() any { return newMachine(a) }
	return p, nil
}

// Lines calls found for every line of data in which the pattern matches, from the first to the last: with its number,
// counted from 1, and where it begins and ends in data. A line ends before \n or \r\n, or with the data, and a match is
// within a line: ^ and $ (also \A and \z) are its ends. found returns false to stop.
func (p *Pattern) Lines(data []byte, found func(number, start, end int) bool) {
	s := p.newSearch(data)
	defer s.close()
	number := 1
	for at := 0; at < len(data); {
		hit := s.next(at)
		if hit < 0 {
			return
		}
		start := lineStart(data, at, hit)
		end, after := lineEnd(data, hit)
		number += bytes.Count(data[at:start], []byte{'\n'})
		if !found(number, start, end) {
			return
		}
		number++
		at = after
	}
}

// A search is one pass over one text.
type search struct {
	*Pattern
	data     []byte
	hunt     hunt
	hunting  bool     // needles are used
	machine  *machine // nil until needed
	rejected int      // lines that contained a needle and did not match
	skipped  int      // bytes up to the last of them
}

func (p *Pattern) newSearch(data []byte) *search {
	return &search{
		Pattern: p,
		data:    data,
		hunt:    hunt{needles: p.needles},
		hunting: len(p.needles) > 0 && fits(p.needles, data),
	}
}

// close gives back what the search has borrowed.
func (s *search) close() {
	if s.machine != nil {
		s.machines.Put(s.machine)
	}
}

// next returns a place in the first line that matches, of those that begin at or after at, where a line begins. There is
// none if it is negative.
func (s *search) next(at int) int {
	for s.hunting {
		hit := s.hunt.next(s.data, at)
		if hit < 0 || s.sure {
			return hit
		}
		start := lineStart(s.data, at, hit)
		_, after := lineEnd(s.data, hit)
		if s.read(s.data[start:after], 0) >= 0 {
			return hit
		}
		s.reject(after - at)
		at = after
	}
	return s.read(s.data, at)
}

// reject counts a line that was found for nothing. Where needles are that common, reading everything is faster.
func (s *search) reject(bytes int) {
	const enough, dense = 16, 128
	s.rejected++
	s.skipped += bytes
	s.hunting = s.rejected < enough || s.skipped > s.rejected*dense
}

// read looks for the next line that matches with the automaton alone.
func (s *search) read(data []byte, at int) int {
	if s.machine == nil {
		s.machine = s.machines.Get().(*machine)
		s.machine.rest()
	}
	return s.machine.next(data, at)
}

// lineStart returns where the line of place begins; from is the beginning of that line or of one before.
func lineStart(data []byte, from, place int) int {
	return from + bytes.LastIndexByte(data[from:place], '\n') + 1
}

// lineEnd returns where the line of place ends, and where the next one begins.
func lineEnd(data []byte, place int) (end, after int) {
	n := bytes.IndexByte(data[place:], '\n')
	if n < 0 {
		return len(data), len(data)
	}
	end = place + n
	if end > 0 && data[end-1] == '\r' {
		return end - 1, end + 1
	}
	return end, end + 1
}
