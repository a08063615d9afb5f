package text

import "regexp"

// maxFindLine is the length up to which a whole line is given to Go's regexp, unless the pattern is
// large.
const maxFindLine = 64 << 10

// Find returns the start and end of the leftmost match in a line, as Go's regexp finds it, or -1,
// -1 if there is none.
//
// Go's regexp can be slow and cannot be interrupted. Of a line over 64 KiB (less if the pattern has
// more than 64 characters and classes), Find therefore gives it only a part of that length, around
// the place where the first match is known to end. In that case Find may return another match near
// that place, cut the match off at the ends of the part, or let ^, $ and \b match there.
func (p *Pattern) Find(line []byte) (start, end int) {
	limit := maxFindLine / max(1, p.automaton.words)
	if len(line) <= limit {
		if at := p.finder().FindIndex(line); at != nil {
			return at[0], at[1]
		}
		return -1, -1
	}
	place := p.first(line)
	if place < 0 {
		return -1, -1
	}
	from := min(max(0, place-limit/2), len(line)-limit)
	if at := p.finder().FindIndex(line[from : from+limit]); at != nil {
		return from + at[0], from + at[1]
	}
	return from, place // the match is longer than the part
}

// first returns the offset at which the line is known to match, or -1.
func (p *Pattern) first(line []byte) int {
	m := p.dfas.Get().(*lazyDFA)
	defer p.dfas.Put(m)
	m.reset(nil)
	r := m.reader(0, len(line), []int{})
	m.finish(line, &r, true)
	if len(r.places) == 0 {
		return -1
	}
	return r.places[0]
}

// finder compiles a pattern that CompileAny has already accepted.
func finder(pattern string, o Options) *regexp.Regexp {
	if o.IgnoreCase {
		pattern = "(?i)" + pattern
	}
	if o.Multiline {
		pattern = "(?m)" + pattern
	}
	return regexp.MustCompile(pattern)
}
