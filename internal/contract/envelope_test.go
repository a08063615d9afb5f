package contract_test

import (
	"encoding/json"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"

	"remit/internal/contract"
	"remit/internal/contract/catalog"
)

// envelopeSet has the codes and details of the task tools.
var envelopeSet = strings.Replace(strings.Replace(setYAML, "shape: coded", "shape: envelope", 1),
	"invalid: {code: 400}", "invalid: {code: invalid_input, details: [field, value, problems]}", 1)

// envelopeYAML is a valid contract in a set of shape envelope.
const envelopeYAML = `name: list_notes
title: List notes
description: Lists notes.
hints: {readOnly: true, destructive: false, idempotent: true, openWorld: false}
input:
  type: object
  properties:
    title: {type: string, minLength: 1, maxLength: 3, x-trim: true, x-message: {minLength: Title cannot be empty}, description: Words of the title}
    priority: {type: string, enum: [Low, High], x-code: invalid_priority, x-message: "Priority must be one of: Low, High", description: How urgent}
    due: {type: string, format: date, x-code: invalid_date, description: Which day}
    id: {type: string, pattern: "^[0-9]+$", x-accepts: integer, description: Which one}
  required: [title]
  additionalProperties: false
output:
  type: object
  description: The notes
  properties:
    notes:
      type: array
      description: The notes
      items:
        type: object
        properties:
          id: {type: integer, description: Its number}
          text: {type: [string, "null"], description: What it says}
        required: [id, text]
        additionalProperties: false
    total: {type: integer, description: How many there are}
    nextCursor: {type: string, description: Where the list goes on}
  required: [notes, total]
  additionalProperties: false
truncate: {list: notes, cursor: nextCursor, budget: 2KiB}
examples:
  - title: One note
    arguments: {title: abc}
    result: {success: true, data: {notes: [{id: 1, text: null}], total: 1}}
    varies: ["data.notes[].id", data.total]
`

func enveloped(t testing.TB) *contract.Contract {
	t.Helper()
	return loadBeside(t, envelopeSet, envelopeYAML)
}

func TestGoodEnvelope(t *testing.T) {
	if findings := enveloped(t).Lint(); len(findings) != 0 {
		t.Errorf("findings in a good contract: %v", findings)
	}
}

// TestEnvelopeSchema: the published schema has the envelope, the schema for the handler does not,
// and a catalog that is read back has the same schemas.
func TestEnvelopeSchema(t *testing.T) {
	const data = `{"type":"object","properties":{"id":{"type":"integer"}},"additionalProperties":false}`
	set, err := contract.Load(fstest.MapFS{"_set.yaml": {Data: []byte(envelopeSet)}, "tool.yaml": {Data: []byte("name: demo\ninput: {type: object}\noutput: " + data + "\n")}}, ".")
	if err != nil {
		t.Fatal(err)
	}
	encoded, err := json.Marshal(map[string]any{"sets": []*contract.Set{set}})
	if err != nil {
		t.Fatal(err)
	}
	again, err := catalog.Decode(encoded)
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]*contract.Contract{"loaded": set.Contracts[0], "read back": again[0].Contracts[0]} {
		want := `{"type":"object","properties":{"success":{"type":"boolean","description":"True: the call succeeded"},"data":` + data + `},"required":["success","data"],"additionalProperties":false}`
		if diff := cmp.Diff(want, written(c.PublicOutput())); diff != "" {
			t.Errorf("%s: output: %s", name, diff)
		}
		if diff := cmp.Diff(data, written(*c.Data())); diff != "" {
			t.Errorf("%s: data: %s", name, diff)
		}
		if got := written(c.Wrap(tree(t, `{"id":1}`))); got != `{"success":true,"data":{"id":1}}` {
			t.Errorf("%s: Wrap = %s", name, got)
		}
		if c.Digest != set.Contracts[0].Digest {
			t.Errorf("%s: the digest changed", name)
		}
	}
}

