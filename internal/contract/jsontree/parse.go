package jsontree

import (
	"bytes"
	"fmt"
	"math"
	"slices"
	"strconv"
	"sync"
	"unicode/utf16"
	"unicode/utf8"
	"unsafe"
)

// MaxDepth is how deep arrays and objects may nest: far more than any tool needs, and far less than
// would be a problem.
const MaxDepth = 100

// MaxValues is how many values one message may hold. A value takes far more memory than its
// shortest JSON, so a limit on the length is not enough.
const MaxValues = 1 << 14

// SyntaxError says where and why bytes are not valid JSON.
type SyntaxError struct {
	Offset int
	Reason string
}

func (e *SyntaxError) Error() string {
	return fmt.Sprintf("%s at byte %d", e.Reason, e.Offset)
}

// Parse parses exactly one JSON value. It is stricter than the standard library where leniency is
// dangerous: it rejects invalid UTF-8, half a surrogate pair, duplicate keys, very deep nesting and
// very many values, so that no two readers see different values and none runs out of memory. The
// tree shares memory with data, including strings, so data must not change afterwards.
func Parse(data []byte) (Value, error) { return parse(data, MaxValues) }

// ParseTrusted is Parse for JSON that this program wrote itself, such as an answer or a record. It
// does not limit the number of values.
func ParseTrusted(data []byte) (Value, error) { return parse(data, math.MaxInt) }

func parse(data []byte, maxValues int) (Value, error) {
	p := parser{data: data, maxValues: maxValues}
	if !utf8.Valid(data) {
		return Value{}, p.fail(firstInvalid(data), "invalid UTF-8")
	}
	p.acquire()
	defer p.release()
	v, err := p.value(0)
	if err != nil {
		return Value{}, err
	}
	p.space()
	if p.at != len(data) {
		return Value{}, p.fail(p.at, "unexpected data after the value")
	}
	return v, nil
}

func firstInvalid(data []byte) int {
	for i := 0; i < len(data); {
		r, n := utf8.DecodeRune(data[i:])
		if r == utf8.RuneError && n == 1 {
			return i
		}
		i += n
	}
	return len(data)
}

type parser struct {
	data      []byte
	at        int
	values    int
	maxValues int
	// open holds the members of every array and object that is not closed yet, so that each slice
	// is allocated once, in its final size.
	open   []Member
	pooled *[]Member // where open is returned to
	// slab is one allocation for the members of a small document.
	slab []Member
}

// The maximum number of members in a pooled slice and in a slab.
const (
	maxPooled = 256
	maxSlab   = 32
)

// openPool pools slices for open members.
var openPool = sync.Pool{New: func() any { return new([]Member) }}

func (p *parser) acquire() {
	p.pooled = openPool.Get().(*[]Member)
	p.open = *p.pooled
	// Every member of an object has a colon. Strings may contain more.
	if likely := min(bytes.Count(p.data, []byte{':'}), maxSlab); likely > 0 {
		p.slab = make([]Member, 0, likely)
	}
}

func (p *parser) release() {
	clear(p.open)   // members left over from a document that was not valid
	*p.pooled = nil // a slice that has grown too large would keep the document in memory
	if cap(p.open) <= maxPooled {
		*p.pooled = p.open[:0]
	}
	openPool.Put(p.pooled)
}

// close moves the members since start to a slice of their own.
func (p *parser) close(start int) []Member {
	members := p.keep(p.open[start:])
	clear(p.open[start:])
	p.open = p.open[:start]
	return members
}

func (p *parser) keep(members []Member) []Member {
	from := len(p.slab)
	if from+len(members) > cap(p.slab) {
		return slices.Clone(members)
	}
	p.slab = append(p.slab, members...)
	// Full capacity, so that appending to one slice does not overwrite the next.
	return p.slab[from:len(p.slab):len(p.slab)]
}

// text returns a part of the data without copying it.
func (p *parser) text(from, to int) string {
	return unsafe.String(unsafe.SliceData(p.data[from:to]), to-from)
}

