package text

// runNFA is like lazyDFA.finish without cached rows. It starts within a line, in the state
// m.current. A step may be slow, so it checks stop often.
func (m *lazyDFA) runNFA(data []byte, r *reader, firstOnly bool) {
	const often = 32
	current, next := &m.current, &m.next
	for steps := 0; r.at < r.end; steps++ {
		if steps%often == 0 && m.stopped() {
			return
		}
		c, size := int(m.ofByte[data[r.at]]), 1
		if c == nonASCII {
			class, length := m.character(data[r.at:])
			c, size = int(class), length
		}
		switch m.step(current, next, c) {
		case matches:
			r.found(r.at)
			if firstOnly {
				return
			}
			fallthrough
		case fails:
			_, r.at = lineEnd(data[:r.end], r.at)
			current.restart()
		default:
			current, next = next, current
			r.at += size
		}
	}
	if !current.begin && m.automaton.finish(current) == matches { // the last line has no \n
		r.found(r.end)
	}
}
