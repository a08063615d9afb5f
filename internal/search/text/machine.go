package text

import (
	"math"
	"slices"
	"sync/atomic"
	"unicode/utf8"
)

// A machine is the automaton made deterministic while it runs: each state that is met gets a row of what follows, by class.
type machine struct {
	*automaton
	rows   []int32          // in row after row, the offset of the row that follows; or what stuck returns, if that is not known
	states []state          // of each row
	ids    map[string]int32 // the offset of the row of a state
	full   int              // how many states are too many
	use    int              // how many bytes should be read for each state that is made
	short  int              // texts up to here are read in one go

	again, matched, failed, start int32 // the rows that are always there, see forget

	stop        *atomic.Bool // if it is set, nothing more is read; may be nil
	here, there state        // what plod reads with; there is also where the last step led
	key         []byte
	places      [lanes][]int // what readers have found; kept for their room
	read        int          // bytes since the rows were last forgotten
	forgotten   int          // how often that was
	dense       bool         // many lines match
	tired       bool         // states are met that are not met again, so none are kept
}

// stuck is what stands in a row where the next one is not known, or not without a look at the whole of a character. It is
// less than any row, and tells the row itself, so that readers need not remember where they were.
func stuck(row int32) int32 { return row | math.MinInt32 }

// unstuck returns the row that is stuck.
func unstuck(row int32) int32 { return row & math.MaxInt32 }

const (
	maxMemory = 2 << 20  // about what a machine keeps
	patience  = 64 << 10 // so many bytes are read before stop is looked at
)

func newMachine(a *automaton) *machine {
	m := &machine{automaton: a, ids: map[string]int32{}, use: 8, short: 256}
	perState := 4*a.size + 16*a.words + 150
	m.full = max(maxMemory/perState, 16)
	m.here.at, m.there.at = make(set, a.words), make(set, a.words)
	m.forget()
	return m
}

// rest makes the machine ready for another text.
func (m *machine) rest(stop *atomic.Bool) { m.tired, m.stop = false, stop }

// stopped tells whether to give up.
func (m *machine) stopped() bool { return m.stop != nil && m.stop.Load() }

// forget leaves the rows that are always there. Their order counts: what is looked for in a hurry is a step to a row below
// some other. A line begins in start, or in again if the one before matched;
// when it is known whether a line matches, matched and failed read it to its end.
func (m *machine) forget() {
	m.rows, m.states, m.read = m.rows[:0], m.states[:0], 0
	m.forgotten++
	clear(m.ids)
	nothing := &state{at: make(set, m.words), begin: true}
	m.again, m.matched, m.failed, m.start = m.newRow(nothing), m.newRow(nothing), m.newRow(nothing), m.newRow(nothing)
	for c := range int32(m.size) {
		m.rows[m.matched+c], m.rows[m.failed+c] = m.matched, m.failed
	}
	for _, c := range []int32{int32(m.lineFeed), end} {
		m.rows[m.matched+c], m.rows[m.failed+c] = m.again, m.start
	}
}

// A reader is on its way through whole lines of a text.
type reader struct {
	row     int32
	at, end int
	counted int   // the bytes before have been added to machine.read
	lines   int   // that matched
	places  []int // one in each of them, up to the \n at its end
	keeps   bool  // places are wanted, not only how many
}

func (m *machine) reader(at, end int, places []int) reader {
	return reader{row: m.start, at: at, end: end, counted: at, places: places[:0], keeps: places != nil}
}

func (r *reader) found(place int) {
	r.lines++
	if r.keeps {
		r.places = append(r.places, place)
	}
}

// matches tells whether a line, with the \n at its end, matches, and how much of it was read to know.
func (m *machine) matches(line []byte) (yes bool, read int) {
	r := m.reader(0, len(line), nil)
	m.finish(line, &r, true)
	return r.lines > 0, r.at
}

