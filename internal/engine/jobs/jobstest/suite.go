// Package jobstest provides a test suite for implementations of jobs.Store.
package jobstest

import (
	"bytes"
	"context"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"remit/internal/contract"
	"remit/internal/contract/contracttest"
	"remit/internal/contract/jsontree"
	"remit/internal/engine"
	"remit/internal/engine/jobs"
)

// Suite tests a store. open returns an empty store that lives until the end of its test.
func Suite(t *testing.T, open func(t *testing.T) jobs.Store) {
	for name, check := range map[string]func(*testing.T, jobs.Store){
		"Add stores every field":           addStores,
		"Add deletes expired tasks":        addDeletesExpired,
		"Add rejects too many":             addRejects,
		"Add counts unfinished tasks only": addCounts,
		"Get rejects unknown ids":          getNothing,
		"Swap stores the state":            swapStores,
		"Swap keeps the fixed fields":      swapKeepsFixedFields,
		"Swap rejects an older revision":   swapOlder,
		"Swap rejects final tasks":         swapFinal,
		"concurrent Swap has one winner":   concurrentSwap,
		"large values stay whole":          largeValues,
		"returned tasks are copies":        tasksAreSeparate,
		"a cancelled call changes nothing": cancelled,
	} {
		t.Run(name, func(t *testing.T) { check(t, open(t)) })
	}
}

// noon is the time of all calls in the suite. Stores have microsecond precision.
var noon = time.Date(2026, 8, 1, 12, 0, 0, 123456000, time.UTC)

// working returns a new task.
func working(id string) jobs.Task {
	return jobs.Task{
		ID: id, Workspace: "/w", Principal: "ada", Tool: "ask", Digest: "sha256:abc", Frontend: "mcp", Client: "client 1.0",
		Arguments: []byte(`{"path":"docs/ü.md"}`), Capabilities: []engine.Capability{engine.Forms, engine.Tasks},
		CreatedAt: noon, TTL: time.Hour, Poll: 500 * time.Millisecond,
		Status: jobs.Working, UpdatedAt: noon,
		Continuation: engine.Continuation{Attempt: 1, Approved: true, Asked: noon.Add(-time.Second), Key: "k-1"},
		Answers:      map[string]jsontree.Value{"before": parse(`{"action":"accept","content":{"n":1.50,"<b>":null}}`)},
		Owner:        "here", LeaseUntil: noon.Add(20 * time.Second),
	}
}

// waiting returns a working task that waits for answers.
func waiting(t jobs.Task) jobs.Task {
	t.Status, t.Message, t.UpdatedAt = jobs.InputRequired, "Waits for 2 answers", noon.Add(time.Second)
	guarded := engine.Form("sure", "Sure?", engine.YesOrNo())
	guarded.Guarded = true
	t.Questions = []engine.Question{engine.Form("name", "Your <name>?", parse(`{"type":"object","properties":{"z":{},"a":{}}}`)), guarded}
	t.Asked = []string{"name", "sure"}
	t.Continuation = engine.Continuation{Attempt: 2, Asked: noon.Add(time.Second), Key: "k-2"}
	t.Owner, t.LeaseUntil = "", time.Time{}
	return t
}

// ended returns a task with a final status.
func ended(t jobs.Task, s jobs.Status) jobs.Task {
	t.Status, t.Questions, t.Owner, t.LeaseUntil = s, nil, "", time.Time{}
	return t
}

func addStores(t *testing.T, s jobs.Store) {
	want := add(t, s, working("a1"))
	want.Revision = 1
	equal(t, get(t, s, "a1"), want)

	bare := jobs.Task{ID: "a2", Arguments: []byte("null"), CreatedAt: noon, UpdatedAt: noon, TTL: time.Hour, Status: jobs.Working}
	add(t, s, bare)
	bare.Revision = 1
	equal(t, get(t, s, "a2"), bare)
}

