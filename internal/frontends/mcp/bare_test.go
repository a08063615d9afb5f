package mcp_test

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"remit/internal/contract/jsontree"
	"remit/internal/engine"
	"remit/internal/engine/enginetest"
	"remit/internal/engine/identity"
	"remit/internal/frontends/mcp"
)

const listSetYAML = `name: demo
title: Demo
description: For tests.
shape: plain
defaults:
  version: 1.0.0
  access: public
  deadline: {target: 1s, max: 2m}
  size: {request: 15MiB}
  errors:
    invalid: {when: "-"}
    denied: {when: "-"}
    not_found: {when: "-"}
    conflict: {when: "-"}
    too_large: {when: "-"}
    limited: {when: "-"}
    pending: {when: "-"}
    unavailable: {when: "-"}
    internal: {when: "-"}
`

const listYAML = `name: list
title: List
description: Lists words.
hints: {readOnly: true, destructive: false, idempotent: true, openWorld: false}
input:
  type: object
  properties:
    words: {type: string, description: The words}
    total: {type: integer, default: 0, description: How many there are; 0 is just these}
  required: [words]
  additionalProperties: false
output:
  type: object
  properties:
    result: {type: array, items: {type: string}, description: The words}
  required: [result]
  additionalProperties: false
bare: result
truncate: {list: result, budget: 2KiB}
examples: []
`

type listIn struct {
	Words string `json:"words"`
	Total int64  `json:"total"`
}

type listOut struct {
	Result []string `json:"result"`
	notes  engine.Truncation
}

func (o listOut) Truncation() engine.Truncation { return o.notes }

// Metadata returns remarks for lists that begin with a certain word.
func (o listOut) Metadata() jsontree.Value {
	if len(o.Result) == 0 || o.Result[0] != "remark" {
		return jsontree.Value{}
	}
	return jsontree.Obj(jsontree.M("index", jsontree.Obj(jsontree.M("files", jsontree.Int(3)))), jsontree.M("note", jsontree.Str("caf\u00e9 \U0001F600")))
}

// lister serves one tool that returns a bare list, and records the calls.
type lister struct {
	*mcp.Server
	enginetest.Recorder
}

func newLister(t testing.TB) *lister {
	t.Helper()
	set := enginetest.Load(t, listSetYAML, map[string]string{"list": listYAML})
	list := func(_ context.Context, in listIn) (listOut, error) {
		return listOut{strings.Fields(in.Words[:min(len(in.Words), 100)]), engine.Truncation{Truncated: in.Total != 0, Total: in.Total}}, nil
	}
	l := &lister{}
	e := enginetest.New(t, set, map[string]engine.Handler{"list": engine.Handle(list)}, engine.Options{Audit: &l.Recorder})
	l.Server = &mcp.Server{Engine: e, Version: "1.2.3"}
	return l
}

