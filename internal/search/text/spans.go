package text

import (
	"bytes"
	"regexp/syntax"
	"sync/atomic"
)

// spansLines reports whether a program can match a \n.
func spansLines(prog *syntax.Prog) bool {
	for i := range prog.Inst {
		switch in := &prog.Inst[i]; in.Op {
		case syntax.InstRuneAny:
			return true
		case syntax.InstRune, syntax.InstRune1:
			if in.MatchRune('\n') {
				return true
			}
		}
	}
	return false
}

// scanRuns implements Scan for matches that span lines. Matches on the same line or on adjacent
// lines are one run.
func (p *Pattern) scanRuns(data []byte, stop *atomic.Bool, found func(number, start, end int) bool) (whole bool) {
	if p.prefilter != nil && p.prefilter.next(data, 0, nil) < 0 {
		return true
	}
	number, counted := 1, 0       // the number of the line that begins at counted
	start, end, after := 0, 0, -1 // the current run, and the start of the line after it
	for _, m := range p.findAll(data) {
		if stop != nil && stop.Load() {
			return false
		}
		if m[0] == len(data) && (m[0] == 0 || data[m[0]-1] == '\n') {
			break // there is no line
		}
		first := lineStart(data, counted, m[0])
		if after >= 0 && first > after {
			if !found(number, start, end) {
				return true
			}
			after = -1
		}
		if after < 0 {
			number += bytes.Count(data[counted:first], []byte{'\n'})
			start, counted = first, first
		}
		end, after = lineEnd(data, max(m[0], m[1]-1))
	}
	if after >= 0 {
		found(number, start, end)
	}
	return true
}

// scanOthers implements Scan for the lines that do not match.
func (p *Pattern) scanOthers(data []byte, stop *atomic.Bool, found func(number, start, end int) bool) (whole bool) {
	number, at, over := 1, 0, false
	until := func(next int) bool {
		for at < next && !over {
			end, after := lineEnd(data, at)
			over = !found(number, at, end)
			number, at = number+1, after
		}
		return !over
	}
	scan := p.scanLines
	if p.Multiline {
		scan = p.scanRuns
	}
	whole = scan(data, stop, func(_, start, end int) bool {
		if !until(start) {
			return false
		}
		_, after := lineEnd(data, end)
		number += bytes.Count(data[start:end], []byte{'\n'}) + 1
		at = after
		return true
	})
	if whole {
		until(len(data))
	}
	return whole
}
