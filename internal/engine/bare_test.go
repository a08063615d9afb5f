package engine_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"remit/internal/contract"
	"remit/internal/engine"
	"remit/internal/engine/idempotency"
	"remit/internal/engine/idempotency/idempotencytest"
)

// bareYAML is a tool whose answer is a bare list.
const bareYAML = `
name: note
title: List
description: Lists numbers.
hints: {readOnly: true, destructive: false, idempotent: true, openWorld: false}
input:
  type: object
  properties:
    count: {type: integer, description: How many there are}
    most: {type: integer, default: 1000, description: How many to give}
  required: [count]
  additionalProperties: false
output:
  type: object
  properties:
    result: {type: array, items: {type: string}, description: The numbers}
  required: [result]
  additionalProperties: false
bare: result
truncate: {list: result, budget: 2KiB}
examples: []
`

type bareIn struct {
	Count int `json:"count"`
	Most  int `json:"most"`
}

type bareOut struct {
	Result []string `json:"result"`
	notes  engine.Truncation
}

func (o bareOut) Truncation() engine.Truncation { return o.notes }

// numbers returns as many numbers as it may. It reports the total up to 500.
func numbers(_ context.Context, in bareIn) (bareOut, error) {
	var out bareOut
	for i := range min(in.Count, in.Most) {
		out.Result = append(out.Result, fmt.Sprintf("%08d", i))
	}
	if in.Count > in.Most {
		out.notes = engine.Truncation{Truncated: true, Total: int64(in.Count)}
	}
	if in.Count > 500 {
		out.notes.Total = -1
	}
	return out, nil
}

func quiet() engine.Options {
	return engine.Options{Audit: discard{}, Observer: discard{}, Now: time.Now}
}

// TestBareAnswer checks that the body is the bare list, that the structured answer has it in its
// field, and that notes report a truncated list.
func TestBareAnswer(t *testing.T) {
	e := serve(t, bareYAML, false, engine.Handle(numbers), quiet())
	fit := (2<<10 - len(`{"result":[]}`) + len(",")) / len(`"00000000",`)
	for _, tc := range []struct {
		name, args string
		want       engine.Truncation
	}{
		{"nothing", `{"count":0}`, engine.Truncation{}},
		{"all", `{"count":3}`, engine.Truncation{Shown: 3}},
		{"all that fits", fmt.Sprintf(`{"count":%d}`, fit), engine.Truncation{Shown: fit}},
		{"over the budget", fmt.Sprintf(`{"count":%d}`, fit+1), engine.Truncation{Truncated: true, Total: int64(fit) + 1, Shown: fit}},
		{"over the handler's limit", `{"count":9,"most":4}`, engine.Truncation{Truncated: true, Total: 9, Shown: 4}},
		{"over both", `{"count":400,"most":300}`, engine.Truncation{Truncated: true, Total: 400, Shown: fit}},
		{"over both, by an unknown number", `{"count":501,"most":300}`, engine.Truncation{Truncated: true, Total: -1, Shown: fit}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			result, err := e.Call(t.Context(), engine.Call{Tool: "note", Principal: "ann", Args: mustParse(t, tc.args)})
			if err != nil || result.Err != nil {
				t.Fatalf("%s, %v", result.Body, err)
			}
			if diff := cmp.Diff(tc.want, result.Truncation); diff != "" {
				t.Error(diff)
			}
			want := make([]string, tc.want.Shown)
			for i := range want {
				want[i] = fmt.Sprintf(`"%08d"`, i)
			}
			list := "[" + strings.Join(want, ",") + "]"
			if string(result.Body) != list || string(result.Structured) != `{"result":`+list+`}` {
				t.Errorf("the body is %s\nthe structure is %s\nwant %s", result.Body, result.Structured, list)
			}
		})
	}
}

// TestBareFailure checks that a failure has the shape of the set, and no structured answer.
func TestBareFailure(t *testing.T) {
	e := serve(t, bareYAML, false, engine.Handle(numbers), quiet())
	result, err := e.Call(t.Context(), engine.Call{Tool: "note", Principal: "ann"})
	if err != nil || result.Err == nil || !strings.HasPrefix(string(result.Body), `{"error":{"code":400,`) || result.Structured != nil {
		t.Errorf("%s with the structure %s, %v", result.Body, result.Structured, err)
	}
}

// TestBareRepeat checks that a replayed call returns both the body and the structured answer.
func TestBareRepeat(t *testing.T) {
	type out struct {
		Result []string `json:"result"`
	}
	keys, calls := &idempotencytest.Memory{}, 0
	o := quiet()
	o.Idempotency = func(context.Context) (idempotency.Store, error) { return keys, nil }
	writes := strings.Replace(without(bareYAML, "truncate"), "readOnly: true", "readOnly: false", 1)
	e := serve(t, writes, false, engine.Handle(func(context.Context, bareIn) (out, error) {
		calls++
		return out{[]string{"a"}}, nil
	}), o)
	for i := range 2 {
		result, err := e.Call(t.Context(), engine.Call{Tool: "note", Principal: "ann", Args: mustParse(t, `{"count":1}`), Key: "k"})
		if err != nil || string(result.Body) != `["a"]` || string(result.Structured) != `{"result":["a"]}` || result.Replayed != (i == 1) {
			t.Errorf("call %d: %s, %s, %v", i, result.Body, result.Structured, err)
		}
	}
	if calls != 1 {
		t.Errorf("carried out %d times", calls)
	}
}