func (p *parser) fail(at int, reason string) error {
	return &SyntaxError{Offset: at, Reason: reason}
}

func (p *parser) space() {
	for p.at < len(p.data) {
		switch p.data[p.at] {
		case ' ', '\t', '\n', '\r':
			p.at++
		default:
			return
		}
	}
}

// peek skips space and returns the next byte, or 0 at the end.
func (p *parser) peek() byte {
	p.space()
	if p.at == len(p.data) {
		return 0
	}
	return p.data[p.at]
}

func (p *parser) value(depth int) (Value, error) {
	if depth > MaxDepth {
		return Value{}, p.fail(p.at, "nested too deeply")
	}
	if p.values++; p.values > p.maxValues {
		return Value{}, p.fail(p.at, "too many values")
	}
	var v Value
	var err error
	first := p.peek()
	start := p.at
	switch {
	case first == '{':
		v, err = p.object(depth)
	case first == '[':
		v, err = p.array(depth)
	case first == '"':
		v.Kind = String
		v.Text, err = p.str()
	case first == '-' || isDigit(first):
		v.Kind = Number
		v.Text, err = p.number()
	default:
		v, err = p.word()
	}
	v.Raw = p.data[start:p.at:p.at]
	return v, err
}

func (p *parser) word() (Value, error) {
	for _, v := range [...]Value{{Kind: Bool, Text: "true"}, {Kind: Bool, Text: "false"}, {Text: "null"}} {
		if end := p.at + len(v.Text); end <= len(p.data) && string(p.data[p.at:end]) == v.Text {
			p.at = end
			if v.Kind == Null {
				v.Text = ""
			}
			return v, nil
		}
	}
	if p.at == len(p.data) {
		return Value{}, p.fail(p.at, "unexpected end")
	}
	r, _ := utf8.DecodeRune(p.data[p.at:])
	return Value{}, p.fail(p.at, "unexpected "+strconv.QuoteRune(r))
}

func (p *parser) object(depth int) (Value, error) {
	v := Value{Kind: Object}
	seen := keySet{}
	start := len(p.open)
	p.at++ // {
	if p.peek() == '}' {
		p.at++
		return v, nil
	}
	for {
		if p.peek() != '"' {
			return v, p.fail(p.at, "expected a quoted key")
		}
		keyAt := p.at
		key, err := p.str()
		if err != nil {
			return v, err
		}
		if seen.has(key, p.open[start:]) {
			return v, p.fail(keyAt, "duplicate key "+strconv.Quote(key))
		}
		if p.peek() != ':' {
			return v, p.fail(p.at, "expected ':' after a key")
		}
		p.at++
		member, err := p.value(depth + 1)
		if err != nil {
			return v, err
		}
		p.open = append(p.open, Member{Key: key, Value: member})
		if done, err := p.next('}'); done || err != nil {
			v.Members = p.close(start)
			return v, err
		}
	}
}

func (p *parser) array(depth int) (Value, error) {
	v := Value{Kind: Array}
	start := len(p.open)
	p.at++ // [
	if p.peek() == ']' {
		p.at++
		return v, nil
	}
	for {
		element, err := p.value(depth + 1)
		if err != nil {
			return v, err
		}
		p.open = append(p.open, Member{Value: element})
		if done, err := p.next(']'); done || err != nil {
			v.Members = p.close(start)
			return v, err
		}
	}
}

// next consumes a comma or the closing byte, and reports whether it was the closing byte.
func (p *parser) next(closing byte) (bool, error) {
	switch c := p.peek(); c {
	case ',':
		p.at++
		return false, nil
	case closing:
		p.at++
		return true, nil
	default:
		if p.at == len(p.data) {
			return false, p.fail(p.at, "unexpected end")
		}
		return false, p.fail(p.at, fmt.Sprintf("expected ',' or '%c'", closing))
	}
}

// keySet finds duplicate keys: it compares with all members of a small object, and uses a map for a
// large one.
type keySet struct{ large map[string]struct{} }

const fewKeys = 16

