package jobs_test

import (
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"remit/internal/engine/jobs"
)

// watched counts the reported changes of a task.
func watched(r *rig, id string) (changes *atomic.Int32, stop func()) {
	changes = &atomic.Int32{}
	return changes, r.Watch(id, func() { changes.Add(1) })
}

func wantChanges(t *testing.T, changes *atomic.Int32, want int32, when string) {
	t.Helper()
	synctest.Wait()
	if n := changes.Load(); n != want {
		t.Errorf("%s: %d changes were reported, want %d", when, n, want)
	}
}

func TestWatch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &memory{}
		here, there := newRig(t, store), newRig(t, store)
		id := here.start("both", `{}`).ID
		here.until(id, jobs.InputRequired)

		near, stopNear := watched(here, id)
		far, stopFar := watched(there, id)
		other, stopOther := watched(here, "another task")
		defer stopNear()
		defer stopFar()
		defer stopOther()
		time.Sleep(500 * time.Millisecond)
		wantChanges(t, near, 0, "before any change")

		here.answer(id, "1", "a")
		wantChanges(t, near, 1, "here, at once")
		wantChanges(t, far, 0, "elsewhere, at once")
		time.Sleep(time.Second)
		wantChanges(t, near, 1, "here, later")
		wantChanges(t, far, 1, "elsewhere, within a second")
		// Reports that the task does not exist.
		wantChanges(t, other, 1, "of a task that there is not")

		here.answer(id, "2", "b") // continues and ends
		wantChanges(t, near, 3, "here, in the end")
		time.Sleep(25 * time.Hour) // its expiry is not a change
		wantChanges(t, near, 3, "here, long after")
		wantChanges(t, far, 2, "elsewhere, in the end")
	})
}

func TestWatchStops(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, &memory{})
		id := r.start("both", `{}`).ID
		r.until(id, jobs.InputRequired)
		changes, stop := watched(r, id)
		stop()
		stop()
		r.answer(id, "1", "a")
		time.Sleep(time.Minute)
		wantChanges(t, changes, 0, "after stop")

		changes, stop = watched(r, id) // Close ends this one
		if err := r.Close(t.Context()); err != nil {
			t.Error(err)
		}
		stop()
		changes2, stop := watched(r, id)
		stop()
		wantChanges(t, changes, 0, "by Close")
		wantChanges(t, changes2, 0, "after Close")
	})
}

// TestWatchReportsStoppedServer checks that a watch reports a lapsed lease even if nobody else
// reads the task.
func TestWatchReportsStoppedServer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &memory{}
		r := newRig(t, store)
		abandon(t, store, "x")
		changes, stop := watched(r, "x")
		defer stop()
		time.Sleep(19 * time.Second)
		wantChanges(t, changes, 0, "within its lease")
		time.Sleep(2 * time.Second)
		wantChanges(t, changes, 1, "after its lease")
		if got := r.get("x"); got.Status != jobs.Failed {
			t.Errorf("it is %s", got.Status)
		}
	})
}

// TestWatchWithFailingStore checks that a change is reported once the store works again.
func TestWatchWithFailingStore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &memory{}
		here, there := newRig(t, store), newRig(t, store)
		id := here.start("both", `{}`).ID
		here.until(id, jobs.InputRequired)
		changes, stop := watched(there, id)
		defer stop()
		here.cancel(id)
		store.failWith(func(string) error { return errDisk })
		time.Sleep(time.Minute)
		wantChanges(t, changes, 0, "while the store fails")
		store.failWith(nil)
		time.Sleep(time.Second)
		wantChanges(t, changes, 1, "afterwards")
	})
}
