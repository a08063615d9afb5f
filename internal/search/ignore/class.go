package ignore

import "strings"

// classReader reads a class of a pattern, such as [!a-z[:digit:]], as git does.
type classReader struct {
	source string
	at     int
	fold   bool
	set    [4]uint64
}

// newClass reads a class from its [ on: the bytes that are in it, and its size. That is 0 if it is not closed, or names a
// class that there is not.
func newClass(source string, fold bool) (*[4]uint64, int) {
	r := classReader{source: source, at: 1, fold: fold}
	not := r.peek() == '!' || r.peek() == '^'
	if not {
		r.at++
	}
	before := -1
	for first := true; first || r.peek() != ']'; first = false {
		next, ok := r.item(before)
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

// peek is the byte that is read next, 0 at the end.
func (r *classReader) peek() byte {
	if r.at < len(r.source) {
		return r.source[r.at]
	}
	return 0
}

// item reads a byte, a range that goes on from the byte before, or a class by its name. It tells which byte a range may begin with, -1 if none,
// and is false if the class is broken.
func (r *classReader) item(before int) (int, bool) {
	rest := r.source[min(r.at, len(r.source)):]
	switch {
	case rest == "":
		return 0, false
	case rest[0] == '-' && before > 0 && len(rest) > 1 && rest[1] != ']':
		r.at++
		last, ok := r.one()
		r.span(byte(before), last)
		return -1, ok
	case strings.HasPrefix(rest, "[:"):
		name, _, closed := strings.Cut(rest[2:], "]")
		if !closed {
			return 0, false
		}
		if name, ok := strings.CutSuffix(name, ":"); ok {
			r.at += len("[::]") + len(name)
			return -1, r.named(name)
		}
	}
	c, ok := r.one()
	r.put(c)
	return int(c), ok
}

// one reads a byte that may be escaped.
func (r *classReader) one() (byte, bool) {
	if r.peek() == '\\' {
		r.at++
	}
	c := r.peek()
	r.at++
	return c, c != 0
}

// put adds a byte, as it is: git compares it with what is folded, so that [A] has nothing if case does not count.
func (r *classReader) put(c byte) { r.set[c/64] |= 1 << (c % 64) }

// span adds all from one byte to another, where a letter is also looked for as a capital if case does not count.
func (r *classReader) span(low, high byte) {
	for c := int(low); c <= int(high); c++ {
		r.put(byte(c))
		if r.fold && 'A' <= c && c <= 'Z' {
			r.put(byte(c + 'a' - 'A'))
		}
	}
}

// named adds a class by its name, and is false if there is none of that name.
func (r *classReader) named(name string) bool {
	ranges, ok := classes[name]
	for ; ranges != ""; ranges = ranges[2:] {
		r.span(ranges[0], ranges[1])
	}
	return ok
}

// classes are those that have a name, as ranges: the first byte of each, and its last. They are those of ASCII, with git's
// idea of a space.
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
