package batchwriter

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"
)

// TestLinesLull: a line for which nobody waits is written after a lull, with those that came meanwhile; a durable one at once.
func TestLinesLull(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var sizes []int
		q := &Lines{Write: func(take func() []*Line) error {
			sizes = append(sizes, len(take()))
			return nil
		}}
		start := time.Now()
		q.Append(&Line{}, false)
		last := q.Append(&Line{}, false)
		if err := last.Wait(t.Context()); err != nil || time.Since(start) != lull {
			t.Errorf("written after %s (error %v), want %s", time.Since(start), err, lull)
		}
		start = time.Now()
		q.Append(&Line{}, false)
		if err := q.Append(&Line{}, true).Wait(t.Context()); err != nil || time.Since(start) != 0 {
			t.Errorf("a durable line is written after %s (error %v), want at once", time.Since(start), err)
		}
		if len(sizes) != 2 || sizes[0] != 2 || sizes[1] != 2 {
			t.Errorf("batches of %v, want two of two", sizes)
		}
		if err := q.Close(); err != nil {
			t.Error(err)
		}
	})
}

// TestLinesDuringAWrite: lines that come while a batch is written go into the next one, and one that nobody waits for has its lull first.
func TestLinesDuringAWrite(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		goOn, writes := make(chan struct{}), 0
		q := &Lines{Write: func(take func() []*Line) error {
			writes++
			take()
			<-goOn
			return nil
		}}
		first := q.Append(&Line{}, true)
		synctest.Wait()
		second := q.Append(&Line{}, false)
		close(goOn)
		if err := first.Wait(t.Context()); err != nil {
			t.Error(err)
		}
		synctest.Wait()
		if writes != 1 {
			t.Errorf("%d writes before the lull is over, want 1", writes)
		}
		if err := second.Wait(t.Context()); err != nil || writes != 2 {
			t.Errorf("%d writes, want 2 (error %v)", writes, err)
		}
	})
}

// TestLinesLost: what nobody waits for is reported by Lost and by Close, and a line that is withdrawn is never written.
func TestLinesLost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		failure, lost := errors.New("no room"), 0
		q := &Lines{Write: func(take func() []*Line) error {
			for _, l := range take() {
				if string(l.Body) == "withdrawn" {
					t.Error("a line that was withdrawn is written")
				}
			}
			return failure
		}, Lost: func(error) { lost++ }, Limit: 2}
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		withdrawn := q.Append(&Line{Body: []byte("withdrawn")}, false)
		if err := withdrawn.Wait(ctx); !errors.Is(err, context.Canceled) {
			t.Errorf("a line that is withdrawn gets %v", err)
		}
		written := q.Append(&Line{Number: 7}, false)
		if err := q.Append(&Line{}, false).Wait(t.Context()); !errors.Is(err, errTooMany) {
			t.Errorf("a line too many gets %v", err)
		}
		if err := written.Wait(t.Context()); !errors.Is(err, failure) || written.Number != 0 {
			t.Errorf("a line that failed gets %v and the number %d", err, written.Number)
		}
		synctest.Wait()
		if err := q.Close(); !errors.Is(err, failure) || lost != 1 {
			t.Errorf("Close: %v, and Lost was called %d times, want once", err, lost)
		}
		if err := q.Append(&Line{}, true).Wait(t.Context()); !errors.Is(err, ErrClosed) {
			t.Errorf("a line after Close gets %v", err)
		}
	})
}

// TestRarely: a function is called at once, and then once a minute at most.
func TestRarely(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		told := 0
		tell := Rarely(func(error) { told++ })
		for range 150 {
			tell(nil)
			time.Sleep(time.Second)
		}
		if told != 3 {
			t.Errorf("told %d times in 150 seconds, want 3", told)
		}
	})
}