func addDeletesExpired(t *testing.T, s jobs.Store) {
	for i, ttl := range []time.Duration{time.Minute, time.Minute + time.Microsecond} {
		short := working(fmt.Sprint("a", i))
		short.TTL = ttl
		add(t, s, short)
	}
	later := working("b")
	later.CreatedAt = noon.Add(time.Minute)
	add(t, s, later)
	_, err := s.Get(t.Context(), "a0")
	contracttest.WantError(t, err, contract.NotFound, "a0")
	get(t, s, "a1")
}

func addRejects(t *testing.T, s jobs.Store) {
	for i := range jobs.MaxUnfinished {
		add(t, s, working(fmt.Sprint("a", i)))
	}
	contracttest.WantError(t, s.Add(t.Context(), working("b")), contract.Limited, "200")
	_, err := s.Get(t.Context(), "b")
	contracttest.WantError(t, err, contract.NotFound, "b")

	other := working("c")
	other.Principal = "grace"
	add(t, s, other)
	swap(t, s, ended(get(t, s, "a7"), jobs.Cancelled))
	add(t, s, working("d"))
}

func addCounts(t *testing.T, s jobs.Store) {
	for i := range jobs.MaxUnfinished {
		task := working(fmt.Sprint("a", i))
		add(t, s, task)
		if i%2 == 0 {
			swap(t, s, waiting(get(t, s, task.ID)))
		}
	}
	late := working("b")
	late.CreatedAt = working("").LeaseUntil.Add(-time.Microsecond)
	contracttest.WantError(t, s.Add(t.Context(), late), contract.Limited)
	late.CreatedAt = working("").LeaseUntil // lapsed tasks make room
	add(t, s, late)
}

func getNothing(t *testing.T, s jobs.Store) {
	add(t, s, working("a1"))
	for _, id := range []string{"a", "a11", "A1", "%", ""} {
		_, err := s.Get(t.Context(), id)
		contracttest.WantError(t, err, contract.NotFound, id)
	}
}

func swapStores(t *testing.T, s jobs.Store) {
	add(t, s, working("a1"))
	want := waiting(get(t, s, "a1"))
	want.CancelAsked, want.Seal = true, "seal"
	swap(t, s, want)
	want.Revision = 2
	equal(t, get(t, s, "a1"), want)

	want = ended(want, jobs.Completed)
	want.Body, want.Content, want.IsError = []byte(`{"a":"<ü>"}`), []byte(`[{"type":"text"}]`), true
	swap(t, s, want)
	want.Revision = 3
	equal(t, get(t, s, "a1"), want)

	add(t, s, working("a2"))
	want = ended(get(t, s, "a2"), jobs.Failed)
	want.Fault = &engine.ProtocolError{Code: -32603, Message: "No <luck>"}
	swap(t, s, want)
	want.Revision = 2
	equal(t, get(t, s, "a2"), want)
}

func swapKeepsFixedFields(t *testing.T, s jobs.Store) {
	add(t, s, working("a1"))
	want := get(t, s, "a1")
	changed := want
	changed.Principal, changed.Tool, changed.Arguments = "eve", "other", []byte("{}")
	swap(t, s, changed)
	want.Revision = 2
	equal(t, get(t, s, "a1"), want)
}

func swapOlder(t *testing.T, s jobs.Store) {
	add(t, s, working("a1"))
	old := get(t, s, "a1")
	swap(t, s, waiting(old))
	want := get(t, s, "a1")
	old.Message = "too late"
	refused(t, s, old)
	equal(t, get(t, s, "a1"), want)

	refused(t, s, working("nothing"))
	_, err := s.Get(t.Context(), "nothing")
	contracttest.WantError(t, err, contract.NotFound)
}

func swapFinal(t *testing.T, s jobs.Store) {
	for _, status := range []jobs.Status{jobs.Completed, jobs.Failed, jobs.Cancelled} {
		id := string(status)
		add(t, s, working(id))
		swap(t, s, ended(get(t, s, id), status))
		want := get(t, s, id)
		again := want
		again.Status = jobs.Working
		refused(t, s, again)
		equal(t, get(t, s, id), want)
	}
}

