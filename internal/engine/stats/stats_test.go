package stats_test

import (
	"fmt"
	"sync"
	"testing"
	"time"

	"remit/internal/engine/stats"
)

func TestSnapshot(t *testing.T) {
	var s stats.Stats
	if got := s.Snapshot(); got != nil {
		t.Errorf("nothing was observed, but there is %v", got)
	}
	for i := range 100 {
		took := 15 * time.Microsecond
		if i >= 90 {
			took = 3 * time.Millisecond
		}
		s.Observe("demo/b", "ok", took)
	}
	s.Observe("demo/b", "invalid", -time.Second) // a clock that was set back
	s.Observe("demo/a", "ok", time.Hour)

	lines := s.Snapshot()
	var got []string
	for _, l := range lines {
		got = append(got, fmt.Sprintf("%s %s %d %s %s %s sum %s", l.Tool, l.Outcome, l.Calls, l.P50, l.P95, l.P99, l.Took.Sum))
	}
	want := []string{
		"demo/a ok 1 5m0s 5m0s 5m0s sum 1h0m0s",
		"demo/b invalid 1 10µs 10µs 10µs sum 0s",
		"demo/b ok 100 20µs 5ms 5ms sum 31.35ms",
	}
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("got  %q\nwant %q", got, want)
	}
}

// TestBoundsAreInclusive checks that a duration equal to a bound counts in its bucket, like "le" of
// Prometheus.
func TestBoundsAreInclusive(t *testing.T) {
	var s stats.Stats
	s.Observe("demo/a", "ok", 10*time.Microsecond)
	s.Observe("demo/a", "ok", 10*time.Microsecond+1)
	took := s.Snapshot()[0].Took
	if took.Counts[0] != 1 || took.Counts[1] != 1 {
		t.Errorf("counts %v, want one in each of the first two buckets", took.Counts)
	}
}

func TestSessions(t *testing.T) {
	var s stats.Stats
	s.ObserveSession(time.Minute)
	s.ObserveSession(48 * time.Hour)
	got := s.Sessions()
	if got.Total() != 2 || got.Sum != 48*time.Hour+time.Minute || got.Counts[len(got.Counts)-1] != 1 {
		t.Errorf("got %+v, want two sessions, one of them beyond the last bound", got)
	}
	if len(s.Snapshot()) != 0 {
		t.Error("a session is no call")
	}
}

// TestAddKeepsOperands checks that Add does not change the distribution that the sum was copied
// from.
func TestAddKeepsOperands(t *testing.T) {
	var s stats.Stats
	s.Observe("demo/a", "ok", time.Microsecond)
	part := s.Snapshot()[0].Took
	sum := part
	sum.Add(part)
	if sum.Total() != 2 || sum.Sum != 2*time.Microsecond || part.Total() != 1 {
		t.Errorf("sum %+v of %+v", sum, part)
	}
}

// TestSeriesAreBounded checks that a caller that makes up names gets one line for all names beyond
// MaxSeries.
func TestSeriesAreBounded(t *testing.T) {
	var s stats.Stats
	s.Observe("demo/known", "ok", 0)
	for i := range stats.MaxSeries + 100 {
		s.Observe(fmt.Sprintf("demo/%d", i), "ok", 0)
	}
	s.Observe("demo/known", "ok", 0)
	calls := map[string]uint64{}
	for _, l := range s.Snapshot() {
		calls[l.Tool] = l.Calls
	}
	if len(calls) != stats.MaxSeries+1 || calls[stats.Other] != 101 || calls["demo/known"] != 2 {
		t.Errorf("%d names, %d others, %d known; want %d, 101, 2", len(calls), calls[stats.Other], calls["demo/known"], stats.MaxSeries+1)
	}
}

// TestConcurrentObserve checks that no call is lost when many callers observe new series at the
// same time.
func TestConcurrentObserve(t *testing.T) {
	const callers, pairs = 8, 1000
	var s stats.Stats
	var all sync.WaitGroup
	start := make(chan struct{})
	for range callers {
		all.Go(func() {
			<-start
			for i := range pairs {
				s.Observe(fmt.Sprintf("demo/%d", i), "ok", time.Millisecond)
			}
		})
	}
	close(start)
	all.Wait()
	lines := s.Snapshot()
	if len(lines) != pairs {
		t.Errorf("%d pairs, want %d", len(lines), pairs)
	}
	for _, l := range lines {
		if l.Calls != callers || l.Took.Sum != callers*time.Millisecond {
			t.Errorf("%s: %d calls in %s, want %d", l.Tool, l.Calls, l.Took.Sum, callers)
		}
	}
}

func TestObserveAllocatesNothing(t *testing.T) {
	var s stats.Stats
	s.Observe("demo/a", "ok", 0)
	if n := testing.AllocsPerRun(100, func() { s.Observe("demo/a", "ok", 70*time.Microsecond) }); n != 0 {
		t.Errorf("%v allocations a call", n)
	}
}

func BenchmarkObserve(b *testing.B) {
	var s stats.Stats
	for _, tool := range []string{"learning-os/hello", "learning-os/read_repo_file", "learning-os/write_memory_entry"} {
		s.Observe(tool, "ok", 0)
		s.Observe(tool, "invalid", 0)
	}
	b.ReportAllocs()
	b.Run("alone", func(b *testing.B) {
		for b.Loop() {
			s.Observe("learning-os/read_repo_file", "ok", 70*time.Microsecond)
		}
	})
	b.Run("parallel", func(b *testing.B) {
		b.RunParallel(func(pb *testing.PB) {
			for pb.Next() {
				s.Observe("learning-os/read_repo_file", "ok", 70*time.Microsecond)
			}
		})
	})
}
