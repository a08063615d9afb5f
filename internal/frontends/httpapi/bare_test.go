package httpapi_test

import (
	"context"
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"remit/internal/contract/jsontree"
	"remit/internal/engine"
	"remit/internal/engine/enginetest"
	"remit/internal/engine/stats"
	"remit/internal/frontends/httpapi"
)

const listYAML = `name: list
title: List
description: Lists words.
hints: {readOnly: true, destructive: false, idempotent: true, openWorld: false}
size: {request: 15MiB}
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

func list(_ context.Context, in listIn) (listOut, error) {
	return listOut{strings.Fields(in.Words[:min(len(in.Words), 100)]), engine.Truncation{Truncated: in.Total != 0, Total: in.Total}}, nil
}

// listRig is the API with one tool that returns a bare list.
func listRig(t testing.TB) *rig {
	t.Helper()
	r := &rig{stats: &stats.Stats{}, mux: http.NewServeMux()}
	e := enginetest.New(t, enginetest.Load(t, enginetest.PublicSet, map[string]string{"list": listYAML}), map[string]engine.Handler{"list": engine.Handle(list)},
		engine.Options{Audit: r, Observer: r.stats})
	r.api = &httpapi.API{Engine: e}
	r.api.Register(r.mux)
	return r
}

// TestBareList checks that the body is the list alone, and that headers report truncation.
func TestBareList(t *testing.T) {
	r := listRig(t)
	for _, tc := range []struct{ args, body, truncated, total string }{
		{`{"words":""}`, `[]`, "", ""},
		{`{"words":"a b"}`, `["a","b"]`, "", ""},
		{`{"words":"a b","total":7}`, `["a","b"]`, "true", "7"},
		{`{"words":"a b","total":-1}`, `["a","b"]`, "true", ""},
	} {
		got := r.do(post("list", tc.args))
		if got.Code != http.StatusOK || got.Body.String() != tc.body || got.Header().Get("Content-Type") != "application/json" {
			t.Errorf("%s: %d %s %v", tc.args, got.Code, got.Body, got.Header())
		}
		if got.Header().Get("Remit-Truncated") != tc.truncated || got.Header().Get("Remit-Total") != tc.total {
			t.Errorf("%s: headers %v", tc.args, got.Header())
		}
	}
	got := r.do(post("list", `{"words":"remark"}`)).Header().Get("Remit-Remarks")
	if want := `{"index":{"files":3},"note":"caf\u00e9 \ud83d\ude00"}`; got != want {
		t.Errorf("remarks %s, want %s", got, want)
	}
	if got := r.do(post("list", `{}`)); got.Code != http.StatusBadRequest || !strings.HasPrefix(got.Body.String(), `{"error":`) {
		t.Errorf("a failure: %d %s", got.Code, got.Body)
	}
}

// TestBareDefinition checks the definition of a tool with a bare list.
func TestBareDefinition(t *testing.T) {
	var definition struct{ OutputSchema struct{ Type string } }
	if err := json.Unmarshal(listRig(t).get("/tools/list").Body.Bytes(), &definition); err != nil || definition.OutputSchema.Type != "array" {
		t.Errorf("%+v, %v", definition, err)
	}
}

// TestLargeArgument checks an argument of ten megabytes in base64. The audit record keeps only its
// size and hash.
func TestLargeArgument(t *testing.T) {
	r := listRig(t)
	got := r.do(post("list", `{"words":"`+strings.Repeat(" ", 14<<20)+`"}`))
	if got.Code != http.StatusOK || got.Body.String() != `[]` {
		t.Fatalf("%d %s", got.Code, got.Body)
	}
	record := r.Records()[0].Arguments
	if kept := string(record.Append(nil)); kept != `{"words":{"bytes":14680064,"sha256":"73ee9e89494cfaa5"}}` {
		t.Errorf("the record keeps %.200s", kept)
	}
}
