package jobs_test

import (
	"context"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"remit/internal/contract"
	"remit/internal/contract/jsontree"
	"remit/internal/engine"
	"remit/internal/engine/idempotency"
	"remit/internal/engine/idempotency/idempotencytest"
	"remit/internal/engine/jobs"
)

func TestTwoAttempts(t *testing.T) {
	stores(t, func(t *testing.T, open func() jobs.Store) {
		r := newRig(t, open())
		task := r.start("twice", `{"text":"hi"}`)
		if task.Status != jobs.Working || task.TTL != 24*time.Hour || task.Poll != 500*time.Millisecond {
			t.Errorf("a task begins as %+v", task)
		}
		if got := r.until(task.ID, jobs.InputRequired); keys(got) != "name" || got.Continuation.Attempt != 1 {
			t.Errorf("it asks %q in attempt %d, want name in 1", keys(got), got.Continuation.Attempt)
		}
		// An answer to a question that is not open is ignored.
		r.answer(task.ID, "ann", "name", "never asked", "sure")
		if got := r.until(task.ID, jobs.InputRequired); keys(got) != "sure" {
			t.Errorf("it asks %q, want sure", keys(got))
		}
		r.answer(task.ID, "bob", "name") // answered already
		r.answer(task.ID, "yes", "sure")
		done := r.until(task.ID, jobs.Completed)
		wantBody(t, done, `{"said":"hi ann yes"}`)
		if done.IsError || done.Fault != nil || len(done.Questions) != 0 {
			t.Errorf("it is completed with %+v", done)
		}
		if n := r.runs.Load(); n != 3 {
			t.Errorf("the call ran %d times, want one per attempt", n)
		}
	})
}

func TestPartialAnswers(t *testing.T) {
	stores(t, func(t *testing.T, open func() jobs.Store) {
		r := newRig(t, open())
		id := r.start("both", `{}`).ID
		if got := r.until(id, jobs.InputRequired); keys(got) != "a b" {
			t.Fatalf("it asks %q, want a b", keys(got))
		}
		r.answer(id, "1", "a")
		if got := r.get(id); got.Status != jobs.InputRequired || keys(got) != "b" {
			t.Errorf("right after one answer it is %s and asks %q", got.Status, keys(got))
		}
		r.answer(id, "2", "b")
		wantBody(t, r.until(id, jobs.Completed), `{"said":" 1 2"}`)
	})
}

func TestOutcomes(t *testing.T) {
	stores(t, func(t *testing.T, open func() jobs.Store) {
		r := newRig(t, open())
		wrong := r.until(r.start("wrong", `{}`).ID, jobs.Completed)
		if !wrong.IsError || !strings.Contains(string(wrong.Body), "no such thing") {
			t.Errorf("an error in the set's shape is kept as %s, error %v", wrong.Body, wrong.IsError)
		}
		for tool, want := range map[string]engine.ProtocolError{
			"fault":  {Code: -32001, Message: "a fault on purpose"},
			"unseen": {Code: -32603, Message: "Internal error"},
			"salt":   {Code: -32603, Message: `Unknown tool "salt"; did you mean "fault"?`},
		} {
			got := r.until(r.start(tool, `{}`).ID, jobs.Failed)
			if got.Fault == nil || *got.Fault != want || got.Body != nil || got.Message != want.Message {
				t.Errorf("%s came to fault %v, message %q", tool, got.Fault, got.Message)
			}
		}
	})
}

func TestAnswersOfEarlierAttempts(t *testing.T) {
	r := newRig(t, &memory{})
	task, err := r.Start(t.Context(), call("twice", `{}`), answers("ann", "name"), everything)
	if err != nil {
		t.Fatal(err)
	}
	if got := r.until(task.ID, jobs.InputRequired); keys(got) != "sure" {
		t.Errorf("it asks %q, want only sure", keys(got))
	}
}

