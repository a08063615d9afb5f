package engine_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"remit/internal/contract"
	"remit/internal/contract/jsontree"
	"remit/internal/engine"
	"remit/internal/engine/audit"
	"remit/internal/engine/enginetest"
	"remit/internal/engine/idempotency"
	"remit/internal/engine/idempotency/idempotencytest"
)

// serve makes an engine of the set demo with one tool.
func serve(t *testing.T, tool string, transactional bool, handler engine.Handler, o engine.Options) *engine.Engine {
	t.Helper()
	set := loadSet(t, tool)
	table := engine.Toolset{Sets: []string{"demo"}, Transactional: transactional, Handlers: map[string]engine.Handler{"note": handler}}
	return enginetest.Serve(t, []*contract.Set{set}, engine.Handlers{Catalog: []*contract.Set{set}, Toolsets: []engine.Toolset{table}}, o)
}

// without removes lines from a contract.
func without(tool string, keys ...string) string {
	lines := strings.Split(tool, "\n")
	return strings.Join(slices.DeleteFunc(lines, func(line string) bool {
		key, _, _ := strings.Cut(line, ":")
		return slices.Contains(keys, key)
	}), "\n")
}

// keyedRig returns a rig whose calls may have keys, with effects inside the store of keys or
// outside.
func keyedRig(t *testing.T, store idempotency.Store, transactional bool) *rig {
	t.Helper()
	r := &rig{}
	r.engine = serve(t, without(toolYAML, "rate"), transactional, engine.Handle(r.note), engine.Options{
		Approvals: r, Audit: r, Observer: r, CheckPath: r.judge, Now: time.Now,
		Idempotency: func(context.Context) (idempotency.Store, error) { return store, nil },
	})
	return r
}

func (r *rig) keyed(t *testing.T, key, args string, change ...func(*engine.Call)) engine.Result {
	t.Helper()
	call := engine.Call{Tool: "note", Args: mustParse(t, args), Principal: "ann", Frontend: "test", Key: key}
	for _, f := range change {
		f(&call)
	}
	result, err := r.engine.Call(t.Context(), call)
	if err != nil {
		t.Fatal(err)
	}
	return result
}

func (r *rig) handled() (times int) {
	for _, step := range r.trail {
		if step == "handler" {
			times++
		}
	}
	return times
}

// insideAndOutside runs a test with effects inside the store of keys, and with effects outside.
func insideAndOutside(t *testing.T, test func(t *testing.T, r *rig, transactional bool)) {
	for name, transactional := range map[string]bool{"inside": true, "outside": false} {
		t.Run(name, func(t *testing.T) { test(t, keyedRig(t, &idempotencytest.Memory{}, transactional), transactional) })
	}
}

// TestRepeat checks that a repeated call gets exactly the stored answer, that nobody is asked and
// nothing is done, and that the audit record says so.
func TestRepeat(t *testing.T) {
	insideAndOutside(t, func(t *testing.T, r *rig, transactional bool) {
		r.handler = func(ctx context.Context, in noteIn) (noteOut, error) {
			if idempotencytest.InTransaction(ctx) != transactional {
				t.Errorf("in the transaction of the key: %v", !transactional)
			}
			return noteOut{Said: "ü <" + in.Text + ">"}, nil
		}
		first := r.keyed(t, "k", good)
		if first.Err != nil || first.Replayed {
			t.Fatalf("first: %s, replayed %v", first.Body, first.Replayed)
		}
		r.handler, r.trail = nil, nil
		// The same, after defaults.
		again := r.keyed(t, "k", `{"times":2,"text":"hi","path":"a.md"}`)
		if string(again.Body) != string(first.Body) || again.Err != nil || !again.Replayed {
			t.Errorf("repeat: %s, replayed %v; want %s", again.Body, again.Replayed, first.Body)
		}
		if diff := cmp.Diff([]string{"path"}, r.trail); diff != "" {
			t.Errorf("trail of the repeat: %s", diff)
		}
		if key := r.records[0].Key; key == "" || r.records[1].Key != key {
			t.Errorf("the records have the keys %q and %q, want one", key, r.records[1].Key)
		}
		if last := r.records[1]; last.Outcome != "replayed" || r.durable[1] || r.observers[1] != "demo/note replayed" {
			t.Errorf("recorded %+v, durable %v, observed %v", last, r.durable, r.observers)
		}
	})
}

