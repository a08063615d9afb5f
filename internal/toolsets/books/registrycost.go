package books

import "bytes"

// The parser takes 4 µs for each item of a list and more than that for each line of a mapping, and
// quadratic time for long mappings and for empty items. A hostile registry of 1 MiB would keep it
// busy for minutes. No real registry comes near these limits.
const (
	// Brackets that are open at once, and indicators in one line; those in titles count too.
	maxNested  = 1000
	maxEntries = 5000   // lines that begin an item of a list
	maxLines   = 40_000 // all lines, also comments and empty ones
	maxRun     = 500    // lines between two items
	maxCommas  = 25_000
)

// checkCost returns an error for a text that would take long to parse, or exhaust the memory.
func checkCost(text []byte) error {
	var c costCounter
	for rest := text; len(rest) > 0; {
		end := bytes.IndexAny(rest, "\r\n") // each of them ends a line for the parser
		line := rest
		if end < 0 {
			rest = nil
		} else {
			line, rest = rest[:end], bytes.TrimPrefix(rest[end:], []byte("\r"))
			rest = bytes.TrimPrefix(rest, []byte("\n"))
		}
		if why := c.add(line); why != "" {
			return &faultError{c.lines, why}
		}
	}
	return nil
}

// costCounter counts what the parser takes time for.
type costCounter struct{ lines, entries, run, commas, depth int }

// add counts a line, and returns what there is too much of, or "".
func (c *costCounter) add(line []byte) string {
	c.lines++
	rest := bytes.TrimLeft(line, " ")
	open, isItem := c.depth, false
	if !bytes.HasPrefix(rest, []byte("#")) {
		// The parser takes quadratic time for many in one line.
		for _, indicator := range []byte(":&*!") {
			open += bytes.Count(rest, []byte{indicator})
		}
		c.commas += bytes.Count(rest, []byte(","))
		for bytes.HasPrefix(rest, []byte("- ")) || bytes.HasPrefix(rest, []byte("? ")) || len(rest) == 1 && rest[0] == '-' {
			open, rest, isItem = open+1, bytes.TrimLeft(rest[1:], " "), true
			c.entries++
		}
		for _, b := range rest {
			switch b {
			case '[', '{':
				c.depth++
			case ']', '}':
				c.depth = max(0, c.depth-1)
			}
			open = max(open, c.depth)
		}
		if c.run++; isItem {
			c.run = 0
		}
	}
	switch {
	case open > maxNested:
		return "it is nested too deeply"
	case c.entries > maxEntries:
		return "it has too many entries"
	case c.run > maxRun:
		return "an entry has too many lines"
	case c.lines > maxLines:
		return "it has too many lines"
	case c.commas > maxCommas:
		return "it has too many values"
	}
	return ""
}
