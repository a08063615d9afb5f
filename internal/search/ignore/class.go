package ignore

import "strings"

// classReader parses a character class of a pattern, such as [!a-z[:digit:]], as git does.
type classReader struct {
	source string
	at     int
	fold   bool
	set    [4]uint64
}

// newClass parses the class at the start of source, which begins with [. It returns the set of
// bytes in the class and the length of the class. The length is 0 if the class is not closed or
// contains an unknown named class.
func newClass(source string, fold bool) (*[4]uint64, int) {
	r := classReader{source: source, at: 1, fold: fold}
	not := r.peek() == '!' || r.peek() == '^'
	if not {
		r.at++
	}
	before := -1
	for first := true; first || r.peek() != ']'; first = false {
		next, ok := r.readItem(before)
		if !ok {
			return &r.set, 0
		}
		before = next
	}
	if not {
		for i := range r.set {
			r.set[i] = ^r.set[i]
		}
	}
	return &r.set, r.at + 1
}

// peek returns the next byte, or 0 at the end.
func (r *classReader) peek() byte {
	if r.at < len(r.source) {
		return r.source[r.at]
	}
	return 0
}

// readItem reads a byte, a range that continues from the byte before, or a named class. It returns
// the byte that a range may begin with, or -1, and false if the class is invalid.
func (r *classReader) readItem(before int) (int, bool) {
	rest := r.source[min(r.at, len(r.source)):]
	switch {
	case rest == "":
		return 0, false
	case rest[0] == '-' && before > 0 && len(rest) > 1 && rest[1] != ']':
		r.at++
		last, ok := r.readByte()
		r.addRange(byte(before), last)
		return -1, ok
	case strings.HasPrefix(rest, "[:"):
		name, _, closed := strings.Cut(rest[2:], "]")
		if !closed {
			return 0, false
		}
		if name, ok := strings.CutSuffix(name, ":"); ok {
			r.at += len("[::]") + len(name)
			return -1, r.addNamed(name)
		}
	}
	c, ok := r.readByte()
	r.add(c)
	return int(c), ok
}

// readByte reads a byte that may be escaped.
func (r *classReader) readByte() (byte, bool) {
	if r.peek() == '\\' {
		r.at++
	}
	c := r.peek()
	r.at++
	return c, c != 0
}

// add adds a byte as it is. Like git, it does not fold it, although paths are folded if case is
// ignored: then [A] matches nothing.
func (r *classReader) add(c byte) { r.set[c/64] |= 1 << (c % 64) }

// addRange adds all bytes from low to high. If case is ignored, it adds the lower case of capitals
// too.
func (r *classReader) addRange(low, high byte) {
	for c := int(low); c <= int(high); c++ {
		r.add(byte(c))
		if r.fold && 'A' <= c && c <= 'Z' {
			r.add(byte(c + 'a' - 'A'))
		}
	}
}

// addNamed adds a named class. It returns false if there is no class of that name.
func (r *classReader) addNamed(name string) bool {
	ranges, ok := classes[name]
	for ; ranges != ""; ranges = ranges[2:] {
		r.addRange(ranges[0], ranges[1])
	}
	return ok
}

// classes holds the named classes as ranges: the first byte of each and its last. They are those of
// ASCII, with git's definition of a space.
var classes = map[string]string{
	"alnum":  "09AZaz",
	"alpha":  "AZaz",
	"blank":  "  \t\t",
	"cntrl":  "\x00\x1f\x7f\x7f",
	"digit":  "09",
	"graph":  "!~",
	"lower":  "az",
	"print":  " ~",
	"punct":  "!/:@[`{~",
	"space":  "  \t\n\r\r",
	"upper":  "AZ",
	"xdigit": "09AFaf",
}
