package text

import (
	"bytes"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
)

// TestStopWhileLinesAreFound checks how much is read after stop is set: a search that continues
// would call found again.
func TestStopWhileLinesAreFound(t *testing.T) {
	data := bytes.Repeat([]byte("alpha beta 12\n"), 100_000)
	for _, pattern := range []string{"alpha", "alpha|beta|gamma|delta|epsilon", `a\w+a`, `\d`, ``} {
		p, _ := compile(t, pattern, false)
		var stop atomic.Bool
		last := 0
		whole := p.Scan(data, &stop, func(_, start, _ int) bool {
			last = start
			stop.Store(start >= 1000)
			return true
		})
		if whole || last > 1000+2*stopInterval {
			t.Errorf("%q: whole %v, the last line was at %d, stop was set at 1000", pattern, whole, last)
		}
		if n, whole := p.Count(data, &stop); whole || n > 2*stopInterval {
			t.Errorf("%q: %d lines counted, whole %v, though stop was set before", pattern, n, whole)
		}
	}
}

// TestStopInALongLine stops a DFA in the middle of a line that takes it seconds.
func TestStopInALongLine(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	line := make([]byte, 10<<20)
	for i := range line {
		line[i] = "ab"[random.IntN(2)]
	}
	for _, pattern := range []string{`[^ab]`, `a[ab]{900}[c-z]`, `(?:a[ab]{20}|b[ab]{7}){30}[c-z]`, `(?:a?b?){500}[c-z]`} {
		p, _ := compile(t, pattern, false)
		for _, thrashing := range []bool{false, true} {
			m := newLazyDFA(p.automaton)
			var stop atomic.Bool
			var wait sync.WaitGroup
			wait.Go(func() { stop.Store(true) })
			m.reset(&stop)
			m.thrashing = thrashing
			hits, _ := m.block(line, 0, false)
			wait.Wait()
			if hits[0].at == len(line) {
				t.Errorf("%q, thrashing %v: the line was read to its end", pattern, thrashing)
			}
			m.reset(&stop)
			m.thrashing = thrashing
			if hits, _ := m.block(line, 0, false); hits[0].at > 0 {
				t.Errorf("%q, thrashing %v: %d bytes were read after stop was set", pattern, thrashing, hits[0].at)
			}
		}
	}
}