// overStdio sends one message and returns the response.
func (l *lister) overStdio(t testing.TB, message string) string {
	t.Helper()
	var out bytes.Buffer
	if err := l.ServeStdio(t.Context(), "ann", strings.NewReader(message+"\n"), &out); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

// overHTTP sends a call as a client of the modern era does.
func (l *lister) overHTTP(t testing.TB, message string) string {
	t.Helper()
	face := mcp.NewHTTP(func(*http.Request) identity.Identity { return identity.Identity{Principal: "ann"} }, mcp.Limits{}, time.Now)
	request := httptest.NewRequest(http.MethodPost, "/mcp", strings.NewReader(message))
	request.Header.Set("Content-Type", "application/json")
	for name, value := range map[string]string{"MCP-Protocol-Version": "2026-07-28", "Mcp-Method": "tools/call", "Mcp-Name": "list"} {
		request.Header.Set(name, value)
	}
	w := httptest.NewRecorder()
	face.Endpoint(l.Server).ServeHTTP(w, request)
	return w.Body.String()
}

// TestBareList checks that the text is the list alone, that the structured content has it in a
// field, and that _meta reports truncation and remarks.
func TestBareList(t *testing.T) {
	for _, tc := range []struct{ args, list, meta string }{
		{`{"words":""}`, `[]`, `{}`},
		{`{"words":"a b"}`, `["a","b"]`, `{}`},
		{`{"words":"a b","total":7}`, `["a","b"]`, `{"io.remit/truncated":true,"io.remit/total":7}`},
		{`{"words":"a b","total":-1}`, `["a","b"]`, `{"io.remit/truncated":true}`},
		{`{"words":"remark"}`, `["remark"]`, `{"io.remit/index":{"files":3},"io.remit/note":"café 😀"}`},
		{`{"words":"remark","total":2}`, `["remark"]`, `{"io.remit/truncated":true,"io.remit/total":2,"io.remit/index":{"files":3},"io.remit/note":"café 😀"}`},
	} {
		params := `"name":"list","arguments":` + tc.args
		for name, got := range map[string]string{
			"legacy":         newLister(t).overStdio(t, message(1, "tools/call", `{`+params+`}`)),
			"modern":         newLister(t).overStdio(t, modern(1, "tools/call", params, `{}`)),
			"modern on HTTP": newLister(t).overHTTP(t, modern(1, "tools/call", params, `{}`)),
		} {
			var answer struct {
				Result struct {
					Content    []struct{ Text string }
					Structured json.RawMessage `json:"structuredContent"`
					IsError    bool
					ResultType string
					Meta       map[string]any `json:"_meta"`
				}
			}
			if err := json.Unmarshal([]byte(got), &answer); err != nil || len(answer.Result.Content) != 1 {
				t.Fatalf("%s: %v: %s", name, err, got)
			}
			r := answer.Result
			if r.Content[0].Text != tc.list || string(r.Structured) != `{"result":`+tc.list+`}` || r.IsError {
				t.Errorf("%s: %s", name, got)
			}
			_, signed := r.Meta["io.modelcontextprotocol/serverInfo"]
			if isModern := name != "legacy"; signed != isModern || (r.ResultType == "complete") != isModern {
				t.Errorf("%s: wrong resultType or serverInfo: %s", name, got)
			}
			delete(r.Meta, "io.modelcontextprotocol/serverInfo")
			want := map[string]any{}
			if err := json.Unmarshal([]byte(tc.meta), &want); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(want, r.Meta, cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("%s: _meta: %s", name, diff)
			}
		}
	}
}

// TestBareSchema checks that the published schema is an object, because clients check the
// structured content.
func TestBareSchema(t *testing.T) {
	got := newLister(t).overStdio(t, message(1, "tools/list", `{}`))
	schema, ok := at(got, "result", "tools", "0", "outputSchema").(map[string]any)
	if !ok || schema["type"] != "object" || at(got, "result", "tools", "0", "outputSchema", "properties", "result", "type") != "array" {
		t.Errorf("%s", got)
	}
}

// TestLargeArgument checks an argument of ten megabytes in base64. The audit record keeps only its
// size and hash.
func TestLargeArgument(t *testing.T) {
	params := `"name":"list","arguments":{"words":"` + strings.Repeat(" ", 14<<20) + `"}`
	for name, call := range map[string]func(*lister) string{
		"stdio": func(l *lister) string { return l.overStdio(t, message(1, "tools/call", `{`+params+`}`)) },
		"HTTP":  func(l *lister) string { return l.overHTTP(t, modern(1, "tools/call", params, `{}`)) },
	} {
		l := newLister(t)
		if got := call(l); at(got, "result", "content", "0", "text") != "[]" {
			t.Errorf("%s: %s", name, got)
			continue
		}
		if kept := string(l.Records()[0].Arguments.Append(nil)); kept != `{"words":{"bytes":14680064,"sha256":"73ee9e89494cfaa5"}}` {
			t.Errorf("%s: the record keeps %.200s", name, kept)
		}
	}
}
