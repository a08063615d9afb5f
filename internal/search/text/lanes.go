package text

const (
	lanes    = 4
	laneSize = 4 << 10 // at most, but for the line at its end
)

// block reads lines of data that begin at or after at, where a line begins, and returns where it has come to. Those that
// match are told by hits, from the first to the last, or only counted.
//
// A step must wait for the one before. So several parts of the text are read in turns, and none of their steps waits for
// another.
func (m *machine) block(data []byte, at int, keep bool) (hits [lanes]reader, after int) {
	var lane [lanes]reader
	size := min((len(data)-at)/lanes, laneSize)
	if size < m.short || m.tired {
		size = lanes * laneSize
	}
	for i := range lane {
		_, end := lineEnd(data, min(at+size, len(data)))
		lane[i] = m.reader(at, end, m.room(i, keep))
		at = end
	}
	before := lane
	forgotten := m.forgotten
	if !m.tired {
		m.abreast(data, &lane)
	}
	for i := range lane {
		if m.forgotten != forgotten { // and with the rows, what has been read
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

// manyIn tells whether so many lines matched that tally is the faster way.
func (m *machine) manyIn(lane *[lanes]reader, size int) bool {
	lines := 0
	for i := range lane {
		lines += lane[i].lines
	}
	return lines > size/128
}

// room returns a slice for the places that a lane finds, or nil if they are not wanted.
func (m *machine) room(i int, keep bool) []int {
	if !keep {
		return nil
	}
	if m.places[i] == nil {
		m.places[i] = make([]int, 0, 256)
	}
	return m.places[i][:0]
}

// abreast reads on in all lanes until one is at its end, or rows have been forgotten.
func (m *machine) abreast(data []byte, lane *[lanes]reader) {
	forgotten := m.forgotten
	for {
		steps := patience
		for i := range lane {
			steps = min(steps, lane[i].end-lane[i].at)
		}
		if steps <= 0 || m.stopped() {
			return
		}
		if lane[0].keeps || !m.dense {
			m.stride(data, lane, steps)
		} else {
			m.tally(data, lane, steps)
		}
		for i := range lane {
			r := &lane[i]
			if r.row >= 0 {
				continue
			}
			r.row = unstuck(r.row)
			if m.pass(data, r); m.forgotten != forgotten {
				return
			}
		}
	}
}

// stride takes that many steps in each lane, or fewer if one of them gets stuck.
func (m *machine) stride(data []byte, lane *[lanes]reader, steps int) {
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

// tally is stride that counts the lines that match. Where they end it does not stop, and does not branch.
func (m *machine) tally(data []byte, lane *[lanes]reader, steps int) {
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
		// Of the rows only again is less than the others: then the difference is negative.
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

// advance notes that after so many steps a reader is in a row. It is not past the last step if that got stuck.
func (r *reader) advance(row int32, steps int) {
	r.row = row
	r.at += steps
	if row < 0 {
		r.at--
	}
}
