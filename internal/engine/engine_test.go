package engine_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"remit/internal/contract"
	"remit/internal/contract/jsontree"
	"remit/internal/engine"
	"remit/internal/engine/approval"
	"remit/internal/engine/audit"
	"remit/internal/engine/enginetest"
	"remit/internal/engine/ratelimit"
)

// setYAML and toolYAML define a small toolset whose only tool has every kind of rule.
const setYAML = `
name: demo
title: Demo
description: For tests.
shape: coded
defaults:
  version: 1.0.0
  access: caller
  deadline: {target: 1s, max: 2s}
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

const toolYAML = `
name: note
title: Note
description: Keeps a note.
summary: "Note {text} in {path}[, {times} times]"
target: "{path}"
hints: {readOnly: false, destructive: false, idempotent: false, openWorld: false}
rate: 3/min
approval: {required: true, window: 1h}
size: {request: 1KiB, args: {text: 16B}}
paths: [{arg: path, deny: ["**/.env"]}]
input:
  type: object
  properties:
    path: {type: string, description: Where}
    text: {type: string, maxLength: 100, description: What}
    times: {type: integer, default: 2, description: How often}
  required: [path, text]
  additionalProperties: false
output:
  type: object
  properties:
    said: {type: string, description: What was noted}
  required: [said]
  additionalProperties: false
