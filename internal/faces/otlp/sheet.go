package otlp

import (
	"encoding/binary"
	"encoding/hex"
	"math"
	"strconv"
	"strings"

	"remit/internal/contract/jsontree"
)

// field is a field of a message: its number in protobuf, its name in JSON.
type field struct {
	number int
	name   string
}

// sheet takes the fields of a message, so that each message is worded once for both
// encodings. Every field is written, also one with a zero value: whoever calls leaves
// out what is to be left out.
type sheet interface {
	text(f field, v string)
	id(f field, v []byte)         // in JSON as hexadecimal digits, which is a rule of OTLP
	small(f field, v uint32)      // an enum, a number of 32 bits or a truth value of protobuf's varints
	fixed32(f field, v uint32)    // flags
	whole(f field, v int64)       // of protobuf's varints
	fixed64(f field, v int64)     // times and counts
	fraction(f field, v float64)  // a double
	truth(f field, v bool)        // a bool
	fixed64s(f field, v []uint64) // repeated
	fractions(f field, v []float64)
	message(f field, write func())
	messages(f field, n int, write func(i int)) // repeated
	bytes() []byte
}

var (
	_ sheet = (*protobuf)(nil)
	_ sheet = (*jsonText)(nil)
)

// protobuf writes the binary encoding.
type protobuf struct{ b []byte }

// The wire types of protobuf.
const (
	wireVarint  = 0
	wireFixed64 = 1
	wireLength  = 2
	wireFixed32 = 5
)

func (p *protobuf) bytes() []byte { return p.b }

func (p *protobuf) tag(f field, wire uint64) {
	p.b = binary.AppendUvarint(p.b, uint64(f.number)<<3|wire)
}

func (p *protobuf) text(f field, v string) {
	v = strings.ToValidUTF8(v, "\uFFFD") // a collector refuses the whole batch otherwise
	p.tag(f, wireLength)
	p.b = append(binary.AppendUvarint(p.b, uint64(len(v))), v...)
}

func (p *protobuf) id(f field, v []byte) {
	p.tag(f, wireLength)
	p.b = append(binary.AppendUvarint(p.b, uint64(len(v))), v...)
}

func (p *protobuf) small(f field, v uint32) { p.whole(f, int64(v)) }

func (p *protobuf) whole(f field, v int64) {
	p.tag(f, wireVarint)
	p.b = binary.AppendUvarint(p.b, uint64(v))
}

func (p *protobuf) fixed32(f field, v uint32) {
	p.tag(f, wireFixed32)
	p.b = binary.LittleEndian.AppendUint32(p.b, v)
}

func (p *protobuf) fixed64(f field, v int64) {
	p.tag(f, wireFixed64)
	p.b = binary.LittleEndian.AppendUint64(p.b, uint64(v))
}

func (p *protobuf) fraction(f field, v float64) { p.fixed64(f, int64(math.Float64bits(v))) }

func (p *protobuf) truth(f field, v bool) {
	var n int64
	if v {
		n = 1
	}
	p.whole(f, n)
}

func (p *protobuf) fixed64s(f field, v []uint64) {
	p.tag(f, wireLength)
	p.b = binary.AppendUvarint(p.b, uint64(8*len(v)))
	for _, n := range v {
		p.b = binary.LittleEndian.AppendUint64(p.b, n)
	}
}

func (p *protobuf) fractions(f field, v []float64) {
	p.tag(f, wireLength)
	p.b = binary.AppendUvarint(p.b, uint64(8*len(v)))
	for _, n := range v {
		p.b = binary.LittleEndian.AppendUint64(p.b, math.Float64bits(n))
	}
}

// message moves what was written to make room for its length, which is not known before.
func (p *protobuf) message(f field, write func()) {
	p.tag(f, wireLength)
	start := len(p.b)
	write()
	var room [binary.MaxVarintLen64]byte
	length := len(p.b) - start
	n := binary.PutUvarint(room[:], uint64(length))
	p.b = append(p.b, room[:n]...)
	copy(p.b[start+n:], p.b[start:start+length])
	copy(p.b[start:], room[:n])
}

func (p *protobuf) messages(f field, n int, write func(i int)) {
	for i := range n {
		p.message(f, func() { write(i) })
	}
}

// jsonText writes the JSON encoding: that of protobuf, but for ids and enums, which
// are numbers.
type jsonText struct{ b []byte }

func newJSON() *jsonText { return &jsonText{b: []byte{'{'}} }

func (j *jsonText) bytes() []byte { return append(j.b, '}') }

func (j *jsonText) key(f field) {
	j.comma()
	j.b = append(append(append(j.b, '"'), f.name...), '"', ':')
}

// comma parts what follows from what is before it, if anything is.
func (j *jsonText) comma() {
	if last := j.b[len(j.b)-1]; last != '{' && last != '[' {
		j.b = append(j.b, ',')
	}
}

func (j *jsonText) text(f field, v string) {
	j.key(f)
	value := jsontree.Str(strings.ToValidUTF8(v, "\uFFFD"))
	j.b = value.Append(j.b)
}

func (j *jsonText) id(f field, v []byte) {
	j.key(f)
	j.b = append(hex.AppendEncode(append(j.b, '"'), v), '"')
}

func (j *jsonText) small(f field, v uint32) {
	j.key(f)
	j.b = strconv.AppendUint(j.b, uint64(v), 10)
}

func (j *jsonText) fixed32(f field, v uint32) { j.small(f, v) }

func (j *jsonText) whole(f field, v int64) {
	j.key(f)
	j.b = append(strconv.AppendInt(append(j.b, '"'), v, 10), '"')
}

func (j *jsonText) fixed64(f field, v int64) { j.whole(f, v) }

func (j *jsonText) fraction(f field, v float64) {
	j.key(f)
	j.number(v)
}

func (j *jsonText) number(v float64) {
	switch {
	case math.IsNaN(v):
		j.b = append(j.b, `"NaN"`...)
	case math.IsInf(v, 1):
		j.b = append(j.b, `"Infinity"`...)
	case math.IsInf(v, -1):
		j.b = append(j.b, `"-Infinity"`...)
	default:
		j.b = strconv.AppendFloat(j.b, v, 'g', -1, 64)
	}
}

func (j *jsonText) truth(f field, v bool) {
	j.key(f)
	j.b = strconv.AppendBool(j.b, v)
}

func (j *jsonText) fixed64s(f field, v []uint64) {
	j.list(f, len(v), func(i int) { j.b = append(strconv.AppendUint(append(j.b, '"'), v[i], 10), '"') })
}

func (j *jsonText) fractions(f field, v []float64) {
	j.list(f, len(v), func(i int) { j.number(v[i]) })
}

func (j *jsonText) message(f field, write func()) {
	j.key(f)
	j.object(write)
}

func (j *jsonText) messages(f field, n int, write func(i int)) {
	j.list(f, n, func(i int) { j.object(func() { write(i) }) })
}

func (j *jsonText) object(write func()) {
	j.b = append(j.b, '{')
	write()
	j.b = append(j.b, '}')
}

func (j *jsonText) list(f field, n int, write func(i int)) {
	j.key(f)
	j.b = append(j.b, '[')
	for i := range n {
		j.comma()
		write(i)
	}
	j.b = append(j.b, ']')
}