func concurrentSwap(t *testing.T, s jobs.Store) {
	for attempt := range 8 {
		id := fmt.Sprint("a", attempt)
		add(t, s, working(id))
		task := get(t, s, id)
		var winners atomic.Int32
		var winner atomic.Value
		contracttest.Concurrently(16, func(i int) {
			mine := task
			mine.Message = fmt.Sprint("by ", i)
			kept, err := s.Swap(t.Context(), mine)
			if err != nil {
				t.Errorf("swap: %v", err)
			}
			if kept {
				winners.Add(1)
				winner.Store(mine.Message)
			}
		})
		if n := winners.Load(); n != 1 {
			t.Fatalf("attempt %d: %d changes of one revision, want 1", attempt, n)
		}
		if got := get(t, s, id); got.Message != winner.Load() || got.Revision != 2 {
			t.Errorf("kept %q as revision %d, want %q as 2", got.Message, got.Revision, winner.Load())
		}
	}
}

func largeValues(t *testing.T, s jobs.Store) {
	task := working("a1")
	task.Arguments = fmt.Appendf(nil, "%q", strings.Repeat("remit ", 1<<17))
	add(t, s, task)
	done := ended(get(t, s, "a1"), jobs.Completed)
	done.Body = bytes.Repeat([]byte("\x00\xffremit"), 1<<17)
	swap(t, s, done)
	got := get(t, s, "a1")
	if !bytes.Equal(got.Arguments, task.Arguments) || !bytes.Equal(got.Body, done.Body) {
		t.Errorf("%d and %d bytes came back as %d and %d others", len(task.Arguments), len(done.Body), len(got.Arguments), len(got.Body))
	}
}

func tasksAreSeparate(t *testing.T, s jobs.Store) {
	given := working("a1")
	add(t, s, given)
	given.Answers["mine"] = jsontree.Str("not kept")
	taken := get(t, s, "a1")
	want := get(t, s, "a1")
	taken.Answers["mine"] = jsontree.Str("not kept")
	taken.Arguments[0] = 'x'
	equal(t, get(t, s, "a1"), want)
}

func cancelled(t *testing.T, s jobs.Store) {
	add(t, s, working("a1"))
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if kept, err := s.Swap(ctx, waiting(get(t, s, "a1"))); err == nil || kept {
		t.Errorf("a cancelled change: kept %v, error %v", kept, err)
	}
	if err := s.Add(ctx, working("a2")); err == nil {
		t.Error("a cancelled task was acknowledged")
	}
	if got := get(t, s, "a1"); got.Status != jobs.Working {
		t.Errorf("a cancelled change was kept: %s", got.Status)
	}
}

func parse(text string) jsontree.Value {
	v, err := jsontree.Parse([]byte(text))
	if err != nil {
		panic(err)
	}
	return v
}

func add(t *testing.T, s jobs.Store, task jobs.Task) jobs.Task {
	t.Helper()
	if err := s.Add(t.Context(), task); err != nil {
		t.Fatalf("add %s: %v", task.ID, err)
	}
	return task
}

func get(t *testing.T, s jobs.Store, id string) jobs.Task {
	t.Helper()
	got, err := s.Get(t.Context(), id)
	if err != nil {
		t.Fatalf("get %s: %v", id, err)
	}
	return got
}

func swap(t *testing.T, s jobs.Store, task jobs.Task) {
	t.Helper()
	if kept, err := s.Swap(t.Context(), task); err != nil || !kept {
		t.Fatalf("swap %s: kept %v, error %v", task.ID, kept, err)
	}
}

func refused(t *testing.T, s jobs.Store, task jobs.Task) {
	t.Helper()
	if kept, err := s.Swap(t.Context(), task); err != nil || kept {
		t.Errorf("swap %s: kept %v, error %v, want neither", task.ID, kept, err)
	}
}

// equal compares the values of two tasks, not their representation in memory.
func equal(t *testing.T, got, want jobs.Task) {
	t.Helper()
	sameJSON := cmp.Comparer(func(a, b jsontree.Value) bool { return string(a.Append(nil)) == string(b.Append(nil)) })
	if diff := cmp.Diff(want, got, sameJSON, cmpopts.EquateEmpty()); diff != "" {
		t.Errorf("differs (-want +got):\n%s", diff)
	}
}
