package text

import (
	"math"
	"slices"
	"sync/atomic"
	"unicode/utf8"
)

// A lazyDFA is the automaton as a deterministic automaton that is built while it runs. Each state
// that it reaches gets a row of transitions, one per class.
type lazyDFA struct {
	*automaton
	// for each row, the offsets of the rows that follow, by class; unknown(row) where that is not
	// known
	rows             []int32
	states           []state          // the state of each row
	ids              map[string]int32 // the offset of each state's row
	maxStates        int              // flush the rows when there are this many
	minBytesPerState int              // with fewer bytes read per state, caching does not pay
	minLaneSize      int              // texts with shorter lanes are read in one go

	again, matched, failed, start int32 // the fixed rows, see flush

	stop          *atomic.Bool // if set, reading stops; may be nil
	current, next state        // buffers of runNFA; next also holds the result of the last step
	key           []byte
	places        [lanes][]int // buffers for the places that lanes find
	bytesRead     int          // since the last flush
	flushes       int          // number of flushes
	dense         bool         // many lines match
	thrashing     bool         // states do not repeat, so none are cached
}

// unknown returns the entry of a transition of the row that is not known, or is not known before
// the whole character is decoded. It is less than any row offset, and contains the row, so that
// readers need not remember where they were.
func unknown(row int32) int32 { return row | math.MinInt32 }

// rowOf returns the row of an unknown entry.
func rowOf(row int32) int32 { return row & math.MaxInt32 }

const (
	maxMemory    = 2 << 20  // approximate maximum size of the rows of a lazyDFA
	stopInterval = 64 << 10 // bytes to read between checks of stop
)

func newLazyDFA(a *automaton) *lazyDFA {
	m := &lazyDFA{automaton: a, ids: map[string]int32{}, minBytesPerState: 8, minLaneSize: 256}
	perState := 4*a.size + 16*a.words + 150
	m.maxStates = max(maxMemory/perState, 16)
	m.current.at, m.next.at = make(set, a.words), make(set, a.words)
	m.flush()
	return m
}

// reset prepares the DFA for another text.
func (m *lazyDFA) reset(stop *atomic.Bool) { m.thrashing, m.stop = false, stop }

// stopped reports whether to stop reading.
func (m *lazyDFA) stopped() bool { return m.stop != nil && m.stop.Load() }

