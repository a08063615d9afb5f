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

// TestLaneKeepsOrder starts many writes side by side, some of which end early:
// those that take their turn do so in the order in which they entered.
func TestLaneKeepsOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var lane Lane
		var mu sync.Mutex
		var order []int
		var calls sync.WaitGroup
		for i := range 200 {
			ctx, leave := lane.Enter(context.Background())
			calls.Go(func() {
				defer leave()
				time.Sleep(time.Duration(rand.IntN(1000)) * time.Microsecond)
				if i%5 == 3 {
					return // refused before it had its turn
				}
				awaitTurn(ctx)
				mu.Lock()
				order = append(order, i)
				mu.Unlock()
				Placed(ctx)
				time.Sleep(time.Millisecond) // on its way to the disk
			})
		}
		calls.Wait()
		if len(order) != 160 || !slices.IsSorted(order) {
			t.Errorf("order %v", order)
		}
		if len(lane.gone) != 0 || len(lane.waiting) != 0 {
			t.Errorf("left behind: %d gone, %d waiting", len(lane.gone), len(lane.waiting))
		}
	})
}

func TestLaneLetsCancelledCallsGo(t *testing.T) {
	var lane Lane
	_, leave := lane.Enter(context.Background())
	ctx, cancel := context.WithCancel(context.Background())
	second, leaveSecond := lane.Enter(ctx)
	cancel()
	awaitTurn(second) // must not wait for the first
	leaveSecond()
	leave()
	third, leaveThird := lane.Enter(context.Background())
	awaitTurn(third)
	leaveThird()
}

// TestLaneForgetsThoseWhoGaveWay: a call whose person answered goes on, though
// an earlier one still waits for its own.
func TestLaneForgetsThoseWhoGaveWay(t *testing.T) {
	var lane Lane
	_, leaveFirst := lane.Enter(t.Context())
	second, leaveSecond := lane.Enter(t.Context())
	Placed(second)
	awaitTurn(second) // must not wait for the first
	leaveSecond()
	leaveFirst()
	third, leaveThird := lane.Enter(t.Context())
	awaitTurn(third)
	leaveThird()
}