// TestNoEnvelope: answers of the other shapes, and content, are sent unchanged.
func TestNoEnvelope(t *testing.T) {
	for name, c := range map[string]*contract.Contract{
		"another shape": withOutput(t, `{type: object, properties: {data: {type: string}}}`),
		"content":       loadBeside(t, envelopeSet, "name: demo\ninput: {type: object}\ncontent: true\n"),
	} {
		answer := tree(t, `{"data":"x","content":[]}`)
		if got := written(c.Wrap(answer)); got != written(answer) {
			t.Errorf("%s: Wrap = %s", name, got)
		}
		if c.Data() != &c.Output {
			t.Errorf("%s: Data = %s", name, written(*c.Data()))
		}
	}
}

func TestConformEnvelope(t *testing.T) {
	c := enveloped(t)
	for _, tc := range []struct{ data, want string }{
		{`{"total":1,"notes":[{"text":null,"id":1,"owner":"x"}]}`, `{"success":true,"data":{"notes":[{"id":1,"text":null}],"total":1}}`},
		{`{"notes":[],"total":0,"nextCursor":"c","more":1}`, `{"success":true,"data":{"notes":[],"total":0,"nextCursor":"c"}}`},
		{`{"notes":[{"id":1,"text":5}],"total":1}`, "the answer breaks its contract: data.notes[0].text must be a string or null, not the number 5"},
		{`{"notes":[{"id":1}],"total":1}`, "the answer breaks its contract: data.notes[0].text is required"},
	} {
		answer, err := c.Conform(c.Wrap(tree(t, tc.data)))
		got := written(answer)
		if err != nil {
			got = contract.AsError(err).Cause.Error()
		}
		if got != tc.want {
			t.Errorf("got  %s\nwant %s", got, tc.want)
		}
	}
}

// TestEnvelopeErrors: errors match the contract document of the task tools to the byte.
func TestEnvelopeErrors(t *testing.T) {
	failure := func(code, message, details string) string {
		return `{"success":false,"error":{"code":"` + code + `","message":"` + message + `","details":` + details + `}}`
	}
	for _, tc := range []struct{ name, args, want string }{
		{"an empty title", `{"title":"  "}`, failure("invalid_input", "Title cannot be empty", `{"field":"title"}`)},
		{"a missing title", `{}`, failure("invalid_input", "title is required", `{"field":"title"}`)},
		{"a long title", `{"title":"abcd"}`, failure("invalid_input", "title must have at most 3 characters, not 4", `{"field":"title"}`)},
		{"a word that is not among them", `{"title":"a","priority":"Urgent"}`, failure("invalid_priority", "Priority must be one of: Low, High", `{"field":"priority","value":"Urgent"}`)},
		{
			"a word without end", `{"title":"a","priority":"` + strings.Repeat("ü", 1000) + `"}`,
			failure("invalid_priority", "Priority must be one of: Low, High", `{"field":"priority","value":"`+strings.Repeat("ü", 60)+`..."}`),
		},
		{"a word of another type", `{"title":"a","priority":5}`, failure("invalid_priority", "Priority must be one of: Low, High", `{"field":"priority"}`)},
		{"a day that never was", `{"title":"a","due":"2025-02-30"}`, failure("invalid_date", `due must be a date like 2026-01-09, not the string \"2025-02-30\"`, `{"field":"due","value":"2025-02-30"}`)},
		{"an id that is none", `{"title":"a","id":1.5}`, failure("invalid_input", "id must be a string, not the number 1.5", `{"field":"id"}`)},
		{
			"several, in the contract's order", `{"due":"x","priority":"y","title":"a"}`,
			failure("invalid_priority", `Priority must be one of: Low, High; due must be a date like 2026-01-09, not the string \"x\"`,
				`{"field":"priority","problems":["Priority must be one of: Low, High","due must be a date like 2026-01-09, not the string \"x\""],"value":"y"}`),
		},
		{
			"what is missing comes first, what is unknown last", `{"z":1,"due":"x"}`,
			failure("invalid_input", `title is required; due must be a date like 2026-01-09, not the string \"x\"; \"z\" is not a known argument (known: title, priority, due, id)`,
				`{"field":"title","problems":["title is required","due must be a date like 2026-01-09, not the string \"x\"","\"z\" is not a known argument (known: title, priority, due, id)"]}`),
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			c, args := enveloped(t), tree(t, tc.args)
			got := string(c.Render(contract.AsError(acceptError(c, args))))
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Error(diff)
			}
			if written(args) != tc.args {
				t.Errorf("the caller's arguments became %s", written(args))
			}
		})
	}
}

