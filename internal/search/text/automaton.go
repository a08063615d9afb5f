package text

import (
	"encoding/binary"
	"regexp/syntax"
)

// maxPositions bounds what a pattern may cost: a step takes time, and tables take room, that grow with it.
const maxPositions = 4096

// An automaton is a pattern as positions: the places in it that take a character. What has been read is a set of them, and
// a character moves each to those that may follow and take it. It is not changed once it is made.
type automaton struct {
	*alphabet
	words  int   // in a set
	takes  []set // for each class, the positions that take it
	first  [contexts]set
	last   [contexts]set  // the positions with which a match may end
	empty  [contexts]bool // whether nothing at all is a match
	moves  [2]moves       // by whether there is a boundary of a word between the characters
	always set            // the positions with which a match ends whatever comes
	edges  bool           // the pattern asks for boundaries of words
	stays  bool           // in the middle of a line nothing begins anew
}

// A set of positions, a bit each.
type set []uint64

// A context is what stands around a place between two characters.
type context int

const (
	atBoundary context = 1 << iota // of a word
	atBegin                        // of the line
	atEnd
	contexts = 1 << iota
)

// moves tells which positions follow which. Most follow the one before or themselves.
type moves struct {
	onward set // positions that the next one may follow
	again  set // positions that may follow themselves
	jumps  []jump
}

// A jump is taken from any of the positions in from to all of those in to.
type jump struct{ from, to part }

// A part is a set without the words at its ends that are empty.
type part struct {
	at    int // the first word
	words set
}

// newAutomaton returns nil if the pattern is too large.
func newAutomaton(prog *syntax.Prog, unicode bool) *automaton {
	b := newBuilder(prog, unicode)
	if len(b.pcs) > maxPositions {
		return nil
	}
	a := &automaton{edges: b.edges, words: b.words}
	b.alphabet(a)
	for c := range context(contexts) {
		a.first[c], a.empty[c] = b.reach(uint32(prog.Start), c)
	}
	b.follow(a)
	a.always = make(set, a.words)
	for i := range a.always {
		a.always[i] = a.last[0][i] & a.last[atBoundary][i] & a.last[atEnd][i] & a.last[atEnd|atBoundary][i]
	}
	a.stays = a.first[0].none() && a.first[atBoundary].none() &&
		!a.empty[0] && !a.empty[atBoundary] && !a.empty[atEnd] && !a.empty[atEnd|atBoundary]
	return a
}

// A state is what has been read of a line.
type state struct {
	at    set
	begin bool // nothing has been read
	word  bool // a character of a word was the last, if the pattern asks
}

// A verdict is what a character makes of a state.
type verdict int

const (
	goesOn  verdict = iota
	matches         // whatever comes, the line matches
	fails           // whatever comes, the line does not match
)

// step reads a character of class c, or the end of the line. If it goes on, to is the new state; to must have room for its set.
func (a *automaton) step(from, to *state, c int) verdict {
	if c == a.lineFeed || c == end {
		return a.finish(from)
	}
	around := a.around(from, a.word[c])
	if a.accepts(from, around) {
		return matches
	}
	left := a.move(from, to.at, around, c)
	to.begin, to.word = false, a.edges && a.word[c]
	switch {
	case to.at.meets(a.always):
		return matches
	case !left && a.stays:
		return fails
	}
	return goesOn
}

// finish judges a line that ends.
func (a *automaton) finish(from *state) verdict {
	if a.accepts(from, a.around(from, false)|atEnd) {
		return matches
	}
	return fails
}

// around returns the context before a character that is of a word, or not.
func (a *automaton) around(from *state, word bool) context {
	var c context
	if from.begin {
		c |= atBegin
	}
	if a.edges && from.word != word {
		c |= atBoundary
	}
	return c
}

// accepts tells whether a match ends where the state is, or stands there with nothing in it.
func (a *automaton) accepts(from *state, around context) bool {
	return a.empty[around] || !from.begin && from.at.meets(a.last[around])
}

// move makes of to the positions that are reached with a character of class c, and tells whether there are any.
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
		if j := &m.jumps[i]; at[j.from.at:].meets(j.from.words) {
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

// meets tells whether a position is in both sets; other is not the larger one.
func (s set) meets(other set) bool {
	s = s[:len(other)]
	for i, w := range other {
		if w&s[i] != 0 {
			return true
		}
	}
	return false
}

// trim returns the set, which is not empty, without the empty words at its ends.
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
