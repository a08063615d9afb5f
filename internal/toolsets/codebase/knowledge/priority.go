package knowledge

import (
	"context"
	"sync"
	"time"
)

// courtesyTime is how long the work in the background waits for searches, and how long it then goes on whoever searches: where
// somebody always does, half of the time is left to it.
const courtesyTime = 50 * time.Millisecond

// A courtesy lets searches have the machine for themselves: whoever works in the background waits between its steps.
type courtesy struct {
	now func() time.Time

	mu       sync.Mutex
	searches int
	over     chan struct{} // closed when nobody searches; nil if that is so
	enough   time.Time     // until when nobody waits, as it was long enough
}

// search notes that a search is under way until end is called.
func (c *courtesy) search() (end func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.searches++; c.searches == 1 {
		c.over = make(chan struct{})
	}
	return func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		if c.searches--; c.searches == 0 {
			close(c.over)
			c.over = nil
		}
	}
}

// giveWay waits until nobody searches, but not for long. Whoever calls it holds no lock that a search needs.
func (c *courtesy) giveWay(ctx context.Context) {
	c.mu.Lock()
	over := c.over
	if over != nil && c.now().Before(c.enough) {
		over = nil
	}
	c.mu.Unlock()
	if over == nil {
		return
	}
	timer := time.NewTimer(courtesyTime)
	defer timer.Stop()
	select {
	case <-over:
	case <-ctx.Done():
	case <-timer.C:
		c.mu.Lock()
		defer c.mu.Unlock()
		c.enough = c.now().Add(courtesyTime)
	}
}