// TestEnvelopeManyProblems: the contract's own fields determine the code, however many other
// problems there are.
func TestEnvelopeManyProblems(t *testing.T) {
	_, err := enveloped(t).Accept(tree(t, `{"title":"a"`+numbered(50)+`,"due":"x"}`))
	e := contract.AsError(err)
	if e.Code != "invalid_date" || e.Details["field"] != "due" || !strings.HasSuffix(e.Message, "; and more") {
		t.Errorf("code %q, details %v", e.Code, e.Details)
	}
}

// TestLintOfEnvelopes: the schema of the data is checked like any other, and must be an object.
func TestLintOfEnvelopes(t *testing.T) {
	for _, tc := range []struct{ name, was, is, where, what string }{
		{"data without a description", "  description: The notes\n  properties", "  properties", "output.data", "has no description"},
		{"a field without a description", "total: {type: integer, description: How many there are}", "total: {type: integer}", "output.data.total", "has no description"},
		{"a cursor of another level", "cursor: nextCursor", "cursor: success", "truncate.cursor", `"success" is not an optional string of the answer's data`},
		{"an example without its envelope", "result: {success: true, data: {notes: [{id: 1, text: null}], total: 1}}\n    varies: [\"data.notes[].id\", data.total]", "result: {notes: [{id: 1, text: null}], total: 1}", `examples "One note"`, "its result breaks the output schema: internal: Internal error: the answer breaks its contract: success is required; data is required"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			findings := loadBeside(t, envelopeSet, swap(t, envelopeYAML, tc.was, tc.is)).Lint()
			want := contract.Finding{Tool: "demo/list_notes", Where: tc.where, What: tc.what}
			if len(findings) == 0 || findings[0] != want {
				t.Errorf("findings = %v, want %v first", findings, want)
			}
		})
	}
	list := loadBeside(t, envelopeSet, "name: demo\ninput: {type: object}\noutput: {type: array, description: A list, items: {type: string}}\n")
	found := false
	for _, f := range list.Lint() {
		found = found || f == contract.Finding{Tool: "demo/demo", Where: "output.data", What: "the data must be an object"}
	}
	if !found {
		t.Errorf("findings = %v", list.Lint())
	}
}

// TestLintOfSteps: only tools of the same set can prepare an example.
func TestLintOfSteps(t *testing.T) {
	const step = "examples:\n  - title: One note\n"
	for before, want := range map[string]string{
		`[{tool: list_notes, arguments: {title: a}}, {tool: add_note, arguments: {path: a, text: b}}]`: "",
		`[{tool: ad_note, arguments: {}}]`:                  `demo: list_notes: examples "One note": before: there is no tool "ad_note" in the set`,
		`[{tool: add_note, arguments: {path: a, text: 5}}]`: `demo: list_notes: examples "One note": before: the arguments of add_note are refused: invalid: text must be a string, not the number 5`,
	} {
		files := fstest.MapFS{
			"_set.yaml": {Data: []byte(envelopeSet)},
			"list.yaml": {Data: []byte(swap(t, envelopeYAML, step, step+"    before: "+before+"\n"))},
			"add.yaml":  {Data: []byte(swap(t, goodYAML, "result: {id: 1, state: new}", "result: {success: true, data: {id: 1, state: new}}"))},
		}
		set, err := contract.Load(files, ".")
		if err != nil {
			t.Fatal(err)
		}
		got := ""
		for _, f := range set.Lint() {
			if f.What != "has no description" { // the data of goodYAML
				got += f.String()
			}
		}
		if got != want {
			t.Errorf("got  %s\nwant %s", got, want)
		}
	}
}

// TestStatus: a contract may have its own HTTP status for a kind of failure.
func TestStatus(t *testing.T) {
	c := load(t, "name: demo\nerrors: {unavailable: {code: processing_error, status: 500}}\n")
	for kind, want := range map[contract.Kind]int{contract.Unavailable: 500, contract.Invalid: 400, contract.Pending: 403, contract.Internal: 500} {
		if got := c.Status(kind); got != want {
			t.Errorf("Status(%s) = %d, want %d", kind, got, want)
		}
	}
}