func (s *keySet) has(key string, members []Member) bool {
	if len(members) < fewKeys {
		for i := range members {
			if members[i].Key == key {
				return true
			}
		}
		return false
	}
	if s.large == nil {
		s.large = make(map[string]struct{}, 2*len(members))
		for i := range members {
			s.large[members[i].Key] = struct{}{}
		}
	}
	_, found := s.large[key]
	s.large[key] = struct{}{}
	return found
}

func isDigit(c byte) bool { return c >= '0' && c <= '9' }

func (p *parser) digits() bool {
	start := p.at
	for p.at < len(p.data) && isDigit(p.data[p.at]) {
		p.at++
	}
	return p.at > start
}

func (p *parser) take(options string) bool {
	for i := range len(options) {
		if p.at < len(p.data) && p.data[p.at] == options[i] {
			p.at++
			return true
		}
	}
	return false
}

func (p *parser) number() (string, error) {
	start := p.at
	p.take("-")
	if !p.take("0") && !p.digits() {
		return "", p.fail(start, "invalid number")
	}
	if p.take(".") && !p.digits() {
		return "", p.fail(start, "invalid number")
	}
	if p.take("eE") {
		p.take("+-")
		if !p.digits() {
			return "", p.fail(start, "invalid number")
		}
	}
	return p.text(start, p.at), nil
}

func (p *parser) str() (string, error) {
	start := p.at
	p.at++ // opening quote
	for i := p.at; i < len(p.data); i++ {
		switch c := p.data[i]; {
		case c == '"':
			s := p.text(p.at, i)
			p.at = i + 1
			return s, nil
		case c == '\\':
			return p.escaped(i)
		case c < 0x20:
			return "", p.fail(i, "unescaped control character in a string")
		}
	}
	return "", p.fail(start, "unclosed string")
}

// escaped parses the rest of a string whose first backslash is at i.
func (p *parser) escaped(i int) (string, error) {
	out := make([]byte, 0, i-p.at+64)
	out = append(out, p.data[p.at:i]...)
	p.at = i
	for p.at < len(p.data) {
		switch c := p.data[p.at]; {
		case c == '"':
			p.at++
			return string(out), nil
		case c == '\\':
			var err error
			if out, err = p.escape(out); err != nil {
				return "", err
			}
		case c < 0x20:
			return "", p.fail(p.at, "unescaped control character in a string")
		default:
			out = append(out, c)
			p.at++
		}
	}
	return "", p.fail(p.at, "unclosed string")
}

func (p *parser) escape(out []byte) ([]byte, error) {
	if p.at+1 >= len(p.data) {
		return nil, p.fail(p.at, "unclosed string")
	}
	c := p.data[p.at+1]
	switch c {
	case 'u':
		return p.unicode(out)
	case '"', '\\', '/':
	case 'b':
		c = '\b'
	case 'f':
		c = '\f'
	case 'n':
		c = '\n'
	case 'r':
		c = '\r'
	case 't':
		c = '\t'
	default:
		return nil, p.fail(p.at, "invalid escape in a string")
	}
	p.at += 2
	return append(out, c), nil
}

// unicode parses \uXXXX, and the second half if it is a surrogate. Half a surrogate pair is an
// error: replacing it would make different messages equal.
func (p *parser) unicode(out []byte) ([]byte, error) {
	r, ok := p.hex(p.at)
	if !ok {
		return nil, p.fail(p.at, "invalid \\u escape in a string")
	}
	size := 6
	if utf16.IsSurrogate(r) {
		low, _ := p.hex(p.at + size)
		if r = utf16.DecodeRune(r, low); r == utf8.RuneError {
			return nil, p.fail(p.at, "half of a surrogate pair in a string")
		}
		size = 12
	}
	p.at += size
	return utf8.AppendRune(out, r), nil
}

func (p *parser) hex(at int) (rune, bool) {
	if at+6 > len(p.data) || p.data[at] != '\\' || p.data[at+1] != 'u' {
		return 0, false
	}
	n, err := strconv.ParseUint(string(p.data[at+2:at+6]), 16, 16)
	return rune(n), err == nil
}
