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
	if late := time.Since(steadyNow()); late > time.Minute {
		t.Errorf("it is %s late", late)
	}
}
