package contract_test

import (
	"errors"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"remit/internal/contract"
	"remit/internal/contract/jsontree"
)

// TestShapes: errors of the four shapes match to the byte.
func TestShapes(t *testing.T) {
	rules := map[contract.Kind]contract.ErrorRule{
		contract.NotFound: {Code: "404", Message: "File not found: {path}", Details: []string{"path", "n", "list", "hint"}},
		contract.Limited:  {Code: "too_fast"},
		contract.Pending:  {Code: "403"},
		contract.Internal: {Code: "500", Message: "Internal error"},
	}
	notFound := contract.Errorf(contract.NotFound, "no %q here", "x").With("path", "a/b").With("n", 3).With("list", []string{"p", "q"}).With("kept", "back").
		Because(errors.New("open /home/me/a/b: no such file"))
	limited := contract.Errorf(contract.Limited, "Slow down").With("retry_after", 7).With("tokens", 0)
	pending := contract.Errorf(contract.Pending, "Ask").With("approval", map[string]string{"id": "a1"})
	internal := contract.AsError(errors.New("panic at /srv/x.go:3"))
	unknown := contract.Errorf(contract.Conflict, "It changed") // a kind without a rule
	for _, tc := range []struct {
		shape contract.Shape
		err   *contract.Error
		want  string
	}{
		{contract.Coded, notFound, `{"error":{"code":404,"message":"File not found: a/b","list":["p","q"],"n":3,"path":"a/b"}}`},
		{contract.Envelope, notFound, `{"success":false,"error":{"code":"404","message":"File not found: a/b","details":{"list":["p","q"],"n":3,"path":"a/b"}}}`},
		{contract.Named, notFound, `{"error":"404","message":"File not found: a/b","list":["p","q"],"n":3,"path":"a/b"}`},
		{contract.Plain, notFound, `{"error":"File not found: a/b","list":["p","q"],"n":3,"path":"a/b"}`},
		{contract.Coded, limited, `{"error":{"code":"too_fast","message":"Slow down","retry_after":7}}`},
		{contract.Envelope, limited, `{"success":false,"error":{"code":"too_fast","message":"Slow down","details":{"retry_after":7}}}`},
		{contract.Named, limited, `{"error":"too_fast","message":"Slow down","retry_after":7}`},
		{contract.Plain, limited, `{"error":"Slow down","retry_after":7}`},
		{contract.Coded, pending, `{"error":{"code":403,"message":"Ask","approval":{"id":"a1"}}}`},
		{contract.Plain, pending, `{"error":"Ask","approval":{"id":"a1"}}`},
		{contract.Coded, internal, `{"error":{"code":500,"message":"Internal error"}}`},
		{contract.Envelope, internal, `{"success":false,"error":{"code":"500","message":"Internal error","details":{}}}`},
		{contract.Named, internal, `{"error":"500","message":"Internal error"}`},
		{contract.Plain, internal, `{"error":"Internal error"}`},
		{contract.Coded, unknown, `{"error":{"code":"","message":"It changed"}}`},
	} {
		t.Run(fmt.Sprintf("%s %s", tc.shape, tc.err.Kind), func(t *testing.T) {
			c := &contract.Contract{Shape: tc.shape, Errors: rules}
			if diff := cmp.Diff(tc.want, string(c.Render(tc.err))); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// TestOwnCode: the x-code of the schema, or the code of the handler, overrides the code of the
// kind.
func TestOwnCode(t *testing.T) {
	c := &contract.Contract{Shape: contract.Envelope, Errors: map[contract.Kind]contract.ErrorRule{contract.Invalid: {Code: "invalid_input"}}}
	e := contract.Errorf(contract.Invalid, "no date")
	e.Code = "invalid_date"
	if got, want := string(c.Render(e)), `{"success":false,"error":{"code":"invalid_date","message":"no date","details":{}}}`; got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

func TestTemplates(t *testing.T) {
	for _, tc := range []struct{ name, template, want string }{
		{"none", "", "own words {path}"},
		{"no names in it", "Fixed", "Fixed"},
		{"the message", "Invalid: {message}", "Invalid: own words {path}"},
		{"a detail", "Not allowed: {path}", "Not allowed: {message}/{n}"},
		{"both", "{message} at {path}!", "own words {path} at {message}/{n}!"},
		{"a number", "Retry in {n} s", "Retry in 5 s"},
		{"a JSON value", "Not {value}", "Not 1.50"},
		{"a list", "One of {list}", `One of ["a","b"]`},
		{"twice", "{n}{n}", "55"},
		{"a detail that is missing", "Not allowed: {other}", "own words {path}"},
		{"one of two is missing", "{message}: {other}", "own words {path}"},
		{"a brace that never closes", "Odd { one", "own words {path}"},
		{"a brace that never opened", "Odd } one {n}", "Odd } one 5"},
		{"empty braces", "Odd {} one", "own words {path}"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			c := &contract.Contract{Shape: contract.Plain, Errors: map[contract.Kind]contract.ErrorRule{contract.Denied: {Message: tc.template}}}
			e := contract.Errorf(contract.Denied, "own words {path}").
				With("path", "{message}/{n}").With("n", 5).With("list", []string{"a", "b"}).With("value", jsontree.Value{Kind: jsontree.Number, Text: "1.50"})
			want := jsontree.Obj(jsontree.Member{Key: "error", Value: jsontree.Str(tc.want)})
			if got := string(c.Render(e)); got != written(want) {
				t.Errorf("got  %s\nwant %s", got, written(want))
			}
		})
	}
}

// TestAnyTextStaysJSON: any bytes of a caller in a message still give valid JSON.
func TestAnyTextStaysJSON(t *testing.T) {
	c := &contract.Contract{Shape: contract.Coded, Errors: map[contract.Kind]contract.ErrorRule{contract.Denied: {Code: "403", Message: "Access denied: {path}", Details: []string{"odd"}}}}
	e := contract.Errorf(contract.Denied, "x").With("path", "a\"b\\c\n\x00\xff</script>").With("odd", func() {})
	body := c.Render(e)
	v, err := jsontree.Parse(body)
	if err != nil {
		t.Fatalf("%s: %v", body, err)
	}
	inner := v.Field("error")
	if message := inner.Field("message"); message.Text != "Access denied: a\"b\\c\n\x00\ufffd</script>" {
		t.Errorf("message = %q", message.Text)
	}
}

func TestErrors(t *testing.T) {
	cause := errors.New("disk on fire")
	e := contract.Errorf(contract.Unavailable, "Try %s", "again").Because(cause)
	if got := e.Error(); got != "unavailable: Try again: disk on fire" {
		t.Errorf("Error = %q", got)
	}
	if !errors.Is(e, cause) {
		t.Error("the cause cannot be found")
	}
	wrapped := fmt.Errorf("read registry: %w", e)
	if contract.AsError(wrapped) != e {
		t.Error("AsError does not find the Error in a wrapped one")
	}
	foreign := contract.AsError(cause)
	if foreign.Kind != contract.Internal || foreign.Message != "Internal error" || !errors.Is(foreign, cause) {
		t.Errorf("a foreign error became %+v", foreign)
	}
}

// TestPublic: clients get the schema without the keywords that only Remit reads, and with every
// name of the contract.
func TestPublic(t *testing.T) {
	c := withInput(t, `
  type: object
  properties:
    x-ray: {type: string, x-redact: true, x-code: c}
    list: {type: array, items: {type: string, x-message: m}}
    either: {anyOf: [{type: string, x-code: c}], x-message: m, default: {x-a: 1}}
    open: {type: object, additionalProperties: {type: string, x-redact: true}}
    fixed: {enum: [{x-a: 1}]}
    repeated: {type: string, x-mcp-header: Again, x-redact: true}
  $defs: {x-def: {type: string, x-code: c}}
  allOf: [{type: object, x-code: c}]
  if: {type: object, x-code: c}
  then: {const: {x-a: 1}, x-code: c}
  else: {type: object, x-code: c}
  additionalProperties: false
`)
	before := written(c.Input)
	want := `{"type":"object","properties":{"x-ray":{"type":"string"},"list":{"type":"array","items":{"type":"string"}},` +
		`"either":{"anyOf":[{"type":"string"}],"default":{"x-a":1}},"open":{"type":"object","additionalProperties":{"type":"string"}},"fixed":{"enum":[{"x-a":1}]},` +
		`"repeated":{"type":"string","x-mcp-header":"Again"}},"$defs":{"x-def":{"type":"string"}},"allOf":[{"type":"object"}],` +
		`"if":{"type":"object"},"then":{"const":{"x-a":1}},"else":{"type":"object"},"additionalProperties":false}`
	if diff := cmp.Diff(want, written(c.PublicInput())); diff != "" {
		t.Error(diff)
	}
	if got := written(c.PublicOutput()); got != `{"type":"object"}` {
		t.Errorf("output = %s", got)
	}
	if content := load(t, "name: demo\ninput: {type: object}\ncontent: true\n").PublicOutput(); content.Kind != jsontree.Null {
		t.Errorf("a tool that answers with content publishes %s", written(content))
	}
	if written(c.Input) != before {
		t.Error("publishing changed the contract itself")
	}
}

// TestSchemaWords: a contract may have its own message for arguments that violate the schema, with
// the problems as details. Messages of x-message and of handlers stay unchanged.
func TestSchemaWords(t *testing.T) {
	const set = `
name: demo
title: Demo
description: A set
shape: plain
defaults:
  errors:
    invalid: {schema: Invalid parameters, details: [details]}
`
	c := loadBeside(t, set, `
name: demo
input:
  type: object
  properties:
    query: {type: string, minLength: 3, maxLength: 5, x-message: {minLength: Query must be at least 3 characters}}
    limit: {type: integer, maximum: 9}
  required: [query]
output: {type: object}
`)
	for args, want := range map[string]string{
		`{"query":"ab"}`:     `{"error":"Query must be at least 3 characters"}`,
		`{"query":"abcdef"}`: `{"error":"Invalid parameters","details":["query must have at most 5 characters, not 6"]}`,
		`{"limit":10}`:       `{"error":"Invalid parameters","details":["query is required","limit must be at most 9, not 10"]}`,
	} {
		_, err := c.Accept(tree(t, args))
		if got := string(c.Render(contract.AsError(err))); got != want {
			t.Errorf("%s\ngot  %s\nwant %s", args, got, want)
		}
	}
	own := contract.Errorf(contract.Invalid, "Invalid regex pattern").With("details", "why")
	if got, want := string(c.Render(own)), `{"error":"Invalid regex pattern","details":"why"}`; got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}
