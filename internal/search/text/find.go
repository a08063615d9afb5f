package text

import "regexp"

// findable is the length up to which a line is given to Go's regexp as a whole, unless the pattern is large.
const findable = 64 << 10

// Find returns where the leftmost match in a line begins and ends, as Go's regexp finds it, or -1, -1 if there is none.
//
// Go's regexp takes long, and cannot be stopped. So of a line over 64 KiB (less if the pattern is of more than 64 characters and
// classes) only a part that long is given to it, around the place where the first match is seen to end. Then the match may be
// another one near that place, what of it is not in the part is left out, and where the part is cut ^, $ and \b may stand.
func (p *Pattern) Find(line []byte) (start, end int) {
	most := findable / max(1, p.automaton.words)
	if len(line) <= most {
		if at := p.finder().FindIndex(line); at != nil {
			return at[0], at[1]
		}
		return -1, -1
	}
	place := p.first(line)
	if place < 0 {
		return -1, -1
	}
	from := min(max(0, place-most/2), len(line)-most)
	if at := p.finder().FindIndex(line[from : from+most]); at != nil {
		return from + at[0], from + at[1]
	}
	return from, place // it is longer than the part
}

// first returns the place where it is known that a line matches, or -1.
func (p *Pattern) first(line []byte) int {
	m := p.machines.Get().(*machine)
	defer p.machines.Put(m)
	m.rest(nil)
	r := m.reader(0, len(line), []int{})
	m.finish(line, &r, true)
	if len(r.places) == 0 {
		return -1
	}
	return r.places[0]
}

// finder compiles what Compile has already understood.
func finder(pattern string, o Options) *regexp.Regexp {
	if o.IgnoreCase {
		pattern = "(?i)" + pattern
	}
	return regexp.MustCompile(pattern)
}
