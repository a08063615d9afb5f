package knowledge

import (
	"context"
	"sync"
	"time"
)

// yieldTime is how long background work waits for searches, and how long it then continues even if
// searches are running. So background work gets at least half of the time.
const yieldTime = 50 * time.Millisecond

// A priority gives searches precedence: background work waits for them between its steps.
type priority struct {
	now func() time.Time

	mu       sync.Mutex
	searches int
	over     chan struct{} // closed when no search is running; nil if none is
	enough   time.Time     // until when nobody waits, because the last wait was long enough
}

// search records that a search is running until end is called.
func (c *priority) search() (end func()) {
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

// yield waits until no search is running, but not for long. The caller must not hold a lock that a
// search needs.
func (c *priority) yield(ctx context.Context) {
	c.mu.Lock()
	over := c.over
	if over != nil && c.now().Before(c.enough) {
		over = nil
	}
	c.mu.Unlock()
	if over == nil {
		return
	}
	timer := time.NewTimer(yieldTime)
	defer timer.Stop()
	select {
	case <-over:
	case <-ctx.Done():
	case <-timer.C:
		c.mu.Lock()
		defer c.mu.Unlock()
		c.enough = c.now().Add(yieldTime)
	}
}
