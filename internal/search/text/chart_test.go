package text

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync/atomic"
	"testing"
)

// crowd makes lines, some very long, some empty, with much that is a literal or almost one.
func crowd(random *rand.Rand, literal string) []byte {
	var b bytes.Buffer
	pieces := []string{literal, literal[:len(literal)-1], literal[1:], strings.ToUpper(literal), "\n", "\n", "\r\n", "é", "@[`{"}
	for size := random.IntN(4 * chartSize); b.Len() < size; {
		b.WriteString(pieces[random.IntN(len(pieces))])
		b.WriteString(strings.Repeat(".", random.IntN(50)*random.IntN(3)))
		if random.IntN(200) == 0 {
			b.WriteString(strings.Repeat("-", random.IntN(3*chartSize)))
		}
	}
	return b.Bytes()
}

// TestChartAsRegexp looks for literals that are so common that charts are drawn.
func TestChartAsRegexp(t *testing.T) {
	for _, literal := range []string{"e", "er", "err", "func", "return", "deadline", "deadlines", "abcabcabcabcabc", "z[@`"} {
		for _, ignoreCase := range []bool{false, true} {
			p, re := compile(t, strings.ReplaceAll(literal, "[", `\[`), ignoreCase)
			for seed := range uint64(30) {
				data := crowd(rand.New(rand.NewPCG(seed, 5)), literal)
				want := byRegexp(re, data)
				got := linesOf(p, data)
				if fmt.Sprint(got) != fmt.Sprint(want) {
					t.Fatalf("%q, without case %v, in %q: %v, want %v", literal, ignoreCase, data, got, want)
				}
				if n, _ := p.Count(data, nil); n != len(want) {
					t.Fatalf("%q, without case %v, in %q: %d lines, want %d", literal, ignoreCase, data, n, len(want))
				}
				p.Lines(data, func(number, start, end int) bool {
					want = want[1:]
					return len(want) > len(got)/2
				})
				if len(want) != len(got)/2 && len(got) > 1 {
					t.Fatalf("%q: found was called %d times of %d after it wanted no more", literal, len(got)-len(want), len(got))
				}
			}
		}
	}
}

// TestChart compares what is drawn, in texts of all lengths, with what is there.
func TestChart(t *testing.T) {
	if !sifts() {
		t.Skip("no charts are drawn by this machine")
	}
	for _, literal := range []string{"e", "ab", "aba", "abacabad", "abacabadab"} {
		s := newSieve([]Literal{{Text: literal}})
		data := bytes.Repeat([]byte(literal+"\n"+literal+literal[:1]+"x"), 2*chartSize/len(literal))
		for size := range 300 {
			text := data[:size:size]
			var c chart
			if drawn := s.draw(&c, text, 0); drawn != (size >= 64+min(len(literal), maxProbes)-1) {
				t.Fatalf("%q in %d bytes: drawn %v", literal, size, drawn)
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

// TestChartStops sets stop where matches are close together.
func TestChartStops(t *testing.T) {
	data := bytes.Repeat([]byte("alpha\n"), 1<<20)
	p, _ := compile(t, "alpha", false)
	var stop atomic.Bool
	lines := 0
	whole := p.Scan(data, &stop, func(int, int, int) bool {
		lines++
		stop.Store(lines >= 10)
		return true
	})
	if whole || lines > 10+chartSize {
		t.Errorf("whole %v, %d lines were found, stop was set at 10", whole, lines)
	}
}
