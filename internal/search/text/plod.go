package text

// plod is machine.finish without rows, from within a line: m.here is what has been read of it. A step may take long, so it
// looks at stop often.
func (m *machine) plod(data []byte, r *reader, once bool) {
	const often = 32
	here, there := &m.here, &m.there
	for steps := 0; r.at < r.end; steps++ {
		if steps%often == 0 && m.stopped() {
			return
		}
		c, size := int(m.ofByte[data[r.at]]), 1
		if c == beyond {
			class, length := m.character(data[r.at:])
			c, size = int(class), length
		}
		switch m.step(here, there, c) {
		case matches:
			r.found(r.at)
			if once {
				return
			}
			fallthrough
		case fails:
			_, r.at = lineEnd(data[:r.end], r.at)
			here.restart()
		default:
			here, there = there, here
			r.at += size
		}
	}
	if !here.begin && m.automaton.finish(here) == matches { // the last line has no end of its own
		r.found(r.end)
	}
}