// TestGuardedAnswers checks that an answer to a guarded question counts only if it was asked.
func TestGuardedAnswers(t *testing.T) {
	stores(t, func(t *testing.T, open func() jobs.Store) {
		r := newRig(t, open())
		task, err := r.Start(t.Context(), call("guarded", `{}`), answers("forged", "may"), everything)
		if err != nil {
			t.Fatal(err)
		}
		if got := r.until(task.ID, jobs.InputRequired); keys(got) != "may" {
			t.Fatalf("it asks %q, want may", keys(got))
		}
		r.answer(task.ID, "asked", "may")
		wantBody(t, r.until(task.ID, jobs.Completed), `{"said":" asked"}`)
	})
}

func TestClientThatCannotAnswer(t *testing.T) {
	r := newRig(t, &memory{})
	task, err := r.Start(t.Context(), call("twice", `{}`), nil, func(c engine.Capability) bool { return c == engine.Tasks })
	if err != nil {
		t.Fatal(err)
	}
	if got := r.until(task.ID, jobs.Completed); !got.IsError {
		t.Errorf("it came to %s", got.Body)
	}
}

func TestTasksOfOthers(t *testing.T) {
	stores(t, func(t *testing.T, open func() jobs.Store) {
		store := open()
		r := newRig(t, store)
		elsewhere := newRig(t, store, func(r *jobs.Runner) { r.Workspace = "/other" })
		id := r.start("both", `{}`).ID
		r.until(id, jobs.InputRequired)
		for name, try := range map[string]func() error{
			"get":             func() error { _, err := r.Get(t.Context(), "eve", id); return err },
			"update":          func() error { return r.Update(t.Context(), "eve", id, answers("x", "a", "b")) },
			"cancel":          func() error { return r.Cancel(t.Context(), "eve", id) },
			"nobody":          func() error { return r.Cancel(t.Context(), "", id) },
			"unknown":         func() error { return r.Cancel(t.Context(), "ann", "0123") },
			"another place":   func() error { _, err := elsewhere.Get(t.Context(), "ann", id); return err },
			"cancel it there": func() error { return elsewhere.Cancel(t.Context(), "ann", id) },
		} {
			if err := try(); err == nil || contract.AsError(err).Kind != contract.NotFound {
				t.Errorf("%s: error %v, want not_found", name, err)
			}
		}
		if got := r.get(id); got.Status != jobs.InputRequired || keys(got) != "a b" {
			t.Errorf("others brought it to %s, asking %q", got.Status, keys(got))
		}
	})
}

func TestCancel(t *testing.T) {
	stores(t, func(t *testing.T, open func() jobs.Store) {
		r := newRig(t, open())
		running := r.start("slow", `{}`).ID
		<-r.began
		r.cancel(running)
		r.until(running, jobs.Cancelled)

		waiting := r.start("both", `{}`).ID
		r.until(waiting, jobs.InputRequired)
		r.cancel(waiting)
		if got := r.get(waiting); got.Status != jobs.Cancelled || len(got.Questions) != 0 {
			t.Errorf("right after it was cancelled a waiting task is %s and asks %q", got.Status, keys(got))
		}
		r.answer(waiting, "too late", "a", "b")

		ended := r.start("wrong", `{}`).ID
		before := r.until(ended, jobs.Completed)
		r.cancel(ended)
		r.answer(ended, "too late", "a")
		if got := r.get(ended); got.Status != jobs.Completed || got.Revision != before.Revision {
			t.Errorf("a final task became %s, revision %d", got.Status, got.Revision)
		}
		if got := r.get(waiting); got.Status != jobs.Cancelled {
			t.Errorf("a cancelled task became %s", got.Status)
		}
	})
}

// TestCancelledTooLate checks that a task that was carried out is completed, although it was
// cancelled.
func TestCancelledTooLate(t *testing.T) {
	r := newRig(t, &memory{})
	id := r.start("deaf", `{}`).ID
	<-r.began
	r.cancel(id)
	close(r.release)
	wantBody(t, r.until(id, jobs.Completed), `{"said":"done"}`)
}