// flush removes all rows but the fixed ones. The order of the fixed rows matters: the fast loops
// detect special rows by comparing offsets. A line begins in start, or in again if the line before
// matched. Once it is known whether a line matches, matched or failed reads the rest of it.
func (m *lazyDFA) flush() {
	m.rows, m.states, m.bytesRead = m.rows[:0], m.states[:0], 0
	m.flushes++
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

// A reader is a position within whole lines of a text.
type reader struct {
	row     int32
	at, end int
	counted int   // bytes before this offset have been added to lazyDFA.bytesRead
	lines   int   // number of lines that matched
	places  []int // a place in each of them, at most the offset of its \n
	keeps   bool  // record places, not only the number of lines
}

func (m *lazyDFA) reader(at, end int, places []int) reader {
	return reader{row: m.start, at: at, end: end, counted: at, places: places[:0], keeps: places != nil}
}

func (r *reader) found(place int) {
	r.lines++
	if r.keeps {
		r.places = append(r.places, place)
	}
}

// matches reports whether a line, with the \n at its end, matches, and how much of it was read to
// decide.
func (m *lazyDFA) matches(line []byte) (yes bool, read int) {
	r := m.reader(0, len(line), nil)
	m.finish(line, &r, true)
	return r.lines > 0, r.at
}

// finish reads to the end or, if firstOnly is set, to the first place where a line is known to
// match.
func (m *lazyDFA) finish(data []byte, r *reader, firstOnly bool) {
	if m.thrashing {
		m.current.restart()
		m.runNFA(data, r, firstOnly)
		return
	}
	for r.at < r.end && !m.stopped() {
		m.stepFast(data, r)
		if r.at == r.end {
			break
		}
		m.stepSlow(data, r)
		switch {
		case m.thrashing:
			m.current, m.next = m.next, m.current
			m.runNFA(data, r, firstOnly)
			return
		case r.row == m.matched && firstOnly:
			r.found(r.at)
		case r.row == m.matched || r.row == m.failed:
			r.at += newline(data[r.at:r.end])
		}
		if firstOnly && r.lines > 0 {
			return
		}
	}
	m.finishLastLine(r)
}

// stepFast reads as long as each transition leads to a regular row, and at most until it is time to
// check stop.
func (m *lazyDFA) stepFast(data []byte, r *reader) {
	text := data[r.at:min(r.end, r.at+stopInterval)]
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

// finishLastLine handles the end of the text, where the last line may lack a \n.
func (m *lazyDFA) finishLastLine(r *reader) {
	m.bytesRead += r.at - r.counted
	r.counted = r.at
	if r.at == r.end && r.row != m.start && r.row != m.again && m.transition(r.row, end) == m.again {
		r.found(r.end)
	}
}

// stepSlow takes one step, computing the transition if needed. If the DFA is thrashing afterwards,
// the new state is in m.next.
func (m *lazyDFA) stepSlow(data []byte, r *reader) {
	c, size := int32(m.ofByte[data[r.at]]), 1
	to := m.rows[r.row+c]
	if to < 0 && c == nonASCII {
		c, size = m.character(data[r.at:])
		to = m.rows[r.row+c]
	}
	if to < 0 {
		m.bytesRead += r.at - r.counted
		r.counted = r.at
		to = m.transition(r.row, c)
	}
	if to == m.again {
		r.found(r.at)
	}
	r.row = to
	r.at += size
}

// character returns the class and the length of the first character of data. A byte of invalid
// UTF-8 counts as one character.
func (m *lazyDFA) character(data []byte) (class int32, size int) {
	r, size := utf8.DecodeRune(data)
	if size == 1 {
		return int32(m.invalid), size
	}
	return int32(m.ofRune(r)), size
}

// transition returns the row that follows, and caches it.
func (m *lazyDFA) transition(row, class int32) int32 {
	if known := m.rows[row+class]; known >= 0 {
		return known
	}
	before := m.flushes
	to := m.compute(row, class)
	if m.flushes == before {
		m.rows[row+class] = to
	}
	return to
}

// compute takes a step and returns the row it leads to. If there are too many rows, it flushes them
// first. If those saved little work, it sets thrashing.
func (m *lazyDFA) compute(row, class int32) int32 {
	ends := class == end || int(class) == m.lineFeed
	switch v := m.step(&m.states[int(row)/m.size], &m.next, int(class)); {
	case v == matches && ends:
		return m.again
	case v == matches:
		return m.matched
	case ends:
		return m.start
	case v == fails:
		return m.failed
	}
	m.key = m.next.appendKey(m.key[:0])
	if to, ok := m.ids[string(m.key)]; ok {
		return to
	}
	if len(m.states) >= m.maxStates {
		m.thrashing = m.bytesRead < m.minBytesPerState*len(m.states)
		m.flush()
	}
	m.ids[string(m.key)] = int32(len(m.rows))
	return m.newRow(&m.next)
}

// newRow adds a row for a copy of the state.
func (m *lazyDFA) newRow(s *state) int32 {
	row := len(m.rows)
	kept := *s
	kept.at = slices.Clone(s.at)
	m.states = append(m.states, kept)
	m.rows = slices.Grow(m.rows, m.size)[:row+m.size]
	for i := range m.rows[row:] {
		m.rows[row+i] = unknown(int32(row))
	}
	return int32(row)
}

// restart resets the state to the beginning of a line.
func (s *state) restart() {
	clear(s.at)
	s.begin, s.word = true, false
}

// appendKey appends a key that identifies the state.
func (s *state) appendKey(b []byte) []byte {
	if s.word {
		return append(s.at.key(b), 1)
	}
	return append(s.at.key(b), 0)
}
