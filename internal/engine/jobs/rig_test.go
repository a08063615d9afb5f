package jobs_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"

	"remit/internal/contract"
	"remit/internal/contract/jsontree"
	"remit/internal/engine"
	"remit/internal/engine/approval"
	"remit/internal/engine/audit"
	"remit/internal/engine/enginetest"
	"remit/internal/engine/jobs"
	"remit/internal/stores/sqlstore"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const setYAML = `
name: demo
title: Demo
description: For tests.
shape: coded
defaults:
  version: 1.0.0
  access: caller
  deadline: {target: 1s, max: 5m}
  size: {request: 1KiB}
  errors:
    invalid: {code: 400}
    denied: {code: 403}
    not_found: {code: 404}
    conflict: {code: 409}
    too_large: {code: 413}
    limited: {code: 429}
    pending: {code: 202}
    unavailable: {code: 503}
    internal: {code: 500, message: Internal server error}
`

// toolYAML is the contract of each tool of the set; they differ by their handlers.
const toolYAML = `
name: NAME
title: Demo
description: For tests.
hints: {readOnly: true, destructive: false, idempotent: true, openWorld: false}
input:
  type: object
  properties:
    text: {type: string, maxLength: 100, description: What}
  additionalProperties: false
output:
  type: object
  properties:
    said: {type: string, description: What came of it}
  required: [said]
  additionalProperties: false
examples: []
`

type in struct {
	Text string `json:"text"`
}

type out struct {
	Said string `json:"said"`
}

// tools holds the handlers of the set, and what the tests observe of them.
type tools struct {
	runs    atomic.Int32  // how often a handler was called
	began   chan struct{} // gets one value from each slow call that has begun
	release chan struct{} // lets a slow call end
}

func newTools() *tools { return &tools{began: make(chan struct{}, 100), release: make(chan struct{})} }

func (ts *tools) handlers() map[string]engine.Handler {
	all := map[string]func(context.Context, in) (out, error){
		"twice": twice, "both": both, "write": both, "guarded": guarded, "wrong": wrong, "fault": fault,
		"slow": ts.slow, "later": ts.later, "deaf": ts.uninterruptible, "stubborn": ts.stubborn, "unseen": func(context.Context,
			in,
		) (out, error) {
			return out{}, nil
		},
	}
	handlers := map[string]engine.Handler{}
	for name, handler := range all {
		handlers[name] = engine.Handle(func(ctx context.Context, in in) (out, error) {
			ts.runs.Add(1)
			return handler(ctx, in)
		})
	}
	return handlers
}

// twice asks one question after the other.
func twice(ctx context.Context, in in) (out, error) {
	first, err := engine.Ask(ctx, engine.Form("name", "Who?", engine.YesOrNo()))
	if err != nil {
		return out{}, err
	}
	second, err := engine.Ask(ctx, engine.Form("sure", "Sure?", engine.YesOrNo()))
	if err != nil {
		return out{}, err
	}
	return out{in.Text + said(first, "name") + said(second, "sure")}, nil
}

// both asks two questions together.
func both(ctx context.Context, in in) (out, error) {
	answers, err := engine.Ask(ctx, engine.Form("a", "A?", engine.YesOrNo()), engine.Form("b", "B?", engine.YesOrNo()))
	if err != nil {
		return out{}, err
	}
	return out{in.Text + said(answers, "a") + said(answers, "b")}, nil
}

func guarded(ctx context.Context, in in) (out, error) {
	question := engine.Form("may", "May I?", engine.YesOrNo())
	question.Guarded = true
	answers, err := engine.Ask(ctx, question)
	if err != nil {
		return out{}, err
	}
	return out{in.Text + said(answers, "may")}, nil
}

func wrong(context.Context, in) (out, error) {
	return out{}, contract.Errorf(contract.NotFound, "no such thing")
}

func fault(context.Context, in) (out, error) {
	return out{}, &engine.ProtocolError{Code: -32001, Message: "a fault on purpose"}
}

// slow waits until it is released or cancelled.
func (ts *tools) slow(ctx context.Context, _ in) (out, error) {
	ts.began <- struct{}{}
	select {
	case <-ctx.Done():
		return out{}, ctx.Err()
	case <-ts.release:
		return out{"done"}, nil
	}
}

// later asks first, and then is slow.
func (ts *tools) later(ctx context.Context, in in) (out, error) {
	if _, err := engine.Ask(ctx, engine.Form("go", "Go?", engine.YesOrNo())); err != nil {
		return out{}, err
	}
	return ts.slow(ctx, in)
}

// uninterruptible waits until it is released, even if it is cancelled.
func (ts *tools) uninterruptible(context.Context, in) (out, error) {
	ts.began <- struct{}{}
	<-ts.release
	return out{"done"}, nil
}

// stubborn is uninterruptible, and then asks.
func (ts *tools) stubborn(ctx context.Context, in in) (out, error) {
	if _, err := ts.uninterruptible(ctx, in); err != nil {
		return out{}, err
	}
	return both(ctx, in)
}

func said(answers map[string]jsontree.Value, key string) string {
	answer := answers[key]
	return " " + answer.At("content", "said").Text
}

// rig is a Runner on an engine with the tools.
type rig struct {
	*jobs.Runner
	*tools
	t      *testing.T
	logged *bytes.Buffer
}

// discard is an approver, auditor and observer that ignores everything.
type discard struct{}

