package books

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
)

func TestInParallel(t *testing.T) {
	for _, goroutines := range []int{1, 4, 100} {
		var seen [50]atomic.Int32
		err := inParallel(t.Context(), goroutines, len(seen), func(_ context.Context, i int) error {
			seen[i].Add(1)
			return nil
		})
		for i := range seen {
			if n := seen[i].Load(); n != 1 || err != nil {
				t.Errorf("%d goroutines: %d was done %d times, error %v", goroutines, i, n, err)
			}
		}
	}
}

// TestInParallelFails: the first error stops the work and is returned.
func TestInParallelFails(t *testing.T) {
	failed := errors.New("failed")
	done := 0
	err := inParallel(t.Context(), 1, 10, func(ctx context.Context, i int) error {
		if done++; i == 3 {
			return failed
		}
		return ctx.Err()
	})
	if !errors.Is(err, failed) || done != 4 {
		t.Errorf("error %v after %d", err, done)
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	err = inParallel(ended, 4, 10, func(context.Context, int) error { t.Error("begun after the end"); return nil })
	if !errors.Is(err, context.Canceled) {
		t.Errorf("error %v", err)
	}
}
