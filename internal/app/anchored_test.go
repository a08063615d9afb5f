package app

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"
)

// A check that failed is repeated at once, one that succeeded after a millisecond.
func TestRecentCheck(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var r recentCheck
		checks, result := 0, errors.New("in doubt")
		run := func() error {
			return r.run(func() error { checks++; return result })
		}
		for range 2 {
			if err := run(); !errors.Is(err, result) {
				t.Errorf("got %v, want %v", err, result)
			}
		}
		result = nil
		for range 3 {
			if err := run(); err != nil {
				t.Error(err)
			}
		}
		if checks != 3 {
			t.Errorf("%d checks, want 2 that fail and 1 that succeeds", checks)
		}
		time.Sleep(checkedFor)
		result = errors.New("replaced")
		if err := run(); !errors.Is(err, result) {
			t.Errorf("after %v: got %v, want %v", checkedFor, err, result)
		}
	})
}
