package engine

import (
	"context"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// TestOrderedQueue starts many concurrent writes, some of which end early, and checks that the
// others run in the order in which they entered.
func TestOrderedQueue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var queue OrderedQueue
		var mu sync.Mutex
		var order []int
		var calls sync.WaitGroup
		for i := range 200 {
			ctx, leave := queue.Enter(context.Background())
			calls.Go(func() {
				defer leave()
				time.Sleep(time.Duration(rand.IntN(1000)) * time.Microsecond)
				if i%5 == 3 {
					return // rejected before its write
				}
				awaitEarlierWrites(ctx)
				mu.Lock()
				order = append(order, i)
				mu.Unlock()
				MarkOrdered(ctx)
				time.Sleep(time.Millisecond) // being written to disk
			})
		}
		calls.Wait()
		if len(order) != 160 || !slices.IsSorted(order) {
			t.Errorf("order %v", order)
		}
		if len(queue.released) != 0 || len(queue.waiting) != 0 {
			t.Errorf("left over: %d released, %d waiting", len(queue.released), len(queue.waiting))
		}
	})
}

func TestOrderedQueueCancelled(t *testing.T) {
	var queue OrderedQueue
	_, leave := queue.Enter(context.Background())
	ctx, cancel := context.WithCancel(context.Background())
	second, leaveSecond := queue.Enter(ctx)
	cancel()
	awaitEarlierWrites(second) // must not wait for the first
	leaveSecond()
	leave()
	third, leaveThird := queue.Enter(context.Background())
	awaitEarlierWrites(third)
	leaveThird()
}

// TestOrderedQueueReleased checks that a call that released its ticket to ask a person goes on
// while an earlier call still waits for its person.
func TestOrderedQueueReleased(t *testing.T) {
	var queue OrderedQueue
	_, leaveFirst := queue.Enter(t.Context())
	second, leaveSecond := queue.Enter(t.Context())
	MarkOrdered(second)
	awaitEarlierWrites(second) // must not wait for the first
	leaveSecond()
	leaveFirst()
	third, leaveThird := queue.Enter(t.Context())
	awaitEarlierWrites(third)
	leaveThird()
}