// TestKeysArePerCaller checks that a key belongs to its caller, and that every call without a key
// is carried out.
func TestKeysArePerCaller(t *testing.T) {
	insideAndOutside(t, func(t *testing.T, r *rig, _ bool) {
		r.keyed(t, "k", good)
		r.keyed(t, "k2", good)
		r.keyed(t, "k", good, func(c *engine.Call) { c.Principal = "bob" })
		r.keyed(t, "", good)
		r.keyed(t, "", good)
		if n := r.handled(); n != 5 {
			t.Errorf("carried out %d times, want 5", n)
		}
	})
}

func TestKeyOfAnotherCall(t *testing.T) {
	insideAndOutside(t, func(t *testing.T, r *rig, _ bool) {
		r.keyed(t, "k", good)
		got := r.keyed(t, "k", `{"path":"a.md","text":"ho"}`)
		if got.Err == nil || got.Err.Kind != contract.Conflict ||
			got.Err.Message != "Idempotency key k was used for another call; use a new key" {
			t.Errorf("result %s", got.Body)
		}
		if n := r.handled(); n != 1 {
			t.Errorf("carried out %d times", n)
		}
	})
}

// TestBadKeys checks that invalid keys are rejected before anything else happens, and are not
// stored.
func TestBadKeys(t *testing.T) {
	insideAndOutside(t, func(t *testing.T, r *rig, _ bool) {
		for _, key := range []string{" ", "a b", "a\x00", "ü", strings.Repeat("x", 256)} {
			if got := r.keyed(t, key, `{}`); got.Err == nil || got.Err.Kind != contract.Invalid ||
				!strings.Contains(got.Err.Message, "idempotency key must be") {
				t.Errorf("%q: %s", key, got.Body)
			}
		}
	})
}

func TestNoKeyStore(t *testing.T) {
	r := newRig(t, nil)
	got := r.keyed(t, "k", good)
	if got.Err == nil || got.Err.Kind != contract.Invalid || !strings.Contains(got.Err.Message, "does not store idempotency keys") ||
		r.handled() != 0 {
		t.Errorf("result %s", got.Body)
	}
}

// TestFailureIsNotKept checks that a call that certainly failed may be repeated with the same key,
// and is recorded as a failure.
func TestFailureIsNotKept(t *testing.T) {
	for name, fail := range map[string]func(ctx context.Context) error{
		"own words": func(context.Context) error { return contract.Errorf(contract.Unavailable, "The disk is full") },
		"asks": func(ctx context.Context) error {
			_, err := engine.Ask(ctx, engine.Form("a", "b", engine.YesOrNo()))
			return err
		},
		"only suspend": func(context.Context) error { return &engine.SuspendedError{} },
	} {
		t.Run(name, func(t *testing.T) {
			insideAndOutside(t, func(t *testing.T, r *rig, _ bool) {
				r.handler = func(ctx context.Context, _ noteIn) (noteOut, error) { return noteOut{}, fail(ctx) }
				if got := r.keyed(t, "k", good); got.Err == nil && got.Suspended == nil {
					t.Fatalf("first: %s", got.Body)
				}
				r.handler = nil
				if got := r.keyed(t, "k", good); got.Err != nil || got.Replayed {
					t.Errorf("again: %s, replayed %v", got.Body, got.Replayed)
				}
			})
		})
	}
}