// TestCancelledBeforeItAsks checks that a cancelled task asks no more questions.
func TestCancelledBeforeItAsks(t *testing.T) {
	r := newRig(t, &memory{})
	id := r.start("stubborn", `{}`).ID
	<-r.began
	r.cancel(id)
	close(r.release)
	if got := final(r, id); got.Status != jobs.Cancelled {
		t.Errorf("it is %s", got.Status)
	}
}

func TestExpiry(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &memory{}
		r := newRig(t, store, func(r *jobs.Runner) { r.TTL = time.Minute })
		waiting, running := r.start("both", `{}`).ID, r.start("slow", `{}`).ID
		time.Sleep(time.Minute - time.Microsecond)
		r.get(waiting)
		r.get(running)
		time.Sleep(time.Microsecond)
		_, err := r.Get(t.Context(), "ann", waiting)
		wantKind(t, err, contract.NotFound)
		wantKind(t, r.Update(t.Context(), "ann", waiting, answers("x", "a")), contract.NotFound)
		wantKind(t, r.Cancel(t.Context(), "ann", running), contract.NotFound)

		r.start("wrong", `{}`)
		time.Sleep(2 * time.Second)
		if _, n := store.peek(""); n != 1 {
			t.Errorf("%d tasks are stored, want only the new one", n)
		}
		endsSoon(r)
	})
}

func TestRestartBetweenQuestionAndAnswer(t *testing.T) {
	path := filepath.Join(t.TempDir(), "remit.db")
	before := newRig(t, openFile(t, path))
	task, err := before.Start(t.Context(), call("twice", `{"text":"<hi>"}`), answers("ann", "name"), everything)
	if err != nil {
		t.Fatal(err)
	}
	before.until(task.ID, jobs.InputRequired)
	if err := before.close(); err != nil {
		t.Fatal(err)
	}
	after := newRig(t, openFile(t, path))
	if got := after.get(task.ID); got.Status != jobs.InputRequired || keys(got) != "sure" {
		t.Fatalf("after a restart it is %s and asks %q", got.Status, keys(got))
	}
	after.answer(task.ID, "yes", "sure")
	wantBody(t, after.until(task.ID, jobs.Completed), `{"said":"<hi> ann yes"}`)
}

// TestContractChangedMeanwhile checks that a task fails if its contract changed, because the
// questions and approvals belong to the old one.
func TestContractChangedMeanwhile(t *testing.T) {
	store := &memory{}
	before := newRig(t, store)
	id := before.start("both", `{}`).ID
	before.until(id, jobs.InputRequired)
	after := newRig(t, store, func(r *jobs.Runner) { r.Engine = newEngine(t, newTools(), "1.0.1") })
	after.answer(id, "x", "a", "b")
	if got := after.until(id, jobs.Failed); !strings.Contains(got.Fault.Message, "both has changed") {
		t.Errorf("it failed with %v", got.Fault)
	}
}

func TestRunningIsBounded(t *testing.T) {
	r := newRig(t, &memory{}, func(r *jobs.Runner) { r.Running = 2 })
	first, second := r.start("slow", `{}`).ID, r.start("slow", `{}`).ID
	<-r.began
	<-r.began
	third, fourth := r.start("slow", `{}`).ID, r.start("slow", `{}`).ID
	r.cancel(third)
	r.until(third, jobs.Cancelled)
	if n := r.runs.Load(); n != 2 || r.get(fourth).Status != jobs.Working {
		t.Errorf("%d calls run at once, want 2 and another that works", n)
	}
	r.cancel(first)
	<-r.began
	close(r.release)
	r.until(second, jobs.Completed)
	r.until(fourth, jobs.Completed)
}

func TestTooManyTasks(t *testing.T) {
	r := newRig(t, &memory{})
	var last string
	for range jobs.MaxUnfinished {
		last = r.start("both", `{}`).ID
	}
	_, err := r.Start(t.Context(), call("both", `{}`), nil, everything)
	wantKind(t, err, contract.Limited)
	r.until(last, jobs.InputRequired)
	r.cancel(last)
	r.start("wrong", `{}`)
}

