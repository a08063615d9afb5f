package text

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync/atomic"
	"testing"
)

// denseText returns lines, some very long, some empty, with many occurrences of the literal and of
// text similar to it.
func denseText(random *rand.Rand, literal string) []byte {
	var b bytes.Buffer
	pieces := []string{literal, literal[:len(literal)-1], literal[1:], strings.ToUpper(literal), "\n", "\n", "\r\n", "é", "@[`{"}
	for size := random.IntN(4 * bitmapSize); b.Len() < size; {
		b.WriteString(pieces[random.IntN(len(pieces))])
		b.WriteString(strings.Repeat(".", random.IntN(50)*random.IntN(3)))
		if random.IntN(200) == 0 {
			b.WriteString(strings.Repeat("-", random.IntN(3*bitmapSize)))
		}
	}
	return b.Bytes()
}

// TestBitmapAsRegexp searches for literals so common that bitmaps are used.
func TestBitmapAsRegexp(t *testing.T) {
	for _, literal := range []string{"e", "er", "err", "func", "return", "deadline", "deadlines", "abcabcabcabcabc", "z[@`"} {
		for _, ignoreCase := range []bool{false, true} {
			p, re := compile(t, strings.ReplaceAll(literal, "[", `\[`), ignoreCase)
			for seed := range uint64(30) {
				data := denseText(rand.New(rand.NewPCG(seed, 5)), literal)
				want := byRegexp(re, data)
				got := linesOf(p, data)
				if fmt.Sprint(got) != fmt.Sprint(want) {
					t.Fatalf("%q, ignoring case %v, in %q: %v, want %v", literal, ignoreCase, data, got, want)
				}
				if n, _ := p.Count(data, nil); n != len(want) {
					t.Fatalf("%q, ignoring case %v, in %q: %d lines, want %d", literal, ignoreCase, data, n, len(want))
				}
				p.Lines(data, func(number, start, end int) bool {
					want = want[1:]
					return len(want) > len(got)/2
				})
				if len(want) != len(got)/2 && len(got) > 1 {
					t.Fatalf("%q: found was called %d more times of %d after it returned false", literal, len(got)-len(want), len(got))
				}
			}
		}
	}
}

// TestBitmap compares bitmaps of texts of all lengths with the texts.
func TestBitmap(t *testing.T) {
	if !hasVectorScan() {
		t.Skip("this CPU does not fill bitmaps")
	}
	for _, literal := range []string{"e", "ab", "aba", "abacabad", "abacabadab"} {
		s := newPrefilter([]Literal{{Text: literal}})
		data := bytes.Repeat([]byte(literal+"\n"+literal+literal[:1]+"x"), 2*bitmapSize/len(literal))
		for size := range 300 {
			text := data[:size:size]
			var c bitmap
			if filled := s.fill(&c, text, 0); filled != (size >= 64+min(len(literal), maxProbes)-1) {
				t.Fatalf("%q in %d bytes: filled %v", literal, size, filled)
			}
			for i := range 64 * c.words {
				place, end := c.places[i/64]>>(i%64)&1 != 0, c.ends[i/64]>>(i%64)&1 != 0
				if place != bytes.HasPrefix(text[i:], []byte(literal)) || end != (text[i] == '\n') {
					t.Fatalf("%q in %q: at %d literal %v, end %v", literal, text, i, place, end)
				}
			}
		}
	}
}

// TestBitmapStops sets stop where matches are dense.
func TestBitmapStops(t *testing.T) {
	data := bytes.Repeat([]byte("alpha\n"), 1<<20)
	p, _ := compile(t, "alpha", false)
	var stop atomic.Bool
	lines := 0
	whole := p.Scan(data, &stop, func(int, int, int) bool {
		lines++
		stop.Store(lines >= 10)
		return true
	})
	if whole || lines > 10+bitmapSize {
		t.Errorf("whole %v, %d lines were found, stop was set at 10", whole, lines)
	}
}
