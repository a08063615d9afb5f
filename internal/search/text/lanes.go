package text

const (
	lanes    = 4
	laneSize = 4 << 10 // maximum, not counting the rest of the last line
)

// block searches lines of data from at, which must be the start of a line, and returns the offset
// it reached. It returns the places of matches in hits, in order, or only their number if keep is
// false.
//
// Each step of the DFA depends on the one before. Several parts of the text are therefore read in
// an interleaved way, so that the CPU can run their steps in parallel.
func (m *lazyDFA) block(data []byte, at int, keep bool) (hits [lanes]reader, after int) {
	var lane [lanes]reader
	size := min((len(data)-at)/lanes, laneSize)
	if size < m.minLaneSize || m.thrashing {
		size = lanes * laneSize
	}
	for i := range lane {
		_, end := lineEnd(data, min(at+size, len(data)))
		lane[i] = m.reader(at, end, m.placesBuffer(i, keep))
		at = end
	}
	before := lane
	flushes := m.flushes
	if !m.thrashing {
		m.runLanes(data, &lane)
	}
	for i := range lane {
		if m.flushes != flushes { // the flush made the lanes' rows invalid
			lane[i] = before[i]
			lane[i].row = m.start
		}
		m.finish(data, &lane[i], false)
		if keep {
			m.places[i] = lane[i].places
		}
	}
	m.dense = m.manyIn(&lane, at-before[0].at)
	return lane, at
}

// manyIn reports whether so many lines matched that countLanes is faster.
func (m *lazyDFA) manyIn(lane *[lanes]reader, size int) bool {
	lines := 0
	for i := range lane {
		lines += lane[i].lines
	}
	return lines > size/128
}

// placesBuffer returns a slice for the places that a lane finds, or nil if only the count is
// wanted.
func (m *lazyDFA) placesBuffer(i int, keep bool) []int {
	if !keep {
		return nil
	}
	if m.places[i] == nil {
		m.places[i] = make([]int, 0, 256)
	}
	return m.places[i][:0]
}

// runLanes advances all lanes until one reaches its end or the rows are flushed.
func (m *lazyDFA) runLanes(data []byte, lane *[lanes]reader) {
	flushes := m.flushes
	for {
		steps := stopInterval
		for i := range lane {
			steps = min(steps, lane[i].end-lane[i].at)
		}
		if steps <= 0 || m.stopped() {
			return
		}
		if lane[0].keeps || !m.dense {
			m.stepLanes(data, lane, steps)
		} else {
			m.countLanes(data, lane, steps)
		}
		for i := range lane {
			r := &lane[i]
			if r.row >= 0 {
				continue
			}
			r.row = rowOf(r.row)
			if m.stepSlow(data, r); m.flushes != flushes {
				return
			}
		}
	}
}

// stepLanes takes the given number of steps in each lane, or fewer if a lane reaches an unknown
// transition.
func (m *lazyDFA) stepLanes(data []byte, lane *[lanes]reader, steps int) {
	rows, class, again := m.rows, &m.ofByte, m.again
	text0, text1 := data[lane[0].at:][:steps], data[lane[1].at:][:steps]
	text2, text3 := data[lane[2].at:][:steps], data[lane[3].at:][:steps]
	row0, row1, row2, row3 := lane[0].row, lane[1].row, lane[2].row, lane[3].row
	n := 0
	for n < steps {
		row0 = rows[row0+int32(class[text0[n]])]
		row1 = rows[row1+int32(class[text1[n]])]
		row2 = rows[row2+int32(class[text2[n]])]
		row3 = rows[row3+int32(class[text3[n]])]
		n++
		if row0 <= again || row1 <= again || row2 <= again || row3 <= again {
			for i, row := range [lanes]int32{row0, row1, row2, row3} {
				if row == again {
					lane[i].found(lane[i].at + n - 1)
				}
			}
			if row0|row1|row2|row3 < 0 {
				break
			}
		}
	}
	for i, row := range [lanes]int32{row0, row1, row2, row3} {
		lane[i].advance(row, n)
	}
}

// countLanes is like stepLanes but counts the lines that match without stopping or branching at
// their ends.
func (m *lazyDFA) countLanes(data []byte, lane *[lanes]reader, steps int) {
	rows, class, others := m.rows, &m.ofByte, m.matched
	text0, text1 := data[lane[0].at:][:steps], data[lane[1].at:][:steps]
	text2, text3 := data[lane[2].at:][:steps], data[lane[3].at:][:steps]
	row0, row1, row2, row3 := lane[0].row, lane[1].row, lane[2].row, lane[3].row
	n, lines := 0, uint32(0)
	for n < steps {
		row0 = rows[row0+int32(class[text0[n]])]
		row1 = rows[row1+int32(class[text1[n]])]
		row2 = rows[row2+int32(class[text2[n]])]
		row3 = rows[row3+int32(class[text3[n]])]
		n++
		if row0|row1|row2|row3 < 0 {
			break
		}
		// Only the row again is less than others, and then the difference is negative.
		lines += uint32(row0-others)>>31 + uint32(row1-others)>>31 + uint32(row2-others)>>31 + uint32(row3-others)>>31
	}
	for i, row := range [lanes]int32{row0, row1, row2, row3} {
		lane[i].advance(row, n)
		if row == m.again && row0|row1|row2|row3 < 0 {
			lines++
		}
	}
	lane[0].lines += int(lines)
}

// advance sets a reader's row after a number of steps. If the last step led to an unknown
// transition, it does not count.
func (r *reader) advance(row int32, steps int) {
	r.row = row
	r.at += steps
	if row < 0 {
		r.at--
	}
}
