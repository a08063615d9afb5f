package door

import (
	"fmt"
	"net/netip"
	"testing"
	"time"
)

// TestRecentIsBounded: it forgets what is over, and if nothing is, something.
func TestRecentIsBounded(t *testing.T) {
	var c recent[int]
	now := time.Date(2026, 8, 1, 12, 0, 0, 0, time.UTC)
	for i := range 3 * mostRecent {
		c.add(fmt.Sprint(i), i, now, now.Add(time.Minute))
		if what, ok := c.get(fmt.Sprint(i), now); !ok || what != i {
			t.Fatalf("%d is forgotten at once", i)
		}
	}
	if len(c.known) > mostRecent {
		t.Errorf("%d are remembered, want at most %d", len(c.known), mostRecent)
	}
	now = now.Add(time.Minute)
	c.add("new", 1, now, now.Add(time.Minute))
	if len(c.known) != 1 {
		t.Errorf("%d are remembered that are over", len(c.known)-1)
	}
}

// TestGuessesAreBounded: addresses that are quiet are forgotten.
func TestGuessesAreBounded(t *testing.T) {
	var g guesses
	now := time.Date(2026, 8, 1, 12, 0, 0, 0, time.UTC)
	for i := range 100_000 {
		from := netip.PrefixFrom(netip.AddrFrom4([4]byte{byte(i >> 24), byte(i >> 16), byte(i >> 8), byte(i)}), 32)
		g.count(from, now)
		now = now.Add(time.Millisecond)
	}
	if most := 2*int(guessStep/time.Millisecond) + 64; len(g.full) > most {
		t.Errorf("%d addresses are held, want at most %d", len(g.full), most)
	}
}

// TestGuessesWhereTheClockIsSetBack: nobody is locked out for longer than the span.
func TestGuessesWhereTheClockIsSetBack(t *testing.T) {
	var g guesses
	now, from := time.Date(2026, 8, 1, 12, 0, 0, 0, time.UTC), netip.Prefix{}
	for range mostGuesses {
		g.count(from, now)
	}
	if wait := g.count(from, now.Add(-time.Hour)); wait != guessStep {
		t.Errorf("wait %s, want %s", wait, guessStep)
	}
}
