package knowledge

import (
	"context"
	"testing"
	"testing/synctest"
	"time"
)

// waited returns how long a yield waited.
func waited(ctx context.Context, c *priority) time.Duration {
	begun := time.Now()
	c.yield(ctx)
	return time.Since(begun)
}

func TestPriority(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := &priority{now: time.Now}
		ctx := t.Context()
		if took := waited(ctx, c); took != 0 {
			t.Errorf("without a search: %v", took)
		}
		first, second := c.search(), c.search()
		time.AfterFunc(2*time.Millisecond, first)
		time.AfterFunc(5*time.Millisecond, second)
		if took := waited(ctx, c); took != 5*time.Millisecond {
			t.Errorf("with two searches, the second of 5 ms: %v", took)
		}
		end := c.search()
		if took := waited(ctx, c); took != yieldTime {
			t.Errorf("with a long search: %v", took)
		}
		if took := waited(ctx, c); took != 0 {
			t.Errorf("right after it was long enough: %v", took)
		}
		time.Sleep(yieldTime)
		gone, cancel := context.WithTimeout(ctx, time.Millisecond)
		defer cancel()
		if took := waited(gone, c); took != time.Millisecond {
			t.Errorf("until the end of the context, after a millisecond: %v", took)
		}
		end()
		if took := waited(ctx, c); took != 0 {
			t.Errorf("after all searches: %v", took)
		}
	})
}
