// Package complexitytest lets tests check that the cost of an operation grows linearly with its
// input, even on a busy machine. It measures CPU time, not wall time.
package complexitytest

import (
	"math"
	"runtime"
	"testing"
	"time"
)

const (
	scale = 16 // how much larger the second input is
	// Largest allowed ratio of the two times: 16 would be linear, 256 quadratic.
	maxRatio = 100
	// Shorter measurements count as this long, because they are mostly noise.
	minTime = 2 * time.Millisecond
	// Other processes may evict the caches, which makes single measurements too slow.
	maxTries = 5
)

// Linear fails the test if work with the given size takes much more than 16 times as long as work
// with a sixteenth of it. It compares the CPU time of this goroutine, not the time that the
// goroutine waits for a processor.
func Linear(t testing.TB, size int, work func(size int)) {
	t.Helper()
	ratio := math.Inf(1)
	for try := 0; try < maxTries && ratio > maxRatio/2; try++ {
		few, many := cpuTimeOf(work, size/scale), cpuTimeOf(work, size)
		ratio = min(ratio, float64(many)/float64(max(few, minTime)))
	}
	if ratio > maxRatio {
		t.Errorf("an input %d times as large takes %.0f times as long", scale, ratio)
	}
}

// cpuTimeOf returns the CPU time that work takes.
func cpuTimeOf(work func(size int), size int) time.Duration {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	began := cpuTime()
	work(size)
	return cpuTime() - began
}
