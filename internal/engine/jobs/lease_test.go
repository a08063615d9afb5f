package jobs_test

import (
	"context"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"remit/internal/contract"
	"remit/internal/engine/jobs"
)

// abandon makes a task look like that of a process that was killed while it ran.
func abandon(t *testing.T, store *memory, id string) {
	t.Helper()
	now := time.Now()
	err := store.Add(t.Context(), jobs.Task{
		ID: id, Workspace: "/w", Principal: "ann", Tool: "slow", Arguments: []byte("{}"), CreatedAt: now, UpdatedAt: now, TTL: time.Hour,
		Status: jobs.Working, Owner: "another process", LeaseUntil: now.Add(20 * time.Second),
	})
	if err != nil {
		t.Fatal(err)
	}
}

func TestLeaseLapses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &memory{}
		r := newRig(t, store)
		for _, id := range []string{"read", "updated", "cancelled"} {
			abandon(t, store, id)
		}
		time.Sleep(20*time.Second - time.Microsecond)
		r.cancel("cancelled") // no process is there to react
		if got := r.get("read"); got.Status != jobs.Working {
			t.Errorf("within its lease the task is %s", got.Status)
		}
		time.Sleep(time.Microsecond)
		r.answer("updated", "x", "a")
		r.cancel("cancelled")
		for _, id := range []string{"read", "updated", "cancelled"} {
			got := r.get(id)
			if got.Status != jobs.Failed || !strings.Contains(got.Fault.Message, "The server stopped while this task ran; start it again") {
				t.Errorf("after its lease %s is %s with %v", id, got.Status, got.Fault)
			}
		}
	})
}

func TestLeaseIsRenewed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &memory{}
		here, there := newRig(t, store), newRig(t, store)
		running := here.start("slow", `{}`)
		<-here.began
		for range 60 {
			time.Sleep(time.Second)
			got := there.get(running.ID)
			if got.Status != jobs.Working {
				t.Fatalf("a task that runs is %s with %v", got.Status, got.Fault)
			}
			if !got.UpdatedAt.Equal(running.UpdatedAt) {
				t.Fatal("the renewal of a lease is reported as a change of the task")
			}
		}
		close(here.release)
		here.until(running.ID, jobs.Completed)
	})
}

// TestQueuedTaskKeepsLease checks that the lease of a task that waits for a free slot is renewed.
func TestQueuedTaskKeepsLease(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &memory{}
		here, there := newRig(t, store, func(r *jobs.Runner) { r.Running = 1 }), newRig(t, store)
		here.start("slow", `{}`)
		<-here.began
		queued := here.start("wrong", `{}`).ID
		time.Sleep(time.Minute)
		if got := there.get(queued); got.Status != jobs.Working {
			t.Errorf("a task that waits for a slot is %s", got.Status)
		}
		close(here.release)
		there.until(queued, jobs.Completed)
	})
}

// TestLeaseLapsedDuringSuspend checks that a task whose lease lapsed while the machine was
// suspended still counts as running in its own process.
func TestLeaseLapsedDuringSuspend(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &memory{}
		slept := time.Duration(0)
		r := newRig(t, store, func(r *jobs.Runner) { r.Now = func() time.Time { return time.Now().Add(slept) } })
		id := r.start("slow", `{}`).ID
		<-r.began
		slept = time.Hour
		if got := r.get(id); got.Status != jobs.Working {
			t.Errorf("a task that runs here is %s with %v", got.Status, got.Fault)
		}
		time.Sleep(2 * time.Second)
		if there := newRig(t, store, func(other *jobs.Runner) { other.Now = r.Now }); there.get(id).Status != jobs.Working {
			t.Error("the lease was not renewed after the sleep")
		}
	})
}

// TestLostTaskStops checks that a run stops when another process has marked its task as failed.
func TestLostTaskStops(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &memory{}
		here := newRig(t, store)
		there := newRig(t, store, func(r *jobs.Runner) { r.Now = func() time.Time { return time.Now().Add(time.Hour) } })
		id := here.start("slow", `{}`).ID
		<-here.began
		there.until(id, jobs.Failed)
		endsSoon(here)
		if got := here.get(id); got.Status != jobs.Failed {
			t.Errorf("a failed task became %s", got.Status)
		}
	})
}

// TestNextRunIsNotForgotten checks that the end of one run does not remove the next run of the
// task, which may begin before the first has ended.
func TestNextRunIsNotForgotten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, &memory{})
		id := r.start("later", `{}`).ID
		hold := make(chan struct{})
		stop := r.Watch(id, func() { <-hold }) // keeps the first run from ending
		r.until(id, jobs.InputRequired)
		stop()
		r.answer(id, "yes", "go")
		<-r.began
		close(hold)
		synctest.Wait()
		asked := time.Now()
		r.cancel(id)
		synctest.Wait()
		if got := r.get(id); got.Status != jobs.Cancelled || !time.Now().Equal(asked) {
			t.Errorf("a task that runs here and was cancelled is %s at once", got.Status)
		}
	})
}

