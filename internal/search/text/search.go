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

	found  func(number, start, end int) bool // nil if lines are only counted
	number int                               // of the line that begins at seen
	seen   int
	lines  int // that matched

	at      int      // where a line begins, and all before are done
	reading int      // up to here all lines are read
	machine *machine // nil until needed
	over    bool     // found wants no more
	stopped bool     // from outside
}

// run finds all there is, or what there is until it is stopped.
func (s *search) run() {
	for s.at < len(s.data) && !s.over && !s.halted() {
		if s.sieve != nil && s.at >= s.reading {
			s.hunt()
		} else {
			s.read()
		}
	}
	if s.machine != nil {
		s.machines.Put(s.machine)
	}
}

// halted looks whether somebody outside does not want the rest.
func (s *search) halted() bool {
	s.stopped = s.stopped || s.stop != nil && s.stop.Load()
	return s.stopped
}

// hunt looks at the lines in which a literal stands. Where that is too common, reading everything is faster for a while.
func (s *search) hunt() {
	const enough, while, near = 16, 256 << 10, 1 << 10
	lines, cost, from := 0, 0, s.at
	for s.at < len(s.data) && !s.over {
		hit := s.sieve.next(s.data, s.at, s.stop)
		if s.halted() {
			return
		}
		if hit < 0 {
			s.at = len(s.data)
			return
		}
		if s.sure {
			isNear := hit-s.at < near
			if s.report(hit); isNear && s.sieve.probes != nil {
				s.survey()
			}
			continue
		}
		cost += s.look(hit)
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

// look reads the line of a place, and reports it if it matches. It returns how many bytes could be read in lanes instead.
func (s *search) look(place int) (cost int) {
	const once, alone = 64, 3 // for a line, and for each byte of it
	start := lineStart(s.data, s.at, place)
	_, after := lineEnd(s.data, place)
	matches, read := s.ready().matches(s.data[start:after])
	if matches {
		s.report(place)
	} else {
		s.at = after
	}
	return once + alone*read
}

// read looks at a few lines with the machine alone.
func (s *search) read() {
	hits, after := s.ready().block(s.data, s.at, s.found != nil)
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

// ready returns a machine that no other search uses.
func (s *search) ready() *machine {
	if s.machine == nil {
		s.machine = s.machines.Get().(*machine)
		s.machine.rest(s.stop)
	}
	return s.machine
}

// report tells of a line that matches, and goes on after it.
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
	s.tell(place)
	s.at = s.seen
}

// tell gives found the line that begins at seen, in which a match is at place.
func (s *search) tell(place int) {
	end, after := lineEnd(s.data, place)
	s.lines++
	if !s.found(s.number, s.seen, end) {
		s.over = true
	}
	s.number++
	s.seen = after
}

// lineStart returns where the line of place begins; from is the beginning of that line or of one before.
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

// lineEnd returns where the line of place ends, without \r\n, and where the next one begins.
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
