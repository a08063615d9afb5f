package text

import (
	"bytes"
	"sync/atomic"
)

// A search is one pass over one text.
type search struct {
	*Pattern
	data []byte
	stop *atomic.Bool

	found  func(number, start, end int) bool // nil to only count lines
	number int                               // number of the line that begins at seen
	seen   int
	lines  int // number of lines that matched

	at      int      // start of a line; everything before it is done
	reading int      // read all lines up to here, without the prefilter
	lazyDFA *lazyDFA // nil until needed
	over    bool     // found returned false
	stopped bool     // stop was set
}

// run searches the whole text, or until it is stopped.
func (s *search) run() {
	for s.at < len(s.data) && !s.over && !s.halted() {
		if s.prefilter != nil && s.at >= s.reading {
			s.scanLiterals()
		} else {
			s.readBlock()
		}
	}
	if s.lazyDFA != nil {
		s.dfas.Put(s.lazyDFA)
	}
}

// halted reports whether stop is set.
func (s *search) halted() bool {
	s.stopped = s.stopped || s.stop != nil && s.stop.Load()
	return s.stopped
}

// scanLiterals searches the lines that contain a literal. If the literal is too common, it switches
// to reading everything for a while, because that is faster.
func (s *search) scanLiterals() {
	const enough, while, near = 16, 256 << 10, 1 << 10
	lines, cost, from := 0, 0, s.at
	for s.at < len(s.data) && !s.over {
		hit := s.prefilter.next(s.data, s.at, s.stop)
		if s.halted() {
			return
		}
		if hit < 0 {
			s.at = len(s.data)
			return
		}
		if s.exact {
			isNear := hit-s.at < near
			if s.report(hit); isNear && s.prefilter.probes != nil {
				s.searchDense()
			}
			continue
		}
		cost += s.checkLine(hit)
		if lines++; lines%enough != 0 {
			continue
		}
		if s.at-from < cost {
			s.reading = s.at + while
			return
		}
		cost, from = 0, s.at
	}
}

// checkLine reads the line around a place, and reports it if it matches. It returns the cost, as
// the number of bytes that lanes could have read instead.
func (s *search) checkLine(place int) (cost int) {
	const perLine, perByte = 64, 3 // per line, and per byte of it
	start := lineStart(s.data, s.at, place)
	_, after := lineEnd(s.data, place)
	matches, read := s.getDFA().matches(s.data[start:after])
	if matches {
		s.report(place)
	} else {
		s.at = after
	}
	return perLine + perByte*read
}

// readBlock searches a few lines with the DFA alone.
func (s *search) readBlock() {
	hits, after := s.getDFA().block(s.data, s.at, s.found != nil)
	if s.halted() {
		return
	}
	for i := range hits {
		if s.found == nil {
			s.lines += hits[i].lines
		}
		for _, place := range hits[i].places {
			if s.report(place); s.over {
				return
			}
		}
	}
	s.at = after
}

// getDFA returns a DFA that no other search uses.
func (s *search) getDFA() *lazyDFA {
	if s.lazyDFA == nil {
		s.lazyDFA = s.dfas.Get().(*lazyDFA)
		s.lazyDFA.reset(s.stop)
	}
	return s.lazyDFA
}

// report emits the line around a place and continues after it.
func (s *search) report(place int) {
	if s.found == nil {
		_, s.at = lineEnd(s.data, place)
		s.lines++
		return
	}
	if bytes.IndexByte(s.data[s.seen:place], '\n') >= 0 { // it is not the next line
		start := lineStart(s.data, s.seen, place)
		s.number += bytes.Count(s.data[s.seen:start], []byte{'\n'})
		s.seen = start
	}
	s.emit(place)
	s.at = s.seen
}

// emit calls found with the line that begins at seen and matches at place.
func (s *search) emit(place int) {
	end, after := lineEnd(s.data, place)
	s.lines++
	if !s.found(s.number, s.seen, end) {
		s.over = true
	}
	s.number++
	s.seen = after
}

// lineStart returns the start of the line that contains place. from must be the start of that line
// or of an earlier one.
func lineStart(data []byte, from, place int) int {
	return from + bytes.LastIndexByte(data[from:place], '\n') + 1
}

// newline returns the offset of the first \n, or the length of data if there is none.
func newline(data []byte) int {
	if n := bytes.IndexByte(data, '\n'); n >= 0 {
		return n
	}
	return len(data)
}

// lineEnd returns the end of the line that contains place, without \r\n, and the start of the next
// line.
func lineEnd(data []byte, place int) (end, after int) {
	end = place + newline(data[place:])
	if end == len(data) {
		return end, end
	}
	after = end + 1
	if end > 0 && data[end-1] == '\r' {
		end--
	}
	return end, after
}
