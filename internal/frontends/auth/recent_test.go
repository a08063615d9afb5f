package auth

import (
	"fmt"
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