func (discard) Pass(context.Context, approval.Subject, approval.Asker) (approval.Passed, error) {
	return approval.Passed{}, nil
}
func (discard) Ready(time.Time) error                            { return nil }
func (discard) Write(context.Context, *audit.Record, bool) error { return nil }
func (discard) Observe(tool, _ string, _ time.Duration) {
	if tool == "demo/unseen" {
		panic("nobody may see this")
	}
}

func newEngine(t *testing.T, ts *tools, version string) *engine.Engine {
	t.Helper()
	handlers := ts.handlers()
	contracts := map[string]string{}
	for name := range handlers {
		text := strings.ReplaceAll(toolYAML, "NAME", name)
		if name == "write" {
			text = strings.Replace(text, "readOnly: true", "readOnly: false", 1)
		}
		contracts[name] = text
	}
	set := enginetest.Load(t, strings.ReplaceAll(setYAML, "1.0.0", version), contracts)
	return enginetest.New(t, set, handlers, engine.Options{Approvals: discard{}, Audit: discard{}, Observer: discard{}})
}

// newRig returns a Runner on a store. It is closed at the end of the test.
func newRig(t *testing.T, store jobs.Store, change ...func(*jobs.Runner)) *rig {
	t.Helper()
	r := &rig{tools: newTools(), t: t, logged: &bytes.Buffer{}}
	r.Runner = &jobs.Runner{
		Engine:    newEngine(t, r.tools, "1.0.0"),
		Store:     func(context.Context) (jobs.Store, error) { return store, nil },
		Workspace: "/w",
		Log:       slog.New(slog.NewTextHandler(r.logged, nil)),
	}
	for _, f := range change {
		f(r.Runner)
	}
	t.Cleanup(func() { r.close() })
	return r
}

// close stops all running tasks.
func (r *rig) close() error {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	return r.Close(ctx)
}

func (r *rig) start(tool, args string) jobs.Task {
	r.t.Helper()
	task, err := r.Start(r.t.Context(), call(tool, args), nil, everything)
	if err != nil {
		r.t.Fatalf("start %s: %v", tool, err)
	}
	return task
}

func call(tool, args string) engine.Call {
	return engine.Call{Tool: tool, Args: parse(args), Principal: "ann", Frontend: "test"}
}

func everything(engine.Capability) bool { return true }

func (r *rig) get(id string) jobs.Task {
	r.t.Helper()
	task, err := r.Get(context.Background(), "ann", id)
	if err != nil {
		r.t.Fatalf("get: %v", err)
	}
	return task
}

// until waits for a status. Another final status ends the test.
func (r *rig) until(id string, want jobs.Status) jobs.Task {
	r.t.Helper()
	for end := time.Now().Add(5 * time.Minute); ; time.Sleep(2 * time.Millisecond) {
		task := r.get(id)
		if task.Status == want {
			return task
		}
		if task.Status.Final() || time.Now().After(end) {
			r.t.Fatalf("the task is %s (%s), want %s", task.Status, task.Message, want)
		}
	}
}

// answer answers each of the questions with text.
func (r *rig) answer(id, text string, keys ...string) {
	r.t.Helper()
	if err := r.Update(r.t.Context(), "ann", id, answers(text, keys...)); err != nil {
		r.t.Fatalf("update: %v", err)
	}
}

func answers(text string, keys ...string) map[string]jsontree.Value {
	all := map[string]jsontree.Value{}
	for _, key := range keys {
		all[key] = jsontree.Obj(jsontree.M("action", jsontree.Str("accept")),
			jsontree.M("content", jsontree.Obj(jsontree.M("said", jsontree.Str(text)))))
	}
	return all
}

func (r *rig) cancel(id string) {
	r.t.Helper()
	if err := r.Cancel(r.t.Context(), "ann", id); err != nil {
		r.t.Fatalf("cancel: %v", err)
	}
}

func keys(task jobs.Task) string {
	var all []string
	for _, q := range task.Questions {
		all = append(all, q.Key)
	}
	return strings.Join(all, " ")
}

func parse(text string) jsontree.Value {
	v, err := jsontree.Parse([]byte(text))
	if err != nil {
		panic(err)
	}
	return v
}

// stores runs a check on every kind of store. Each call of open returns another connection to the
// same tasks, like that of another process.
func stores(t *testing.T, check func(t *testing.T, open func() jobs.Store)) {
	t.Run("memory", func(t *testing.T) {
		store := &memory{}
		check(t, func() jobs.Store { return store })
	})
	t.Run("sqlite", func(t *testing.T) {
		path := filepath.Join(t.TempDir(), "remit.db")
		check(t, func() jobs.Store { return openFile(t, path) })
	})
}

// openFile opens the tasks in a database file, sealed as in production.
func openFile(t *testing.T, path string) jobs.Store {
	t.Helper()
	db, err := sqlstore.Open(t.Context(), "sqlite://"+path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	return &jobs.Sealed{Store: db.Jobs(), Secret: []byte("secret")}
}

func wantKind(t *testing.T, err error, kind contract.Kind) {
	t.Helper()
	if err == nil || contract.AsError(err).Kind != kind {
		t.Errorf("error %v, want one of kind %s", err, kind)
	}
}

func wantBody(t *testing.T, task jobs.Task, want string) {
	t.Helper()
	if string(task.Body) != want {
		t.Errorf("the result of the task is %s, want %s", task.Body, want)
	}
}

var errDisk = errors.New("the disk is on fire")

// concurrently runs the functions at the same time and waits for all.
func concurrently(fs ...func()) {
	var wg sync.WaitGroup
	start := make(chan struct{})
	for _, f := range fs {
		wg.Go(func() {
			<-start
			f()
		})
	}
	close(start)
	wg.Wait()
}
