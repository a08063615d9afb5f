package text

import (
	"slices"
	"unicode/utf8"
)

// A machine is the automaton made deterministic while it runs: each state that is met gets a row of what follows, by class.
type machine struct {
	*automaton
	rows   []uint32          // in row after row, the offset of the row that follows, or one of the answers below
	states []state           // of each row; the first row is never used
	ids    map[string]uint32 // the offset of the row of a state
	full   int               // how many states are too many
	use    int               // how many bytes should be read for each state that is made
	calm   int               // after so many bytes without a match it is worth while to read ahead

	here, there state // what plod reads with; there is also where the last step led
	key         []byte
	read        int  // bytes since the rows were last forgotten
	forgotten   int  // how often that was
	tired       bool // states are met that are not met again, so none are kept
}

// Answers that stand in rows instead of an offset.
const (
	unknown   = iota // nobody was there yet
	yes              // the line matches
	no               // the line does not match, whatever comes
	character        // the character must be looked at as a whole
	answers
)

// maxMemory is about what a machine keeps.
const maxMemory = 2 << 20

func newMachine(a *automaton) *machine {
	m := &machine{automaton: a, ids: map[string]uint32{}, use: 8, calm: longCalm}
	perState := 4*a.size + 16*a.words + 150
	m.full = max(maxMemory/perState, 16)
	m.here.at, m.there.at = make(set, a.words), make(set, a.words)
	m.forget()
	return m
}

// rest makes the machine ready for another text.
func (m *machine) rest() { m.tired = false }

// forget leaves two rows: one whose offsets are answers, and the one in which a line begins.
func (m *machine) forget() {
	m.rows, m.states, m.read = m.rows[:0], m.states[:0], 0
	m.forgotten++
	clear(m.ids)
	m.newRow(&state{at: make(set, m.words)})
	m.newRow(&state{at: make(set, m.words), begin: true})
}

// start returns the row in which a line begins.
func (m *machine) start() uint32 { return uint32(m.size) }

// A reader is on its way through whole lines of a text.
type reader struct {
	row     uint32
	at, end int
	counted int // the bytes before have been added to machine.read
}

// reader returns one that reads the lines from at to end.
func (m *machine) reader(at, end int) reader {
	return reader{row: m.start(), at: at, end: end, counted: at}
}

// scan reads to the end, and returns a place in the first line that matches, or -1.
func (m *machine) scan(data []byte, r reader) int {
	if m.tired {
		m.here.restart()
		return m.plod(data[:r.end], r.at)
	}
	for {
		row, i := r.row, r.at
		for i < r.end {
			to := m.rows[row+uint32(m.ofByte[data[i]])]
			if to < answers {
				break
			}
			row = to
			i++
		}
		r.row, r.at = row, i
		if i >= r.end {
			break
		}
		if m.pass(data, &r) {
			return r.at
		}
		if m.tired {
			m.here, m.there = m.there, m.here
			return m.plod(data[:r.end], r.at)
		}
	}
	m.read += r.at - r.counted
	if r.row != m.start() && m.meet(r.row, end) == yes { // the last line has no end of its own
		return r.end
	}
	return -1
}

// pass takes a reader past what its row has no offset for, and tells whether instead the line matches. If the machine is tired
// after it, the state is m.there.
func (m *machine) pass(data []byte, r *reader) bool {
	c, size := uint32(m.ofByte[data[r.at]]), 1
	if c == beyond {
		c, size = m.character(data[r.at:])
	}
	to := m.rows[r.row+c]
	if to == unknown {
		m.read += r.at - r.counted
		r.counted = r.at
		to = m.meet(r.row, c)
	}
	switch to {
	case yes:
		return true
	case no:
		_, r.at = lineEnd(data, r.at)
		r.row = m.start()
	default:
		r.row = to
		r.at += size
	}
	return false
}

// character returns the class and the length of the character that data begins with. A byte that belongs to none is one by
// itself, as in Go's regexp.
func (m *machine) character(data []byte) (class uint32, size int) {
	r, size := utf8.DecodeRune(data)
	return uint32(m.ofRune(r)), size
}

// meet finds out what follows in a row, and notes it.
func (m *machine) meet(row, class uint32) uint32 {
	before := len(m.rows)
	to := m.judge(row, class)
	if len(m.rows) >= before { // the row has not been forgotten
		m.rows[row+class] = to
	}
	return to
}

// judge takes a step, and returns an answer or the row of the state it leads to. If there is no room for that, the machine
// forgets all others; if they were of little use, it is tired.
func (m *machine) judge(row, class uint32) uint32 {
	switch m.step(&m.states[int(row)/m.size], &m.there, int(class)) {
	case matches:
		return yes
	case fails:
		if int(class) == m.lineFeed {
			return m.start()
		}
		return no
	}
	m.key = m.there.appendKey(m.key[:0])
	if to, ok := m.ids[string(m.key)]; ok {
		return to
	}
	if len(m.states) >= m.full {
		m.tired = m.read < m.use*len(m.states)
		m.forget()
	}
	m.ids[string(m.key)] = uint32(len(m.rows))
	return m.newRow(&m.there)
}

// newRow keeps a copy of a state.
func (m *machine) newRow(s *state) uint32 {
	row := len(m.rows)
	kept := *s
	kept.at = slices.Clone(s.at)
	m.states = append(m.states, kept)
	m.rows = slices.Grow(m.rows, m.size)[:row+m.size]
	clear(m.rows[row:])
	m.rows[row+beyond] = character
	return uint32(row)
}

// plod is scan without rows, from within a line: m.here is what has been read of it.
func (m *machine) plod(data []byte, at int) int {
	here, there := &m.here, &m.there
	for i := at; i < len(data); {
		c, size := uint32(m.ofByte[data[i]]), 1
		if c == beyond {
			c, size = m.character(data[i:])
		}
		switch m.step(here, there, int(c)) {
		case matches:
			return i
		case fails:
			_, i = lineEnd(data, i)
			here.restart()
		default:
			here, there = there, here
			i += size
		}
	}
	if !here.begin && m.finish(here, end) == matches { // the last line has no end of its own
		return len(data)
	}
	return -1
}

// restart makes the state that of a line of which nothing has been read.
func (s *state) restart() {
	clear(s.at)
	s.begin, s.word, s.ending = true, false, none
}

// appendKey appends what tells the state from others.
func (s *state) appendKey(b []byte) []byte {
	flags := byte(s.ending) << 1
	if s.word {
		flags |= 1
	}
	return append(s.at.key(b), flags)
}
