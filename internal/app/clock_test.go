package app

import (
	"testing"
	"time"
)

func TestTheClockDoesNotGoBack(t *testing.T) {
	start := time.Date(2026, 1, 9, 12, 0, 0, 0, time.UTC)
	for now, want := range map[time.Time]time.Time{
		start.Add(time.Hour):       start.Add(time.Hour),
		start.Add(2 * time.Hour):   start.Add(2 * time.Hour), // set ahead, or asleep
		start.Add(-24 * time.Hour): start.Add(time.Hour),     // set back
	} {
		if got := laterOf(now, start, time.Hour); !got.Equal(want) {
			t.Errorf("at %s: %s, want %s", now, got, want)
		}
	}
	for name, newest := range map[string]time.Duration{"long before": -1000 * time.Hour, "before": -time.Hour, "later": time.Hour} {
		clock := steadyClock{newest: func() time.Time { return time.Now().Add(newest) }}
		before := time.Now()
		if got := clock.now(); got.Before(before) || newest > 0 && got.Before(before.Add(newest)) {
			t.Errorf("%s: %s at %s", name, got, before)
		}
	}
}