// TestUncertainFailure checks that a handler that breaks in a transaction may run again, and that
// one that breaks elsewhere is never run twice, because it may have had effects.
func TestUncertainFailure(t *testing.T) {
	for name, fail := range map[string]func() error{
		"panic":        func() error { panic("kaboom") },
		"fault":        func() error { return errors.New("lost in /home/ann") },
		"broken words": func() error { return contract.Errorf(contract.Internal, "Internal error") },
		"given up":     func() error { return context.DeadlineExceeded },
		"own doubt": func() error {
			return contract.Errorf(contract.Unavailable, "Whether it was written is not known").Because(idempotency.ErrUnknown)
		},
	} {
		t.Run(name, func(t *testing.T) {
			insideAndOutside(t, func(t *testing.T, r *rig, transactional bool) {
				r.handler = func(context.Context, noteIn) (noteOut, error) { return noteOut{}, fail() }
				if got := r.keyed(t, "k", good); got.Err == nil || strings.Contains(string(got.Body), "/home") {
					t.Fatalf("first: %s", got.Body)
				}
				r.handler = nil
				got := r.keyed(t, "k", good)
				if transactional != (got.Err == nil) || !transactional && got.Err.Kind != contract.Unavailable &&
					got.Err.Kind != contract.Conflict {
					t.Errorf("again: %s", got.Body)
				}
			})
		})
	}
}

// TestAnswerThatBreaksItsContractIsNotKept checks that only valid answers are stored.
func TestAnswerThatBreaksItsContractIsNotKept(t *testing.T) {
	r := keyedRig(t, &idempotencytest.Memory{}, true)
	picky := strings.Replace(without(toolYAML, "rate"), "said: {type: string,", "said: {type: string, minLength: 3,", 1)
	r.engine = serve(t, picky, true, engine.Handle(r.note), r.engine.Options)
	r.handler = func(context.Context, noteIn) (noteOut, error) { return noteOut{Said: "x"}, nil }
	first := r.keyed(t, "k", good)
	r.handler = nil
	if again := r.keyed(t, "k", good); first.Err == nil || again.Err != nil || again.Replayed {
		t.Errorf("first %s, then %s", first.Body, again.Body)
	}
}

// TestApprovalIsAskedOnce checks that a repeat needs no approval, and that a first call does, with
// or without a key.
func TestApprovalIsAskedOnce(t *testing.T) {
	insideAndOutside(t, func(t *testing.T, r *rig, _ bool) {
		r.passErr = contract.Errorf(contract.Denied, "no")
		if got := r.keyed(t, "k", good); got.Err == nil || r.handled() != 0 {
			t.Fatalf("not approved: %s", got.Body)
		}
		r.passErr = nil
		if got := r.keyed(t, "k", good); got.Err != nil {
			t.Fatalf("approved: %s", got.Body)
		}
		r.passErr = contract.Errorf(contract.Denied, "no")
		if got := r.keyed(t, "k", good); !got.Replayed {
			t.Errorf("repeat: %s", got.Body)
		}
	})
}

// TestKeyOfContinuedCall checks that a continued call has the key of its first attempt, whether the
// client sends it again or not.
func TestKeyOfContinuedCall(t *testing.T) {
	insideAndOutside(t, func(t *testing.T, r *rig, _ bool) {
		r.handler = func(context.Context, noteIn) (noteOut, error) { return noteOut{}, &engine.SuspendedError{} }
		first := r.keyed(t, "k", good)
		if first.Suspended == nil || first.Suspended.Next.Key != "k" {
			t.Fatalf("first: %+v", first)
		}
		r.handler = nil
		resume := func(c *engine.Call) { c.Continuation = first.Suspended.Next }
		if got := r.keyed(t, "other", good, resume); got.Err == nil || got.Err.Kind != contract.Invalid ||
			!strings.Contains(got.Err.Message, "began with") {
			t.Errorf("another key: %s", got.Body)
		}
		if got := r.keyed(t, "k", good, func(c *engine.Call) { c.Continuation = engine.Continuation{Attempt: 1} }); got.Err == nil ||
			got.Err.Kind != contract.Invalid {
			t.Errorf("a key that the first attempt did not have: %s", got.Body)
		}
		if got := r.keyed(t, "", good, resume); got.Err != nil || got.Replayed {
			t.Errorf("no key: %s", got.Body)
		}
		if got := r.keyed(t, "k", good, resume); !got.Replayed {
			t.Errorf("the same key: %s", got.Body)
		}
	})
}

