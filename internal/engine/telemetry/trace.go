package telemetry

import (
	"context"
	"encoding/binary"
	"encoding/hex"
	"math"
	"strings"
)

// TraceID names a trace.
type TraceID [16]byte

// SpanID names a span in a trace.
type SpanID [8]byte

// place is where something stands in a trace.
type place struct {
	trace   TraceID
	span    SpanID
	parent  SpanID // zero at the root
	state   string // W3C tracestate of the parent
	sampled bool
	flags   byte // of the parent, without the one that says sampled
}

type placeKey struct{}

func placeOf(ctx context.Context) (place, bool) {
	p, ok := ctx.Value(placeKey{}).(place)
	return p, ok
}

// The flags of W3C: the trace is sampled; its id is random.
const (
	flagsSampled = 1
	flagsRandom  = 2
)

// w3cFlags are the flags as W3C spells them.
func (p *place) w3cFlags() byte {
	if p.sampled {
		return p.flags | flagsSampled
	}
	return p.flags
}

// placeIn gives a call its place beneath its parent, if that is one.
func (t *Telemetry) placeIn(parent string) place {
	p, known := readParent(parent)
	if known {
		p.parent = p.span
		p.sampled = t.sampler.beneath(p.sampled, p.trace)
	} else {
		for p.trace == (TraceID{}) { // zero is no id
			binary.BigEndian.PutUint64(p.trace[:8], t.random())
			binary.BigEndian.PutUint64(p.trace[8:], t.random())
		}
		p.flags = flagsRandom
		p.sampled = t.sampler.root(p.trace)
	}
	p.span = SpanID{}
	for p.span == (SpanID{}) {
		binary.BigEndian.PutUint64(p.span[:], t.random())
	}
	return p
}

const (
	lengthOfTraceparent = 55
	longestTracestate   = 512 // what W3C wants to be passed on at least
)

// Parent words the place that a caller gives a call by W3C trace context: its
// traceparent, and its tracestate if it is sound. It is "" without a sound traceparent.
func Parent(traceparent, tracestate string) string {
	traceparent = strings.Trim(traceparent, " \t")
	if _, ok := readTraceparent(traceparent); !ok {
		return ""
	}
	if len(traceparent) > lengthOfTraceparent { // what a later version adds means nothing to us
		traceparent = traceparent[:lengthOfTraceparent]
	}
	tracestate = strings.Trim(tracestate, " \t")
	if tracestate == "" || len(tracestate) > longestTracestate || strings.ContainsFunc(tracestate, unprintable) {
		return traceparent
	}
	return traceparent + " " + tracestate
}

func unprintable(r rune) bool { return r < ' ' || r > '~' }

// readParent reads what Parent gave, or a bare traceparent.
func readParent(parent string) (place, bool) {
	traceparent, state, _ := strings.Cut(parent, " ")
	p, ok := readTraceparent(traceparent)
	p.state = state
	return p, ok
}

// readTraceparent reads version-trace-span-flags. A version after 00 may have more
// behind another hyphen.
func readTraceparent(text string) (place, bool) {
	if len(text) < lengthOfTraceparent || text[2] != '-' || text[35] != '-' || text[52] != '-' {
		return place{}, false
	}
	var p place
	var version, flags [1]byte
	ok := lowerHex(version[:], text[:2]) && lowerHex(p.trace[:], text[3:35]) && lowerHex(p.span[:], text[36:52]) && lowerHex(flags[:], text[53:55])
	if !ok || p.trace == (TraceID{}) || p.span == (SpanID{}) || version[0] == 0xff {
		return place{}, false
	}
	if longer := len(text) > lengthOfTraceparent; longer && (version[0] == 0 || text[lengthOfTraceparent] != '-') {
		return place{}, false
	}
	p.sampled = flags[0]&flagsSampled != 0
	p.flags = flags[0] & flagsRandom
	return p, true
}

// lowerHex decodes as W3C spells: capitals are wrong.
func lowerHex(into []byte, text string) bool {
	if strings.ContainsFunc(text, func(r rune) bool { return r >= 'A' && r <= 'F' }) {
		return false
	}
	_, err := hex.Decode(into, []byte(text))
	return err == nil
}

// Sampler decides which traces are told of. Its zero value is all, unless the caller
// has decided otherwise.
type Sampler struct {
	Heedless bool    // decides alone, whatever the caller has decided
	Skipped  float64 // the share of traces that is left out: 0 none, 1 all
}

func (s Sampler) beneath(sampled bool, id TraceID) bool {
	if s.Heedless {
		return s.root(id)
	}
	return sampled
}

// root decides by the id of the trace, as every other program does, so that all keep the same ones.
func (s Sampler) root(id TraceID) bool {
	switch share := 1 - s.Skipped; {
	case share >= 1:
		return true
	case share <= 0:
		return false
	default:
		return binary.BigEndian.Uint64(id[8:])>>1 < uint64(share*math.MaxInt64)
	}
}
