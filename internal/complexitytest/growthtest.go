// Package complexitytest tells tests whether work grows in step with its size, however busy
// the machine is.
package complexitytest

import (
	"math"
	"runtime"
	"testing"
	"time"
)

const (
	times  = 16                   // as much, the second time
	worst  = 100                  // times as long: 16 would be linear, 256 quadratic
	noise  = 2 * time.Millisecond // what takes less says nothing
	chance = 5                    // tries, for what a machine is busy with may cost a cache, too
)

// Linear fails the test if work of a size takes much more than 16 times as long as work of
// a sixteenth. What counts is the time that processors spend on this goroutine, not what it
// waits for them.
func Linear(t testing.TB, size int, work func(size int)) {
	t.Helper()
	ratio := math.Inf(1)
	for try := 0; try < chance && ratio > worst/2; try++ {
		few, many := spentOn(work, size/times), spentOn(work, size)
		ratio = min(ratio, float64(many)/float64(max(few, noise)))
	}
	if ratio > worst {
		t.Errorf("%d times as much takes %.0f times as long", times, ratio)
	}
}

// spentOn is the time that processors spend on work.
func spentOn(work func(size int), size int) time.Duration {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	began := spent()
	work(size)
	return spent() - began
}
