package auth

import (
	"fmt"
	"testing"
	"time"
)

// TestTokenCacheIsBounded checks that the cache removes expired entries first, then arbitrary ones.
func TestTokenCacheIsBounded(t *testing.T) {
	var c tokenCache[int]
	now := time.Date(2026, 8, 1, 12, 0, 0, 0, time.UTC)
	for i := range 3 * maxCachedTokens {
		c.add(fmt.Sprint(i), i, now, now.Add(time.Minute))
		if what, ok := c.get(fmt.Sprint(i), now); !ok || what != i {
			t.Fatalf("%d is not in the cache", i)
		}
	}
	if len(c.entries) > maxCachedTokens {
		t.Errorf("%d are remembered, want at most %d", len(c.entries), maxCachedTokens)
	}
	now = now.Add(time.Minute)
	c.add("new", 1, now, now.Add(time.Minute))
	if len(c.entries) != 1 {
		t.Errorf("%d are remembered that are over", len(c.entries)-1)
	}
}
