package jobs_test

import (
	"path/filepath"
	"testing"
	"time"

	"remit/internal/engine/jobs"
)

// TestAnswersRace checks that two processes may answer one question each at the same time: both
// answers count, and the call continues once.
func TestAnswersRace(t *testing.T) {
	path := filepath.Join(t.TempDir(), "remit.db")
	one, other := newRig(t, openFile(t, path)), newRig(t, openFile(t, path))
	for range 20 {
		id := one.start("both", `{}`).ID
		one.until(id, jobs.InputRequired)
		before := one.runs.Load() + other.runs.Load()
		concurrently(
			func() { one.answer(id, "1", "a") },
			func() { other.answer(id, "2", "b") },
		)
		wantBody(t, one.until(id, jobs.Completed), `{"said":" 1 2"}`)
		if n := one.runs.Load() + other.runs.Load() - before; n != 1 {
			t.Errorf("the call went on %d times, want 1", n)
		}
	}
}

// TestAnswerAndCancelRace checks that there is exactly one final status, whichever comes first.
func TestAnswerAndCancelRace(t *testing.T) {
	path := filepath.Join(t.TempDir(), "remit.db")
	one, other := newRig(t, openFile(t, path)), newRig(t, openFile(t, path))
	ends := map[jobs.Status]int{}
	for i := range 20 {
		id := one.start("both", `{}`).ID
		one.until(id, jobs.InputRequired)
		answering, cancelling := one, other
		if i%2 == 1 {
			answering, cancelling = other, one
		}
		before := one.runs.Load() + other.runs.Load()
		concurrently(
			func() { answering.answer(id, "x", "a", "b") },
			func() { other.answer(id, "x", "a", "b") },
			func() { cancelling.cancel(id) },
			func() { one.cancel(id) },
		)
		end := final(one, id)
		ends[end.Status]++
		runs := one.runs.Load() + other.runs.Load() - before
		if runs > 1 || end.Status == jobs.Completed && runs != 1 {
			t.Errorf("the task is %s after %d runs", end.Status, runs)
		}
		one.answer(id, "y", "a", "b")
		other.cancel(id)
		if got := other.get(id); got.Status != end.Status || got.Revision != end.Revision {
			t.Errorf("a task that was %s became %s", end.Status, got.Status)
		}
	}
	t.Log(ends)
	if n := ends[jobs.Completed] + ends[jobs.Cancelled]; n != 20 {
		t.Errorf("the tasks ended as %v, want completed or cancelled", ends)
	}
}

// final waits for a final status.
func final(r *rig, id string) jobs.Task {
	r.t.Helper()
	for end := time.Now().Add(5 * time.Minute); time.Now().Before(end); time.Sleep(time.Millisecond) {
		if task := r.get(id); task.Status.Final() {
			return task
		}
	}
	r.t.Fatalf("the task is still %s", r.get(id).Status)
	return jobs.Task{}
}
