package codebase

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"remit/internal/batchwriter"
)

func TestScore(t *testing.T) {
	now := time.Date(2026, 8, 1, 12, 0, 0, 0, time.UTC)
	const day = 24 * time.Hour
	for _, tc := range []struct {
		count int64
		ago   time.Duration
		want  float64
	}{
		{0, 0, .6},
		{1, 0, .604},
		{50, 15 * day, .5},
		{100, 0, 1},
		{1000, 0, 1},
		{100, 30 * day, .4},
		{100, 3000 * day, .4},
		{0, 30 * day, 0},
		{1, -day, .604}, // another machine's clock
		{-5, 30 * day, 0},
	} {
		got := Access{Count: tc.count, Last: now.Add(-tc.ago)}.Score(now)
		if math.Abs(got-tc.want) > 1e-9 {
			t.Errorf("%d reads, the last %v ago, score %v, want %v", tc.count, tc.ago, got, tc.want)
		}
	}
	if got := (Access{Count: 100}).Score(now); got != .4 {
		t.Errorf("never read scores %v, want .4", got)
	}
}

// fakeAccesses records each batch that was added.
type fakeAccesses struct {
	Accesses
	mu      sync.Mutex
	batches [][]Access
	fail    error
	hang    chan struct{} // Add waits for it, unless it is nil
}

func (f *fakeAccesses) Add(ctx context.Context, reads []Access) error {
	if f.hang != nil {
		select {
		case <-f.hang:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.fail == nil {
		f.batches = append(f.batches, slices.Clone(reads))
	}
	return f.fail
}

func (f *fakeAccesses) setFail(err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.fail = err
}

// written returns the recorded batches with the number of reads of each path.
func (f *fakeAccesses) written() string {
	f.mu.Lock()
	defer f.mu.Unlock()
	var all []string
	for _, batch := range f.batches {
		var reads []string
		for _, read := range batch {
			reads = append(reads, fmt.Sprint(read.Path, ":", read.Count))
		}
		all = append(all, strings.Join(reads, " "))
	}
	return strings.Join(all, ", ")
}

// tracked runs a test with a tracker, in a synctest bubble.
func tracked(t *testing.T, store *fakeAccesses, test func(t *testing.T, tracker *Tracker, log *bytes.Buffer)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		log := &bytes.Buffer{}
		open := func(context.Context) (Accesses, error) { return store, nil }
		tracker := NewTracker(open, slog.New(slog.NewTextHandler(log, nil)), time.Now)
		test(t, tracker, log)
		tracker.Close(t.Context())
	})
}

// pass lets time pass, with everything that happens in it.
func pass(d time.Duration) {
	time.Sleep(d) // of the synctest bubble
	synctest.Wait()
}

func expectWritten(t *testing.T, store *fakeAccesses, want string) {
	t.Helper()
	if got := store.written(); got != want {
		t.Errorf("written were %q, want %q", got, want)
	}
}

func TestTrackerWritesTogether(t *testing.T) {
	store := &fakeAccesses{}
	tracked(t, store, func(t *testing.T, tracker *Tracker, _ *bytes.Buffer) {
		started := time.Now()
		tracker.Note("a")
		tracker.Note("b")
		pass(batchwriter.DefaultDelay - time.Millisecond)
		tracker.Note("a")
		expectWritten(t, store, "")
		pass(time.Millisecond)
		expectWritten(t, store, "b:1 a:2")
		want := []Access{{"b", 1, started}, {"a", 2, started.Add(batchwriter.DefaultDelay - time.Millisecond)}}
		if diff := cmp.Diff(want, store.batches[0]); diff != "" {
			t.Errorf("-want +got:\n%s", diff)
		}
		pass(time.Hour)
		tracker.Note("a")
		pass(batchwriter.DefaultDelay)
		expectWritten(t, store, "b:1 a:2, a:1")
	})
}

func TestTrackerTriesAgain(t *testing.T) {
	store := &fakeAccesses{fail: errors.New("away")}
	tracked(t, store, func(t *testing.T, tracker *Tracker, log *bytes.Buffer) {
		for _, path := range []string{"a", "b", "a"} {
			tracker.Note(path)
			pass(time.Second)
		}
		if n := strings.Count(log.String(), "away"); n != 1 {
			t.Errorf("the failure was logged %d times:\n%s", n, log)
		}
		store.setFail(nil)
		expectWritten(t, store, "")
		tracker.Note("c")
		pass(batchwriter.MaxBackoff)
		expectWritten(t, store, "b:1 a:2 c:1")
		store.setFail(errors.New("away"))
		tracker.Note("d")
		pass(batchwriter.DefaultDelay)
		store.setFail(nil)
		pass(batchwriter.MaxBackoff) // nobody calls Note
		expectWritten(t, store, "b:1 a:2 c:1, d:1")
	})
}

