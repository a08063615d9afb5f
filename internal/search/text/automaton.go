package text

import (
	"encoding/binary"
	"regexp/syntax"
)

// maxPositions bounds the cost of a pattern: the time of a step and the size of the tables grow
// with the number of positions.
const maxPositions = 4096

// An automaton is a position automaton (Glushkov NFA) of a pattern. Its positions are the places in
// the pattern that match a character, and its state is a set of positions. A character moves each
// position to those that may follow it and match the character. An automaton is immutable.
type automaton struct {
	*alphabet
	words int   // number of words in a set
	takes []set // for each class, the positions that match it
	first [contexts]set
	last  [contexts]set  // the positions at which a match may end
	empty [contexts]bool // whether the empty string matches
	// Indexed by whether there is a word boundary between the characters.
	moves          [2]moves
	always         set  // the positions at which a match ends in every context
	wordBoundaries bool // the pattern has word boundaries
	anchored       bool // no match can start in the middle of a line
}

// A set of positions, one bit each.
type set []uint64

// A context describes the place between two characters.
type context int

const (
	atBoundary context = 1 << iota // at a word boundary
	atBegin                        // at the beginning of the line
	atEnd
	contexts = 1 << iota
)

// moves holds the transitions between positions. Most lead to the next position or back to the same
// one.
type moves struct {
	onward set // positions that the next position may follow
	again  set // positions that may follow themselves
	jumps  []jump
}

// A jump leads from any of the positions in from to all of the positions in to.
type jump struct{ from, to part }

// A part is a set without its leading and trailing zero words.
type part struct {
	at    int // index of the first word
	words set
}

// newAutomaton returns nil if the pattern has too many positions.
func newAutomaton(prog *syntax.Prog, unicode bool) *automaton {
	b := newBuilder(prog, unicode)
	if len(b.pcs) > maxPositions {
		return nil
	}
	a := &automaton{wordBoundaries: b.wordBoundaries, words: b.words}
	b.alphabet(a)
	for c := range context(contexts) {
		a.first[c], a.empty[c] = b.reach(uint32(prog.Start), c)
	}
	b.follow(a)
	a.always = make(set, a.words)
	for i := range a.always {
		a.always[i] = a.last[0][i] & a.last[atBoundary][i] & a.last[atEnd][i] & a.last[atEnd|atBoundary][i]
	}
	a.anchored = a.first[0].none() && a.first[atBoundary].none() &&
		!a.empty[0] && !a.empty[atBoundary] && !a.empty[atEnd] && !a.empty[atEnd|atBoundary]
	return a
}

// A state is the automaton's state within a line.
type state struct {
	at    set
	begin bool // nothing of the line has been read
	// The last character was a word character; only set if the pattern has word boundaries.
	word bool
}

// A verdict is the result of a step.
type verdict int

const (
	undecided verdict = iota
	matches           // the line matches, whatever follows
	fails             // the line does not match, whatever follows
)

// step reads a character of class c, or the end of the line. If the verdict is undecided, it stores
// the new state in to, whose set must have the right length.
func (a *automaton) step(from, to *state, c int) verdict {
	if c == a.lineFeed || c == end {
		return a.finish(from)
	}
	around := a.around(from, a.word[c])
	if a.accepts(from, around) {
		return matches
	}
	left := a.move(from, to.at, around, c)
	to.begin, to.word = false, a.wordBoundaries && a.word[c]
	switch {
	case to.at.intersects(a.always):
		return matches
	case !left && a.anchored:
		return fails
	}
	return undecided
}

// finish returns the verdict at the end of a line.
func (a *automaton) finish(from *state) verdict {
	if a.accepts(from, a.around(from, false)|atEnd) {
		return matches
	}
	return fails
}

// around returns the context of the position before the next character. word says whether the next
// character is a word character.
func (a *automaton) around(from *state, word bool) context {
	var c context
	if from.begin {
		c |= atBegin
	}
	if a.wordBoundaries && from.word != word {
		c |= atBoundary
	}
	return c
}

// accepts reports whether a match ends at the state, or an empty match is possible there.
func (a *automaton) accepts(from *state, around context) bool {
	return a.empty[around] || !from.begin && from.at.intersects(a.last[around])
}

// move stores in to the positions that a character of class c leads to, and reports whether there
// are any.
func (a *automaton) move(from *state, to set, around context, c int) (left bool) {
	at, first, takes := from.at, a.first[around], a.takes[c]
	m := &a.moves[around&atBoundary]
	to = to[:len(at)]
	carry := uint64(0)
	for i, w := range at {
		on := w & m.onward[i]
		to[i] = first[i] | on<<1 | carry | w&m.again[i]
		carry = on >> 63
	}
	for i := range m.jumps {
		if j := &m.jumps[i]; at[j.from.at:].intersects(j.from.words) {
			for i, w := range j.to.words {
				to[j.to.at+i] |= w
			}
		}
	}
	any := uint64(0)
	for i, w := range takes {
		to[i] &= w
		any |= to[i]
	}
	return any != 0
}

func (s set) has(i int) bool { return s[i/64]>>(i%64)&1 != 0 }

func (s set) add(i int) { s[i/64] |= 1 << (i % 64) }

func (s set) remove(i int) { s[i/64] &^= 1 << (i % 64) }

func (s set) none() bool {
	for _, w := range s {
		if w != 0 {
			return false
		}
	}
	return true
}

// intersects reports whether the sets have a common position. other must not be longer than s.
func (s set) intersects(other set) bool {
	s = s[:len(other)]
	for i, w := range other {
		if w&s[i] != 0 {
			return true
		}
	}
	return false
}

// trim returns the set without its leading and trailing zero words. The set must not be empty.
func (s set) trim() part {
	first, last := 0, len(s)
	for s[first] == 0 {
		first++
	}
	for s[last-1] == 0 {
		last--
	}
	return part{at: first, words: s[first:last]}
}

// key appends the set as bytes.
func (s set) key(b []byte) []byte {
	for _, w := range s {
		b = binary.LittleEndian.AppendUint64(b, w)
	}
	return b
}