func TestIDsCannotBeGuessed(t *testing.T) {
	r := newRig(t, &memory{})
	a, b := r.start("wrong", `{}`).ID, r.start("wrong", `{}`).ID
	if a == b || len(a) != 32 || strings.Trim(a, "0123456789abcdef") != "" {
		t.Errorf("ids %s and %s, want 128 bits each", a, b)
	}
}

// TestRequestEnds checks that a task does not depend on the request that started it, nor on its
// memory.
func TestRequestEnds(t *testing.T) {
	r := newRig(t, &memory{})
	ctx, cancel := context.WithCancel(t.Context())
	body := []byte(`{"text":"hello"}`)
	args, err := jsontree.Parse(body)
	if err != nil {
		t.Fatal(err)
	}
	task, err := r.Start(ctx, engine.Call{Tool: "both", Args: args, Principal: "ann"}, nil, everything)
	if err != nil {
		t.Fatal(err)
	}
	cancel()
	copy(body, `{"text":"XXXXX"}`) // front ends reuse their buffers
	r.until(task.ID, jobs.InputRequired)
	answer := []byte(`{"a":{"content":{"said":"there"}}}`)
	given, err := jsontree.Parse(answer)
	if err != nil {
		t.Fatal(err)
	}
	if err := r.Update(ctx, "ann", task.ID, map[string]jsontree.Value{"a": given.Field("a")}); err == nil {
		t.Error("an update of a cancelled request was acknowledged")
	}
	if err := r.Update(t.Context(), "ann", task.ID, map[string]jsontree.Value{"a": given.Field("a")}); err != nil {
		t.Fatal(err)
	}
	copy(answer, `{"a":{"content":{"said":"XXXXX"}}}`)
	r.answer(task.ID, "!", "b")
	wantBody(t, r.until(task.ID, jobs.Completed), `{"said":"hello there !"}`)
}

func TestStoreFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &memory{}
		r := newRig(t, store)
		id := r.start("slow", `{"text":"geheim"}`).ID
		<-r.began
		failures := 0
		store.failWith(func(method string) error {
			if method != "swap" || failures == 2 {
				return nil
			}
			failures++
			return errDisk
		})
		close(r.release)
		wantBody(t, r.until(id, jobs.Completed), `{"said":"done"}`)
		if !strings.Contains(r.logged.String(), errDisk.Error()) || strings.Contains(r.logged.String(), "geheim") {
			t.Errorf("the log must contain the cause and no arguments:\n%s", r.logged)
		}
		store.failWith(func(string) error { return errDisk })
		_, err := r.Get(t.Context(), "ann", id)
		wantKind(t, err, contract.Unavailable)
		_, err = r.Start(t.Context(), call("wrong", `{}`), nil, everything)
		wantKind(t, err, contract.Unavailable)
		wantKind(t, r.Update(t.Context(), "ann", id, nil), contract.Unavailable)
	})
}

// TestTaskWithKey checks that a task is carried out once for its key, after any number of attempts.
func TestTaskWithKey(t *testing.T) {
	r := newRig(t, &memory{})
	keys := &idempotencytest.Memory{}
	r.Engine.Idempotency = func(context.Context) (idempotency.Store, error) { return keys, nil }
	keyed := call("write", `{"text":"x"}`)
	keyed.Key = "k"
	for i, want := range []string{"x 1 1", "x 1 1"} {
		task, err := r.Start(t.Context(), keyed, nil, everything)
		if err != nil {
			t.Fatal(err)
		}
		if i == 0 {
			r.until(task.ID, jobs.InputRequired)
			r.answer(task.ID, "1", "a", "b")
		}
		if got := r.until(task.ID, jobs.Completed); string(got.Body) != `{"said":"`+want+`"}` || got.Continuation.Key != "k" {
			t.Errorf("task %d: %s with key %q", i, got.Body, got.Continuation.Key)
		}
	}
	if n := r.runs.Load(); n != 2 { // one run that asked, one with the answer
		t.Errorf("the handler was reached %d times", n)
	}
}
