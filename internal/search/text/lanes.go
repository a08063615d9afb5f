package text

const (
	lanes    = 4
	laneSize = 4 << 10 // at most, but for the line at its end
	longCalm = 512     // what machine.calm is
)

// next returns a place in the first line that matches, of those that begin at or after at, where a line begins. There is
// none if it is negative.
//
// A step must wait for the one before. So where matches are rare, several parts of the text are read in turns, and
// none of their steps waits for another.
func (m *machine) next(data []byte, at int) int {
	for !m.stays && !m.tired && len(data)-at > 2*m.calm {
		_, first := lineEnd(data, at+m.calm)
		if hit := m.scan(data, m.reader(at, first)); hit >= 0 {
			return hit
		}
		hit, after := m.skim(data, first)
		if hit >= 0 {
			return hit
		}
		at = after
	}
	return m.scan(data, m.reader(at, len(data)))
}

// skim returns a place in the first line that matches, or -1 and where it has come to without one.
func (m *machine) skim(data []byte, at int) (hit, after int) {
	var lane [lanes]reader
	var begin [lanes]int
	size := min((len(data)-at)/lanes, laneSize)
	for i := range lane {
		begin[i] = at
		_, at = lineEnd(data, min(at+size, len(data)))
		lane[i] = m.reader(begin[i], at)
	}
	forgotten := m.forgotten
	if !m.tired {
		m.abreast(data, &lane)
	}
	for i, r := range lane {
		if m.forgotten != forgotten { // and with the rows, what has been read
			r = m.reader(begin[i], r.end)
		}
		if hit := m.scan(data, r); hit >= 0 {
			return hit, hit
		}
	}
	return -1, at
}

// abreast reads on in all lanes until one is at its end, or at a match, or rows have been forgotten.
func (m *machine) abreast(data []byte, lane *[lanes]reader) {
	forgotten := m.forgotten
	for {
		steps := len(data)
		for i := range lane {
			steps = min(steps, lane[i].end-lane[i].at)
		}
		if steps <= 0 {
			return
		}
		m.stride(data, lane, steps)
		for i := range lane {
			r := &lane[i]
			if r.at >= r.end || m.rows[r.row+uint32(m.ofByte[data[r.at]])] >= answers {
				continue
			}
			if m.pass(data, r) || m.forgotten != forgotten {
				return
			}
		}
	}
}

// stride takes that many steps in each lane, or fewer if one of them leads to no row.
func (m *machine) stride(data []byte, lane *[lanes]reader, steps int) {
	rows, class := m.rows, &m.ofByte
	text0, text1 := data[lane[0].at:][:steps], data[lane[1].at:][:steps]
	text2, text3 := data[lane[2].at:][:steps], data[lane[3].at:][:steps]
	row0, row1, row2, row3 := lane[0].row, lane[1].row, lane[2].row, lane[3].row
	n := 0
	for ; n < steps; n++ {
		to0 := rows[row0+uint32(class[text0[n]])]
		to1 := rows[row1+uint32(class[text1[n]])]
		to2 := rows[row2+uint32(class[text2[n]])]
		to3 := rows[row3+uint32(class[text3[n]])]
		if to0 < answers || to1 < answers || to2 < answers || to3 < answers {
			break
		}
		row0, row1, row2, row3 = to0, to1, to2, to3
	}
	for i, row := range [lanes]uint32{row0, row1, row2, row3} {
		lane[i].row = row
		lane[i].at += n
	}
}