// endsSoon checks that a run that lost its task ends soon.
func endsSoon(r *rig) {
	r.t.Helper()
	begun := time.Now()
	if err := r.Close(r.t.Context()); err != nil {
		r.t.Error(err)
	}
	if took := time.Since(begun); took > 2*time.Second {
		r.t.Errorf("a lost task ran on for %s", took)
	}
}

// unreliable is a store that stores the first change but reports a failure, like one whose
// connection breaks before the answer.
type unreliable struct {
	jobs.Store
	once sync.Once
}

func (u *unreliable) Swap(ctx context.Context, t jobs.Task) (bool, error) {
	kept, err := u.Store.Swap(ctx, t)
	u.once.Do(func() { kept, err = false, errDisk })
	return kept, err
}

// TestRetriedEndKeepsNextRun checks that a run that tries again to store its end does not touch a
// task that already runs again.
func TestRetriedEndKeepsNextRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, &unreliable{Store: &memory{}})
		id := r.start("later", `{}`).ID
		r.until(id, jobs.InputRequired)
		r.answer(id, "yes", "go")
		<-r.began
		time.Sleep(5 * time.Second)
		if got := r.get(id); got.Status != jobs.Working {
			t.Errorf("a task that runs is %s", got.Status)
		}
		close(r.release)
		r.until(id, jobs.Completed)
	})
}

func TestCancelFromAnotherProcess(t *testing.T) {
	stores(t, func(t *testing.T, open func() jobs.Store) {
		here, there := newRig(t, open()), newRig(t, open())
		id := here.start("slow", `{}`).ID
		<-here.began
		there.cancel(id)
		there.until(id, jobs.Cancelled)
	})
}

// TestCancelIsSeenSoon checks that the owner checks for cancellation more often than it renews its
// lease.
func TestCancelIsSeenSoon(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &memory{}
		here, there := newRig(t, store), newRig(t, store)
		id := here.start("slow", `{}`).ID
		<-here.began
		begun := time.Now()
		there.cancel(id)
		there.until(id, jobs.Cancelled)
		if took := time.Since(begun); took > 2*time.Second {
			t.Errorf("it took %s", took)
		}
	})
}

func TestCloseWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &memory{}
		r := newRig(t, store)
		id := r.start("slow", `{}`).ID
		<-r.began
		time.AfterFunc(time.Minute, func() { close(r.release) })
		ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
		defer cancel()
		if err := r.Close(ctx); err != nil {
			t.Error(err)
		}
		if got, _ := store.peek(id); got.Status != jobs.Completed {
			t.Errorf("a task that ended in time is %s", got.Status)
		}
		_, err := r.Start(t.Context(), call("wrong", `{}`), nil, everything)
		wantKind(t, err, contract.Unavailable)
		wantKind(t, r.Update(t.Context(), "ann", id, nil), contract.Unavailable)
		wantKind(t, r.Cancel(t.Context(), "ann", id), contract.Unavailable)
	})
}

func TestCloseTimesOut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &memory{}
		r := newRig(t, store, func(r *jobs.Runner) { r.Running = 1 })
		waiting := r.start("both", `{}`).ID
		r.until(waiting, jobs.InputRequired)
		running := r.start("slow", `{}`).ID
		<-r.began
		queued := r.start("wrong", `{}`).ID
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		begun := time.Now()
		if err := r.Close(ctx); err != nil {
			t.Error(err)
		}
		if took := time.Since(begun); took != time.Minute {
			t.Errorf("it waited %s, want a minute", took)
		}
		for _, id := range []string{running, queued} {
			if got, _ := store.peek(id); got.Status != jobs.Failed || !strings.Contains(got.Message, "shut down while this task ran") {
				t.Errorf("what still ran is %s: %s", got.Status, got.Message)
			}
		}
		if got, _ := store.peek(waiting); got.Status != jobs.InputRequired {
			t.Errorf("a task that waits for answers is %s", got.Status)
		}
	})
}

// TestCloseDoesNotHang checks that a tool that ignores cancellation cannot keep the server from
// stopping.
func TestCloseDoesNotHang(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, &memory{})
		r.start("deaf", `{}`)
		<-r.began
		if err := r.close(); err == nil || !strings.Contains(err.Error(), "still run") {
			t.Errorf("Close = %v", err)
		}
		close(r.release)
	})
}

// TestCloseWhileStarting checks that a task that is stored while the server stops does not keep
// running.
func TestCloseWhileStarting(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &memory{}
		gate := make(chan struct{})
		store.failWith(func(method string) error {
			if method == "add" {
				<-gate
			}
			return nil
		})
		r := newRig(t, store)
		started := make(chan jobs.Task)
		go func() { started <- r.start("slow", `{}`) }()
		synctest.Wait()
		time.AfterFunc(time.Second, func() { close(gate) })
		closed := make(chan error)
		go func() { closed <- r.close() }()
		id := (<-started).ID
		if err := <-closed; err != nil {
			t.Error(err)
		}
		if got, _ := store.peek(id); got.Status != jobs.Failed {
			t.Errorf("it is %s", got.Status)
		}
	})
}

func TestCloseBeforeUse(t *testing.T) {
	r := &jobs.Runner{}
	if err := r.Close(t.Context()); err != nil {
		t.Error(err)
	}
}