examples: []
`

type noteIn struct {
	Path  engine.Path `json:"path"`
	Text  string      `json:"text"`
	Times int         `json:"times"`
}

func (in noteIn) Check() error {
	if in.Text == "rude" {
		return contract.Errorf(contract.Invalid, "be polite")
	}
	return nil
}

type noteOut struct {
	Said string `json:"said"`
}

// rig is an engine with fakes that record how they are called.
type rig struct {
	engine  *engine.Engine
	trail   []string
	records []audit.Record
	durable []bool
	asked   approval.Subject // the last one that passed, or did not
	logged  bytes.Buffer

	handler   func(ctx context.Context, in noteIn) (noteOut, error)
	passErr   error
	auditErr  error
	readyErr  error
	observers []string
}

func (r *rig) Pass(_ context.Context, s approval.Subject, _ approval.Asker) (approval.Passed, error) {
	r.trail = append(r.trail, "approval "+string(s.Arguments))
	r.asked = s
	return approval.Passed{}, r.passErr
}

func (r *rig) Ready(time.Time) error { return r.readyErr }

func (r *rig) Write(_ context.Context, record *audit.Record, durable bool) error {
	r.records = append(r.records, *record)
	r.durable = append(r.durable, durable)
	return r.auditErr
}

func (r *rig) Observe(tool, outcome string, _ time.Duration) {
	r.observers = append(r.observers, tool+" "+outcome)
}

type fakeFile struct{ name string }

func (f fakeFile) Name() string                            { return f.name }
func (fakeFile) Open() (io.ReadCloser, fs.FileInfo, error) { return nil, nil, fs.ErrNotExist }

func (fakeFile) ReadAll() ([]byte, fs.FileInfo, error) { return nil, nil, fs.ErrNotExist }
func (r *rig) note(ctx context.Context, in noteIn) (noteOut, error) {
	r.trail = append(r.trail, "handler")
	if r.handler != nil {
		return r.handler(ctx, in)
	}
	return noteOut{Said: strings.Repeat(in.Text, in.Times) + " in " + in.Path.Name()}, nil
}

func (r *rig) judge(name string, policy *contract.PathPolicy) (engine.File, error) {
	r.trail = append(r.trail, "path")
	if policy.Denies(name) {
		return nil, contract.Errorf(contract.Denied, "Access denied: %s", name)
	}
	return fakeFile{name}, nil
}

func loadSet(t *testing.T, tool string) *contract.Set {
	t.Helper()
	return loadSetOf(t, setYAML, tool)
}

func loadSetOf(t *testing.T, set, tool string) *contract.Set {
	t.Helper()
	return enginetest.Load(t, set, map[string]string{"note": tool})
}

func newRig(t *testing.T, change func(*engine.Options)) *rig {
	t.Helper()
	r := &rig{}
	set := loadSet(t, toolYAML)
	o := engine.Options{
		Limiter: ratelimit.NewMemory(), Approvals: r, Audit: r, Observer: r, CheckPath: r.judge, Now: time.Now,
		Log: slog.New(slog.NewTextHandler(&r.logged, nil)),
	}
	if change != nil {
		change(&o)
	}
	r.engine = enginetest.New(t, set, map[string]engine.Handler{"note": engine.Handle(r.note)}, o)
	return r
}

func (r *rig) call(t *testing.T, args string) engine.Result {
	t.Helper()
	return r.callAs(t, context.Background(), "ann", args)
}

func (r *rig) callAs(t *testing.T, ctx context.Context, principal, args string) engine.Result {
	t.Helper()
	tree, err := jsontree.Parse([]byte(args))
	if err != nil {
		t.Fatal(err)
	}
	result, err := r.engine.Call(ctx, engine.Call{Tool: "note", Args: tree, Principal: principal, Frontend: "test"})
	if err != nil {
		t.Fatal(err)
	}
	return result
}

const good = `{"path":"a.md","text":"hi"}`

func TestGoodCall(t *testing.T) {
	r := newRig(t, nil)
	got := r.call(t, good)
	if want := `{"said":"hihi in a.md"}`; string(got.Body) != want || got.Err != nil {
		t.Errorf("answer %s (%v), want %s", got.Body, got.Err, want)
	}
	want := []string{"path", `approval {"path":"a.md","text":"hi","times":2}`, "handler"}
	if diff := cmp.Diff(want, r.trail); diff != "" {
		t.Errorf("trail: %s", diff)
	}
	if len(r.records) != 1 || r.records[0].Outcome != "ok" || !r.durable[0] {
		t.Errorf("records %+v durable %v, want one durable ok", r.records, r.durable)
	}
	if diff := cmp.Diff([]string{"demo/note ok"}, r.observers); diff != "" {
		t.Errorf("observed: %s", diff)
	}
}

// TestOrder breaks several rules at once and checks that the first one in the policy answers.
func TestOrder(t *testing.T) {
	for _, tc := range []struct {
		name, args, principal, want string
		readOnly                    bool
		passErr                     error
		trail                       []string
	}{
		{name: "read-only before identity", readOnly: true, args: `{}`, want: "changes data, but this server is read-only"},
		{name: "identity before schema", args: `{}`, want: "requires an authenticated caller"},
		{
			name: "request size before schema", principal: "ann", args: `{"bad":"` + strings.Repeat("x", 2000) + `"}`,
			want: "at most 1024 bytes",
		},
		{name: "schema before path", principal: "ann", args: `{"path":".env","text":1}`, want: "text must be a string"},
		{name: "argument size before path", principal: "ann", args: `{"path":".env","text":"12345678901234567"}`, want: "text is 17 bytes"},
		{
			name: "path before own checks", principal: "ann", args: `{"path":".env","text":"rude"}`, want: "Access denied",
			trail: []string{"path"},
		},
		{
			name: "own checks before approval", principal: "ann", args: `{"path":"a","text":"rude"}`, want: "be polite",
			trail: []string{"path"},
		},
		{
			name: "approval before handler", principal: "ann", args: good, passErr: contract.Errorf(contract.Denied, "no"), want: "no",
			trail: []string{"path", `approval {"path":"a.md","text":"hi","times":2}`},
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			r := newRig(t, func(o *engine.Options) { o.ReadOnly = tc.readOnly })
			r.passErr = tc.passErr
			got := r.callAs(t, context.Background(), tc.principal, tc.args)
			if got.Err == nil || !strings.Contains(got.Err.Message, tc.want) {
				t.Errorf("error %v, want %q in it", got.Err, tc.want)
			}
			if diff := cmp.Diff(tc.trail, r.trail); diff != "" {
				t.Errorf("trail: %s", diff)
			}
			if len(r.durable) != 1 || r.durable[0] {
				t.Errorf("durable = %v: a refused call leaves one record, which need not be durable", r.durable)
			}
		})
	}
}

func TestRateComesBeforeEverythingElse(t *testing.T) {
	r := newRig(t, nil)
	for range 3 {
		r.call(t, `{"wrong":true}`)
	}
	got := r.call(t, good)
	if got.Err == nil || got.Err.Kind != contract.Limited || !strings.Contains(string(got.Body), `"code":429`) ||
		!strings.Contains(string(got.Body), `"retry_after":60`) {
		t.Errorf("fourth call: %s", got.Body)
	}
	if other := r.callAs(t, context.Background(), "bob", good); other.Err != nil {
		t.Errorf("another caller is limited too: %s", other.Body)
	}
}

// late is a limiter that adds what a call was late.
type late struct{}

func (late) Allow(context.Context, string, ratelimit.Rate, time.Time) (time.Duration, error) {
	return time.Minute + time.Millisecond, nil
}

func TestNobodyIsToldToWaitLongerThanThePeriod(t *testing.T) {
	r := newRig(t, func(o *engine.Options) { o.Limiter = late{} })
	if got := r.call(t, good); !strings.Contains(string(got.Body), `"retry_after":60`) {
		t.Errorf("got %s", got.Body)
	}
}

func TestPanicIsRecovered(t *testing.T) {
	r := newRig(t, nil)
	r.handler = func(context.Context, noteIn) (noteOut, error) { panic("kaboom at /home/ann") }
	got := r.call(t, good)
	if want := `{"error":{"code":500,"message":"Internal server error"}}`; string(got.Body) != want {
		t.Errorf("body %s, want %s", got.Body, want)
	}
	if !strings.Contains(r.logged.String(), "kaboom") || !strings.Contains(r.logged.String(), "engine_test.go") {
		t.Error("the log has neither the panic nor its stack")
	}
	r.handler = nil
	if after := r.call(t, good); after.Err != nil {
		t.Errorf("the next call fails: %s", after.Body)
	}
}

func TestUnexpectedErrorsAreHidden(t *testing.T) {
	r := newRig(t, nil)
	r.handler = func(context.Context, noteIn) (noteOut, error) {
		return noteOut{}, fmt.Errorf("open /home/ann/db: SELECT failed: %w", fs.ErrPermission)
	}
	if got := r.call(t, good); strings.Contains(string(got.Body), "ann") || got.Err.Kind != contract.Internal {
		t.Errorf("body %s", got.Body)
	}
	if !strings.Contains(r.logged.String(), "SELECT failed") {
		t.Error("the cause is not in the log")
	}
}

func TestAnswerThatBreaksItsContract(t *testing.T) {
	r := newRig(t, nil)
	set := loadSet(t, strings.Replace(toolYAML, "said: {type: string,", "said: {type: string, minLength: 500,", 1))
	e, err := engine.New([]*contract.Set{set}, engine.Handlers{
		Catalog:  []*contract.Set{set},
		Toolsets: []engine.Toolset{{Sets: []string{"demo"}, Handlers: map[string]engine.Handler{"note": engine.Handle(r.note)}}},
	}, r.engine.Options)
	if err != nil {
		t.Fatal(err)
	}
	r.engine = e
	if got := r.call(t, good); got.Err == nil || got.Err.Kind != contract.Internal ||
		!strings.Contains(got.Err.Cause.Error(), "said must have at least 500 characters") {
		t.Errorf("result %s, cause %v", got.Body, got.Err)
	}
}

func TestDeadline(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, nil)
		r.handler = func(ctx context.Context, _ noteIn) (noteOut, error) {
			<-ctx.Done()
			return noteOut{}, ctx.Err()
		}
		start := time.Now()
		got := r.call(t, good)
		if took := time.Since(start); took != 2*time.Second {
			t.Errorf("took %s, want the contract's maximum of 2s", took)
		}
		if got.Err.Kind != contract.Unavailable || !strings.Contains(got.Err.Message, "longer than 2s") {
			t.Errorf("result %s", got.Body)
		}
	})
}

func TestCancelled(t *testing.T) {
	r := newRig(t, nil)
	ctx, cancel := context.WithCancel(context.Background())
	r.handler = func(ctx context.Context, _ noteIn) (noteOut, error) {
		cancel()
		<-ctx.Done()
		return noteOut{}, ctx.Err()
	}
	if got := r.callAs(t, ctx, "ann", good); got.Err == nil || got.Err.Message != "The call was cancelled" {
		t.Errorf("result %s", got.Body)
	}
}

func TestAuditFailure(t *testing.T) {
	r := newRig(t, nil)
	r.auditErr = errors.New("disk full")
	if got := r.call(t, good); got.Err == nil || !strings.Contains(got.Err.Message, "do not repeat it") {
		t.Errorf("a write without record was acknowledged: %s", got.Body)
	}
	if got := r.call(t, `{"path":".env","text":"x"}`); got.Err.Kind != contract.Denied {
		t.Errorf("a refusal turned into %s because its record was not kept", got.Body)
	}
}

func TestNoWriteWithoutRecord(t *testing.T) {
	r := newRig(t, nil)
	r.readyErr = errors.New("disk full at /home/ann")
	got := r.call(t, good)
	if got.Err == nil || got.Err.Kind != contract.Unavailable || !strings.Contains(got.Err.Message, "was not run") ||
		strings.Contains(string(got.Body), "/home") {
		t.Errorf("result %s", got.Body)
	}
	if len(r.trail) != 1 {
		t.Errorf("trail %v: want no question and no call of the handler", r.trail)
	}
}

func TestUnknownTool(t *testing.T) {
	r := newRig(t, nil)
	_, err := r.engine.Call(context.Background(), engine.Call{Tool: "notes"})
	if err == nil || !strings.Contains(err.Error(), `did you mean "note"?`) {
		t.Errorf("error %v", err)
	}
}

func TestReadOnlyListsNoWriters(t *testing.T) {
	r := newRig(t, func(o *engine.Options) { o.ReadOnly = true })
	if tools := r.engine.Tools(); len(tools) != 0 {
		t.Errorf("%d tools listed, want none", len(tools))
	}
}

type missingIn struct {
	Path engine.Path `json:"path"`
	Text string      `json:"text"`
}

type wrongIn struct {
	Path  engine.Path `json:"path"`
	Text  int         `json:"text"`
	Times int         `json:"times"`
}

type plainPathIn struct {
	Path  string `json:"path"`
	Text  string `json:"text"`
	Times int    `json:"times"`
}

type surplusOut struct {
	Said string `json:"said"`
	Loud bool   `json:"loud"`
}

func handle[In, Out any]() engine.Handler {
	return engine.Handle(func(context.Context, In) (Out, error) { var out Out; return out, nil })
}

// TestBinding checks that binding fails for a field that only the contract or only the handler has.
func TestBinding(t *testing.T) {
	set := loadSet(t, toolYAML)
	for _, tc := range []struct {
		name    string
		handler engine.Handler
		want    string
	}{
		{
			"field missing in struct", handle[missingIn, noteOut](),
			`demo/note: the contract's input has "times", but engine_test.missingIn has no such field`,
		},
		{"type differs", handle[wrongIn, noteOut](), `demo/note: input "text" is string in the contract, but int in engine_test.wrongIn`},
		{
			"path without policy", handle[plainPathIn, noteOut](),
			`demo/note: input "path" must be an engine.Path exactly if the contract has a path policy for it`,
		},
		{
			"field missing in contract", handle[noteIn, surplusOut](),
			`demo/note: engine_test.surplusOut has the field "loud", but the contract's output does not`,
		},
		{
			"output missing in struct", handle[noteIn, struct{}](),
			`demo/note: the contract's output has "said", but struct {} has no such field`,
		},
		{
			"not a struct", handle[string, noteOut](),
			`demo/note: the handler must accept and return a struct, not string and engine_test.noteOut`,
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			_, err := engine.New([]*contract.Set{set}, engine.Handlers{
				Catalog:  []*contract.Set{set},
				Toolsets: []engine.Toolset{{Sets: []string{"demo"}, Handlers: map[string]engine.Handler{"note": tc.handler}}},
			}, engine.Options{})
			if err == nil || err.Error() != tc.want {
				t.Errorf("error %v\nwant  %s", err, tc.want)
			}
		})
	}
}

func TestTableAndContractsAgree(t *testing.T) {
	set := loadSet(t, toolYAML)
	ok := handle[noteIn, noteOut]()
	for _, tc := range []struct {
		name  string
		table map[string]engine.Handler
		sets  []string
		want  string
	}{
		{
			"no handler",
			map[string]engine.Handler{},
			[]string{"demo"},
			"demo/note: the contract has no handler; add a line to the toolset's table",
		},
		{
			"no contract",
			map[string]engine.Handler{"note": ok, "sing": ok},
			[]string{"demo"},
			"demo/sing: the handler has no contract; write sing.yaml",
		},
		{"no toolset", map[string]engine.Handler{"note": ok}, []string{"other"}, "demo/note: no toolset serves the set demo"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			_, err := engine.New([]*contract.Set{set}, engine.Handlers{
				Catalog: []*contract.Set{set}, Toolsets: []engine.Toolset{{Sets: tc.sets, Handlers: tc.table}},
			}, engine.Options{})
			if err == nil || err.Error() != tc.want {
				t.Errorf("error %v\nwant  %s", err, tc.want)
			}
		})
	}
}