// TestReadsIgnoreKeys checks that a tool that only reads runs again and returns the current answer.
func TestReadsIgnoreKeys(t *testing.T) {
	r := &rig{}
	checkRead := strings.Replace(toolYAML, "readOnly: false", "readOnly: true", 1)
	r.engine = serve(t, checkRead, true, engine.Handle(r.note),
		engine.Options{Approvals: r, Audit: r, Observer: r, CheckPath: r.judge, Now: time.Now})
	for range 2 {
		if got := r.keyed(t, "k", good); got.Err != nil || got.Replayed {
			t.Errorf("result %s, replayed %v", got.Body, got.Replayed)
		}
	}
	if n := r.handled(); n != 2 {
		t.Errorf("carried out %d times, want 2", n)
	}
}

// failingStore is a store of keys that fails where the test wants it to.
type failingStore struct {
	*idempotencytest.Memory
	find, before, after error
}

func (f *failingStore) Find(ctx context.Context, id idempotency.ID, request string, now time.Time) ([]byte, bool, error) {
	if f.find != nil {
		return nil, false, f.find
	}
	return f.Memory.Find(ctx, id, request, now)
}

func (f *failingStore) Do(ctx context.Context, _ idempotency.ID, _ string, _ time.Time, effect idempotency.Operation) ([]byte, bool, error) {
	return f.do(ctx, effect)
}

func (f *failingStore) DoOutside(ctx context.Context, _ idempotency.ID, _ string, _, _ time.Time,
	effect idempotency.Operation,
) ([]byte, bool, error) {
	return f.do(ctx, effect)
}

func (f *failingStore) do(ctx context.Context, effect idempotency.Operation) ([]byte, bool, error) {
	if f.before != nil {
		return nil, false, f.before
	}
	answer, err := effect(ctx)
	return answer, false, errors.Join(err, f.after)
}

// TestKeyStoreFails checks that the caller learns what is known about the call and what to do.
func TestKeyStoreFails(t *testing.T) {
	down := errors.New("SELECT failed at /home/ann")
	for _, tc := range []struct {
		name                string
		find, before, after error
		transactional       bool
		kind                contract.Kind
		want                string
	}{
		{name: "cannot be read", find: down, kind: contract.Unavailable, want: "so note was not run; try again"},
		{name: "busy", find: idempotency.ErrBusy, kind: contract.Unavailable, want: "key k is still running; repeat it in a moment"},
		{name: "unknown", find: idempotency.ErrUnknown, kind: contract.Conflict, want: "It is unknown whether the call"},
		{name: "cannot claim", before: down, kind: contract.Unavailable, want: "so note was not run; try again"},
		{name: "others were faster", before: idempotency.ErrBusy, transactional: true, kind: contract.Unavailable, want: "still running"},
		{
			name: "another call was faster", after: idempotency.ErrKeyReused, transactional: true, kind: contract.Conflict,
			want: "was used for another call",
		},
		{
			name: "lost inside", after: down, transactional: true, kind: contract.Unavailable,
			want: "It is unknown whether note was carried out; repeat it with the same idempotency key",
		},
		{
			name: "lost outside", after: idempotency.ErrUnknown, kind: contract.Unavailable,
			want: "note was carried out, but its idempotency key could not be stored; do not repeat it",
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			r := keyedRig(t, &failingStore{&idempotencytest.Memory{}, tc.find, tc.before, tc.after}, tc.transactional)
			got := r.keyed(t, "k", good)
			if got.Err == nil || got.Err.Kind != tc.kind || !strings.Contains(got.Err.Message, tc.want) ||
				strings.Contains(string(got.Body), "/home") {
				t.Errorf("result %s, want %s %q", got.Body, tc.kind, tc.want)
			}
			if ran := r.handled() == 1; ran != (tc.after != nil) || r.durable[0] != ran {
				t.Errorf("carried out %v, recorded for good %v", ran, r.durable[0])
			}
		})
	}
}

// TestReplayedMeanwhile checks that a call does nothing if a concurrent one with the same key was
// faster.
func TestReplayedMeanwhile(t *testing.T) {
	store := &idempotencytest.Memory{}
	r := keyedRig(t, replayingStore{store}, true)
	got := r.keyed(t, "k", good)
	if string(got.Body) != `{"said":"theirs"}` || !got.Replayed || r.durable[0] || r.records[0].Outcome != "replayed" {
		t.Errorf("result %s, replayed %v, recorded %+v", got.Body, got.Replayed, r.records)
	}
}

