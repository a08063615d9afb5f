package audit

import (
	"testing"
	"time"
)

func TestAppendTime(t *testing.T) {
	for _, nanos := range []int{0, 999, 42_000, 500_000_000, 999_999_999} {
		at := time.Date(2026, 1, 9, 3, 4, 5, nanos, time.UTC)
		if got, want := string(appendTime(nil, at)), at.Format("2006-01-02T15:04:05.000000Z"); got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
}
