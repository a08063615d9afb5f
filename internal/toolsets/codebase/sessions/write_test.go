package sessions_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"remit/internal/batchwriter"
	"remit/internal/toolsets/codebase/sessions"
)

// timed runs a test with a recorder, in a synctest bubble.
func timed(t *testing.T, test func(t *testing.T, r *rig)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		r := &rig{t: t, store: &fakeStore{}, now: time.Now()}
		r.Recorder = sessions.NewRecorder(func(context.Context) (sessions.Store, error) { return r.store, nil }, slog.New(slog.DiscardHandler), time.Now)
		test(t, r)
		r.Close(t.Context())
	})
}

// pass lets time pass, with everything that happens in it.
func (r *rig) pass(d time.Duration) {
	time.Sleep(d) // of the synctest bubble
	synctest.Wait()
	r.now = time.Now()
}

func (r *rig) read(path string) {
	r.saw(wired, "context/read_file", fmt.Sprintf(`{"path":%q}`, path), `{}`)
}

// TestRecorderTriesAgain: failed writes are retried automatically, including that a client left.
func TestRecorderTriesAgain(t *testing.T) {
	timed(t, func(t *testing.T, r *rig) {
		r.store.setFail(errors.New("no disk"))
		r.read("a")
		r.ConnectionClosed("c1")
		r.pass(time.Minute)
		if _, err := r.Recent(t.Context(), 10); err == nil || len(r.store.written()) != 0 {
			t.Fatal("it was written")
		}
		r.store.setFail(nil)
		r.pass(batchwriter.MaxBackoff)
		if all := r.store.written(); len(all) != 1 || names(all[0].Files) != "a" || !all[0].Ended {
			t.Errorf("there are %+v", all)
		}
	})
}

// TestRecorderWritesAfterTimeout: what a caller had no time to write is written in the background.
func TestRecorderWritesAfterTimeout(t *testing.T) {
	timed(t, func(t *testing.T, r *rig) {
		release := r.store.hang()
		r.read("a")
		r.pass(batchwriter.DefaultDelay) // it is being written
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		_, _ = r.Recent(ctx, 10)
		release()
		r.pass(0)
		if all := r.store.written(); len(all) != 1 {
			t.Errorf("there are %+v", all)
		}
		hurried, cancel := context.WithCancel(t.Context())
		cancel()
		release = r.store.hang()
		r.read("b")
		_, _ = r.Recent(hurried, 10)
		release()
		r.pass(batchwriter.DefaultDelay)
		if all := r.store.written(); len(all) != 1 || names(all[0].Files) != "a b" {
			t.Errorf("there are %+v", all)
		}
	})
}

// TestRecorderKeepsTheNewest: however long the store is unavailable, the newest activities of
// each client wait, up to the limit.
func TestRecorderKeepsTheNewest(t *testing.T) {
	timed(t, func(t *testing.T, r *rig) {
		r.store.setFail(errors.New("no disk"))
		n := 0
		reads := func(count int) {
			for range count {
				r.read(fmt.Sprint(n))
				n++
			}
			r.read("always")
		}
		var away atomic.Bool
		away.Store(true)
		r.store.during = func() {
			if away.Load() {
				reads(sessions.MaxItems / 4)
			}
		}
		reads(2 * sessions.MaxItems)
		for range 20 {
			r.pass(time.Second)
			_, _ = r.Recent(t.Context(), 10) // another caller that fails to write
		}
		away.Store(false)
		r.store.setFail(nil)
		r.pass(batchwriter.MaxBackoff)
		files := r.store.written()[0].Files
		if last := len(files) - 1; len(files) != sessions.MaxItems || files[last].What != fmt.Sprint(n-1) {
			t.Errorf("%d are written, the last of them %+v", len(files), files[last])
		}
		i := slices.IndexFunc(files, func(i sessions.Item) bool { return i.What == "always" })
		if i < 0 || files[i].Times < 20 {
			t.Errorf("written are %+v", files)
		}
	})
}

// TestRecorderLeavesMeanwhile: a session also ends if its client left while it was being written,
// or could not be.
func TestRecorderLeavesMeanwhile(t *testing.T) {
	timed(t, func(t *testing.T, r *rig) {
		release := r.store.hang()
		r.read("a")
		r.pass(batchwriter.DefaultDelay)
		r.ConnectionClosed("c1")
		release()
		r.pass(batchwriter.DefaultDelay)
		if all := r.store.written(); len(all) != 1 || !all[0].Ended {
			t.Errorf("there are %+v", all)
		}
	})
}

// TestRecorderCloses: Close waits no longer than batchwriter.CloseTimeout, and writes what it can.
func TestRecorderCloses(t *testing.T) {
	timed(t, func(t *testing.T, r *rig) {
		r.read("a")
		r.Close(t.Context())
		r.read("b")
		r.ConnectionClosed("c1")
		if all := r.store.written(); len(all) != 1 || names(all[0].Files) != "a" || all[0].Ended {
			t.Errorf("there are %+v", all)
		}
	})
	timed(t, func(t *testing.T, r *rig) {
		r.store.hang()
		r.read("a")
		r.pass(batchwriter.DefaultDelay)
		before := time.Now()
		r.Close(t.Context())
		if took := time.Since(before); took != batchwriter.CloseTimeout {
			t.Errorf("took %v", took)
		}
	})
}