// replayingStore is a store in which a concurrent call is always faster.
type replayingStore struct{ idempotency.Store }

func (replayingStore) Do(ctx context.Context, _ idempotency.ID, _ string, _ time.Time, effect idempotency.Operation) ([]byte, bool, error) {
	_, err := effect(ctx)
	return []byte(`{"said":"theirs"}`), true, err
}

// TestNoPeerInTransaction checks that a handler in a transaction cannot reach its client, because a
// client that does not answer would block the writes of all others.
func TestNoPeerInTransaction(t *testing.T) {
	r := keyedRig(t, &idempotencytest.Memory{}, true)
	r.handler = func(ctx context.Context, _ noteIn) (noteOut, error) {
		engine.Progress(ctx, 1, 2, "half")
		_, err := engine.Ask(ctx, engine.Form("a", "b", engine.YesOrNo()))
		return noteOut{}, err
	}
	got := r.keyed(t, "k", good, func(c *engine.Call) { c.Peer = unreachablePeer{t} })
	if got.Err == nil || got.Err.Kind != contract.Denied || !strings.Contains(got.Err.Message, "cannot be asked") {
		t.Errorf("result %s", got.Body)
	}
}

// unreachablePeer is a client that must not be called.
type unreachablePeer struct{ t *testing.T }

func (d unreachablePeer) Progress(float64, float64, string)        { d.t.Error("Progress was called") }
func (d unreachablePeer) Log(engine.Level, string, jsontree.Value) { d.t.Error("Log was called") }
func (unreachablePeer) Can(engine.Capability) bool                 { return true }
func (unreachablePeer) Background() error                          { return nil }
func (unreachablePeer) Release()                                   {}
func (d unreachablePeer) Ask(context.Context, []engine.Question) (map[string]jsontree.Value, error) {
	d.t.Error("Ask was called")
	return nil, nil
}

// TestConcurrentCallsWithOneKey checks that one call is carried out and that all get its answer.
func TestConcurrentCallsWithOneKey(t *testing.T) {
	insideAndOutside(t, func(t *testing.T, r *rig, transactional bool) {
		var ran atomic.Int64
		handler := engine.Handle(func(context.Context, flatIn) (noteOut, error) {
			return noteOut{Said: fmt.Sprint(ran.Add(1))}, nil
		})
		e := serve(t, without(toolYAML, "rate", "approval", "paths"), transactional, handler,
			engine.Options{Audit: discard{}, Observer: discard{}, Now: time.Now, Idempotency: r.engine.Idempotency})
		args := mustParse(t, good)
		var all sync.WaitGroup
		for range 16 {
			all.Go(func() {
				got, err := e.Call(t.Context(), engine.Call{Tool: "note", Principal: "ann", Key: "k", Args: args})
				busy := got.Err != nil && strings.Contains(got.Err.Message, "still running")
				if err != nil || !busy && string(got.Body) != `{"said":"1"}` {
					t.Errorf("%s, %v", got.Body, err)
				}
			})
		}
		all.Wait()
		if n := ran.Load(); n != 1 {
			t.Errorf("carried out %d times", n)
		}
	})
}

// discard is an auditor and observer that ignores everything. It is safe for concurrent use.
type discard struct{}

func (discard) Ready(time.Time) error                            { return nil }
func (discard) Write(context.Context, *audit.Record, bool) error { return nil }
func (discard) Observe(string, string, time.Duration)            {}

type flatIn struct {
	Path  string `json:"path"`
	Text  string `json:"text"`
	Times int    `json:"times"`
}

// TestHandlerErrorWinsOverDeadline checks that the error of the handler reaches the caller even if
// the deadline has passed: the handler may know what became of its work.
func TestHandlerErrorWinsOverDeadline(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, nil)
		r.handler = func(ctx context.Context, _ noteIn) (noteOut, error) {
			<-ctx.Done()
			return noteOut{}, contract.Errorf(contract.Unavailable, "Nothing was kept of it").Because(ctx.Err())
		}
		if got := r.call(t, good); got.Err == nil || got.Err.Message != "Nothing was kept of it" {
			t.Errorf("result %s", got.Body)
		}
	})
}