func TestTrackerNeverWaits(t *testing.T) {
	store := &fakeAccesses{}
	tracked(t, store, func(t *testing.T, tracker *Tracker, _ *bytes.Buffer) {
		store.hang = make(chan struct{}) // of this synctest bubble
		tracker.Note("a")
		pass(batchwriter.DefaultDelay) // now it is being written
		before := time.Now()
		for range 1000 {
			tracker.Note("b")
		}
		if took := time.Since(before); took != 0 {
			t.Errorf("took %v", took)
		}
		close(store.hang)
		pass(time.Second)
		expectWritten(t, store, "a:1, b:1000")
	})
}

func TestTrackerForgetsTheOldest(t *testing.T) {
	store := &fakeAccesses{}
	tracked(t, store, func(t *testing.T, tracker *Tracker, _ *bytes.Buffer) {
		for i := range trackerPaths {
			tracker.Note(fmt.Sprint(i))
		}
		tracker.Note("0") // is no longer the oldest
		tracker.Note("one more")
		tracker.Note(strings.Repeat("x", MaxPath+1))
		pass(batchwriter.DefaultDelay)
		batch := store.batches[0]
		if len(batch) != trackerPaths || batch[0].Path != "2" || batch[len(batch)-1].Path != "one more" || batch[len(batch)-2].Path != "0" {
			t.Errorf("%d were written, from %v to %v", len(batch), batch[0], batch[len(batch)-1])
		}
	})
}

func TestTrackerCloses(t *testing.T) {
	store := &fakeAccesses{}
	tracked(t, store, func(t *testing.T, tracker *Tracker, _ *bytes.Buffer) {
		tracker.Note("a")
		before := time.Now()
		tracker.Close(t.Context())
		tracker.Note("b")
		tracker.Close(t.Context())
		if took := time.Since(before); took != 0 {
			t.Errorf("took %v", took)
		}
		expectWritten(t, store, "a:1")
	})
	tracked(t, store, func(*testing.T, *Tracker, *bytes.Buffer) {}) // Note was never called
}

// TestTrackerGivesUp: a store that hangs delays Close no longer than batchwriter.CloseTimeout.
func TestTrackerGivesUp(t *testing.T) {
	for _, early := range []time.Duration{0, batchwriter.DefaultDelay} {
		store := &fakeAccesses{}
		tracked(t, store, func(t *testing.T, tracker *Tracker, log *bytes.Buffer) {
			store.hang = make(chan struct{}) // of this synctest bubble
			tracker.Note("a")
			pass(early) // the second one is being written when Close is called
			tracker.Note("b")
			before := time.Now()
			tracker.Close(t.Context())
			if took := time.Since(before); took != batchwriter.CloseTimeout {
				t.Errorf("took %v, want %v", took, batchwriter.CloseTimeout)
			}
			expectWritten(t, store, "")
			if !strings.Contains(log.String(), "paths=2") {
				t.Errorf("the loss is not logged:\n%s", log)
			}
		})
	}
}

// TestTrackerCountsEverything: while every second write fails, no read is lost and none counts
// twice.
func TestTrackerCountsEverything(t *testing.T) {
	store := &fakeAccesses{}
	var tries atomic.Int32
	var steady atomic.Bool
	open := func(context.Context) (Accesses, error) {
		if tries.Add(1)%2 == 1 && !steady.Load() {
			return nil, errors.New("away")
		}
		return store, nil
	}
	synctest.Test(t, func(t *testing.T) {
		tracker := NewTracker(open, slog.New(slog.DiscardHandler), time.Now)
		var wg sync.WaitGroup
		for i := range 8 {
			wg.Go(func() {
				for n := range 100 {
					tracker.Note(fmt.Sprint((i + n) % 5))
					time.Sleep(time.Duration(i+1) * 7 * time.Millisecond) // of the synctest bubble
				}
			})
		}
		wg.Wait()
		steady.Store(true)
		tracker.Note("last")
		tracker.Close(t.Context())
	})
	counts := map[string]int64{}
	for _, batch := range store.batches {
		for _, read := range batch {
			counts[read.Path] += read.Count
		}
	}
	want := map[string]int64{"0": 160, "1": 160, "2": 160, "3": 160, "4": 160, "last": 1}
	if diff := cmp.Diff(want, counts); diff != "" || tries.Load() < 10 {
		t.Errorf("%d tries, -want +got:\n%s", tries.Load(), diff)
	}
}
