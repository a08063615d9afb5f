package stats

import (
	"slices"
	"sync/atomic"
	"time"
)

// callBounds are the buckets for calls. OpenTelemetry advises those from 10 ms for
// mcp.server.operation.duration. Most of our calls take microseconds and would all fall into the
// first of these, so there are finer ones below.
var callBounds = [...]time.Duration{
	10 * time.Microsecond, 20 * time.Microsecond, 50 * time.Microsecond,
	100 * time.Microsecond, 200 * time.Microsecond, 500 * time.Microsecond,
	1 * time.Millisecond, 2 * time.Millisecond, 5 * time.Millisecond,
	10 * time.Millisecond, 20 * time.Millisecond, 50 * time.Millisecond,
	100 * time.Millisecond, 200 * time.Millisecond, 500 * time.Millisecond,
	1 * time.Second, 2 * time.Second, 5 * time.Second, 10 * time.Second, 30 * time.Second,
	60 * time.Second, 120 * time.Second, 300 * time.Second,
}

// sessionBounds are the buckets for sessions. The advised buckets end at five minutes, but a
// session may last a working day, so there are coarser ones above.
var sessionBounds = [...]time.Duration{
	10 * time.Millisecond, 20 * time.Millisecond, 50 * time.Millisecond,
	100 * time.Millisecond, 200 * time.Millisecond, 500 * time.Millisecond,
	1 * time.Second, 2 * time.Second, 5 * time.Second, 10 * time.Second, 30 * time.Second,
	60 * time.Second, 120 * time.Second, 300 * time.Second,
	15 * time.Minute, time.Hour, 4 * time.Hour, 12 * time.Hour, 24 * time.Hour,
}

// histogram counts durations in buckets. Every method gets the upper bounds of the buckets as an
// argument. One more bucket counts durations above the last bound.
type histogram struct {
	// callBounds is the longest list; sessions use fewer buckets.
	counts [len(callBounds) + 1]atomic.Uint64
	sum    atomic.Int64 // in nanoseconds
}

// add counts one duration. A negative one, from a clock that was set back, counts as zero.
func (h *histogram) add(bounds []time.Duration, took time.Duration) {
	took = max(took, 0)
	bucket, _ := slices.BinarySearch(bounds, took) // bounds are inclusive
	h.counts[bucket].Add(1)
	h.sum.Add(int64(took))
}

func (h *histogram) snapshot(bounds []time.Duration) Distribution {
	d := Distribution{Bounds: bounds, Counts: make([]uint64, len(bounds)+1)}
	for i := range d.Counts {
		d.Counts[i] = h.counts[i].Load()
	}
	d.Sum = time.Duration(h.sum.Load())
	return d
}

// Distribution is a histogram of durations. Callers must not change Bounds.
type Distribution struct {
	Bounds []time.Duration // upper, inclusive
	Counts []uint64        // by bucket; one more than Bounds, for longer durations
	Sum    time.Duration
}

// Total returns the number of durations.
func (d *Distribution) Total() uint64 {
	var total uint64
	for _, n := range d.Counts {
		total += n
	}
	return total
}

// Quantile returns the smallest bound that at least this share of the durations does not exceed.
// For durations beyond the last bound it returns the last bound.
func (d *Distribution) Quantile(share float64) time.Duration {
	wanted, seen := share*float64(d.Total()), uint64(0)
	for i, bound := range d.Bounds {
		if seen += d.Counts[i]; float64(seen) >= wanted {
			return bound
		}
	}
	return d.Bounds[len(d.Bounds)-1]
}

// Add adds the counts of another distribution with the same bounds.
func (d *Distribution) Add(other Distribution) {
	d.Counts = slices.Clone(d.Counts)
	for i, n := range other.Counts {
		d.Counts[i] += n
	}
	d.Sum += other.Sum
}
