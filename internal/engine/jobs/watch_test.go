package jobs_test

import (
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"remit/internal/engine/jobs"
)

// watched counts the changes that are told of a task.
func watched(r *rig, id string) (told *atomic.Int32, stop func()) {
	told = &atomic.Int32{}
	return told, r.Watch(id, func() { told.Add(1) })
}

func wantTold(t *testing.T, told *atomic.Int32, want int32, when string) {
	t.Helper()
	synctest.Wait()
	if n := told.Load(); n != want {
		t.Errorf("%s: %d changes were told, want %d", when, n, want)
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
		wantTold(t, near, 0, "before any change")

		here.answer(id, "1", "a")
		wantTold(t, near, 1, "here, at once")
		wantTold(t, far, 0, "elsewhere, at once")
		time.Sleep(time.Second)
		wantTold(t, near, 1, "here, later")
		wantTold(t, far, 1, "elsewhere, within a second")
		wantTold(t, other, 1, "of a task that there is not") // that it is gone

		here.answer(id, "2", "b") // goes on, and ends
		wantTold(t, near, 3, "here, in the end")
		time.Sleep(25 * time.Hour) // that it expires is no news
		wantTold(t, near, 3, "here, long after")
		wantTold(t, far, 2, "elsewhere, in the end")
	})
}

func TestWatchStops(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, &memory{})
		id := r.start("both", `{}`).ID
		r.until(id, jobs.InputRequired)
		told, stop := watched(r, id)
		stop()
		stop()
		r.answer(id, "1", "a")
		time.Sleep(time.Minute)
		wantTold(t, told, 0, "after stop")

		told, stop = watched(r, id) // Close ends this one
		if err := r.Close(t.Context()); err != nil {
			t.Error(err)
		}
		stop()
		told2, stop := watched(r, id)
		stop()
		wantTold(t, told, 0, "by Close")
		wantTold(t, told2, 0, "after Close")
	})
}

// TestWatchTellsOfAStoppedServer: also if nobody else ever reads the task.
func TestWatchTellsOfAStoppedServer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &memory{}
		r := newRig(t, store)
		abandon(t, store, "x")
		told, stop := watched(r, "x")
		defer stop()
		time.Sleep(19 * time.Second)
		wantTold(t, told, 0, "within its lease")
		time.Sleep(2 * time.Second)
		wantTold(t, told, 1, "after its lease")
		if got := r.get("x"); got.Status != jobs.Failed {
			t.Errorf("it is %s", got.Status)
		}
	})
}

// TestWatchSurvivesAFailingStore: a change is told when it can be seen again.
func TestWatchSurvivesAFailingStore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &memory{}
		here, there := newRig(t, store), newRig(t, store)
		id := here.start("both", `{}`).ID
		here.until(id, jobs.InputRequired)
		told, stop := watched(there, id)
		defer stop()
		here.cancel(id)
		store.failWith(func(string) error { return errDisk })
		time.Sleep(time.Minute)
		wantTold(t, told, 0, "while the store fails")
		store.failWith(nil)
		time.Sleep(time.Second)
		wantTold(t, told, 1, "afterwards")
	})
}