// TestNotesNeedTruncation checks that binding fails for notes on a list that the contract does not
// truncate, because nobody would get them.
func TestNotesNeedTruncation(t *testing.T) {
	for name, text := range map[string]string{
		"nothing is cut": without(bareYAML, "truncate"),
		"a cursor goes on": strings.NewReplacer(
			"  required: [result]", "    next: {type: string, description: Where to go on}\n  required: [result]",
			"bare: result\n", "", "list: result,", "list: result, cursor: next,",
		).Replace(bareYAML),
	} {
		t.Run(name, func(t *testing.T) {
			set := loadSet(t, text)
			_, err := engine.New([]*contract.Set{set}, engine.Handlers{
				Catalog: []*contract.Set{set},
				Toolsets: []engine.Toolset{{
					Sets:     []string{"demo"},
					Handlers: map[string]engine.Handler{"note": handle[bareIn, pagedNotes]()},
				}},
			}, engine.Options{})
			const want = "demo/note: engine_test.pagedNotes is an engine.TruncationReporter, " +
				"but the contract does not say which list is cut without a cursor"
			if err == nil || err.Error() != want {
				t.Errorf("error %v\nwant  %s", err, want)
			}
		})
	}
}

// pagedNotes can be truncated with a cursor, and has notes too.
type pagedNotes struct {
	Result []string `json:"result"`
	Next   string   `json:"next"`
}

func (p pagedNotes) Cut(int) any                 { return p }
func (pagedNotes) Truncation() engine.Truncation { return engine.Truncation{} }

// TestCallerOf checks that handlers, resource providers and prompts can get the caller, and other
// code cannot.
func TestCallerOf(t *testing.T) {
	want := engine.Caller{Principal: "ann", Client: "a client"}
	var seen []engine.Caller
	see := func(ctx context.Context) { seen = append(seen, engine.CallerOf(ctx)) }
	r := &rig{handler: func(ctx context.Context, _ noteIn) (noteOut, error) { see(ctx); return noteOut{}, nil }}
	provider := &textProvider{scheme: "x", read: func(ctx context.Context, _ string) ([]engine.Contents,
		error,
	) {
		see(ctx)
		return nil, nil
	}}
	prompt := engine.Prompt{Name: "p", Render: func(ctx context.Context, _ map[string]string) ([]engine.Message,
		error,
	) {
		see(ctx)
		return nil, nil
	}}
	if err := r.build(t, false, []engine.ResourceProvider{provider}, []engine.Prompt{prompt}); err != nil {
		t.Fatal(err)
	}
	who := engine.Requester{Principal: want.Principal, Client: want.Client}
	result, err := r.engine.Call(t.Context(), engine.Call{
		Tool: "note", Args: mustParse(t, good), Principal: want.Principal,
		Client: want.Client,
	})
	_, readErr := r.engine.Read(t.Context(), who, "x://1")
	_, _, promptErr := r.engine.StartPrompt(t.Context(), who, "p", nil)
	if err != nil || result.Err != nil || readErr != nil || promptErr != nil {
		t.Fatalf("%v %v %v %v", err, result.Err, readErr, promptErr)
	}
	if diff := cmp.Diff([]engine.Caller{want, want, want}, seen); diff != "" {
		t.Error(diff)
	}
	if got := engine.CallerOf(t.Context()); got != (engine.Caller{}) {
		t.Errorf("outside of a call: %v", got)
	}
}

// TestLostRecordOfContent checks that a write fails if its audit record is lost, also if the answer
// is content.
func TestLostRecordOfContent(t *testing.T) {
	text := strings.Replace(without(bareYAML, "bare", "truncate"), "readOnly: true", "readOnly: false", 1)
	before, _, _ := strings.Cut(text, "output:\n")
	r := &rig{auditErr: context.DeadlineExceeded}
	e := serve(t, before+"content: true\nexamples: []\n", false, engine.Handle(func(context.Context, bareIn) (engine.Content, error) {
		return engine.Content{}, nil
	}), engine.Options{Audit: r, Observer: r, Now: time.Now})
	result, err := e.Call(t.Context(), engine.Call{Tool: "note", Principal: "ann", Args: mustParse(t, `{"count":1}`)})
	if err != nil || result.Err == nil || result.Content != nil || result.Structured != nil {
		t.Errorf("%s with the content %s, %v", result.Body, result.Content, err)
	}
}