// finish reads to the end, or if once is set to where it is known that a line matches.
func (m *machine) finish(data []byte, r *reader, once bool) {
	if m.tired {
		m.here.restart()
		m.plod(data, r, once)
		return
	}
	for r.at < r.end && !m.stopped() {
		m.dash(data, r)
		if r.at == r.end {
			break
		}
		m.pass(data, r)
		switch {
		case m.tired:
			m.here, m.there = m.there, m.here
			m.plod(data, r, once)
			return
		case r.row == m.matched && once:
			r.found(r.at)
		case r.row == m.matched || r.row == m.failed:
			r.at += newline(data[r.at:r.end])
		}
		if once && r.lines > 0 {
			return
		}
	}
	m.conclude(r)
}

// dash reads as long as each step leads to a row of the usual kind, until it is time to look at stop.
func (m *machine) dash(data []byte, r *reader) {
	text := data[r.at:min(r.end, r.at+patience)]
	rows, class, usual, row := m.rows, &m.ofByte, m.start, r.row
	n := 0
	for n < len(text) {
		to := rows[row+int32(class[text[n]])]
		if to < usual {
			break
		}
		row = to
		n++
	}
	r.row = row
	r.at += n
}

// conclude is for a reader that is at its end: the last line of a text may have no end of its own.
func (m *machine) conclude(r *reader) {
	m.read += r.at - r.counted
	r.counted = r.at
	if r.at == r.end && r.row != m.start && r.row != m.again && m.meet(r.row, end) == m.again {
		r.found(r.end)
	}
}

// pass takes a reader one step further, whatever it takes. If the machine is tired after it, the state is m.there.
func (m *machine) pass(data []byte, r *reader) {
	c, size := int32(m.ofByte[data[r.at]]), 1
	to := m.rows[r.row+c]
	if to < 0 && c == beyond {
		c, size = m.character(data[r.at:])
		to = m.rows[r.row+c]
	}
	if to < 0 {
		m.read += r.at - r.counted
		r.counted = r.at
		to = m.meet(r.row, c)
	}
	if to == m.again {
		r.found(r.at)
	}
	r.row = to
	r.at += size
}

// character returns the class and the length of the character that data begins with. A byte that belongs to none is one by
// itself.
func (m *machine) character(data []byte) (class int32, size int) {
	r, size := utf8.DecodeRune(data)
	if size == 1 {
		return int32(m.invalid), size
	}
	return int32(m.ofRune(r)), size
}

// meet finds out what follows in a row, and notes it.
func (m *machine) meet(row, class int32) int32 {
	if known := m.rows[row+class]; known >= 0 {
		return known
	}
	before := m.forgotten
	to := m.judge(row, class)
	if m.forgotten == before {
		m.rows[row+class] = to
	}
	return to
}

// judge takes a step, and returns the row it leads to. If there is no room for that, the machine forgets all others; if they
// were of little use, it is tired.
func (m *machine) judge(row, class int32) int32 {
	ends := class == end || int(class) == m.lineFeed
	switch v := m.step(&m.states[int(row)/m.size], &m.there, int(class)); {
	case v == matches && ends:
		return m.again
	case v == matches:
		return m.matched
	case ends:
		return m.start
	case v == fails:
		return m.failed
	}
	m.key = m.there.appendKey(m.key[:0])
	if to, ok := m.ids[string(m.key)]; ok {
		return to
	}
	if len(m.states) >= m.full {
		m.tired = m.read < m.use*len(m.states)
		m.forget()
	}
	m.ids[string(m.key)] = int32(len(m.rows))
	return m.newRow(&m.there)
}

// newRow keeps a copy of a state.
func (m *machine) newRow(s *state) int32 {
	row := len(m.rows)
	kept := *s
	kept.at = slices.Clone(s.at)
	m.states = append(m.states, kept)
	m.rows = slices.Grow(m.rows, m.size)[:row+m.size]
	for i := range m.rows[row:] {
		m.rows[row+i] = stuck(int32(row))
	}
	return int32(row)
}

// restart makes the state that of a line of which nothing has been read.
func (s *state) restart() {
	clear(s.at)
	s.begin, s.word = true, false
}

// appendKey appends what tells the state from others.
func (s *state) appendKey(b []byte) []byte {
	if s.word {
		return append(s.at.key(b), 1)
	}
	return append(s.at.key(b), 0)
}
