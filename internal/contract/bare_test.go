package contract_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"remit/internal/contract"
	"remit/internal/contract/catalog"
)

// namedSet has the codes and details of the book tools.
var namedSet = strings.Replace(strings.Replace(setYAML, "shape: coded", "shape: named", 1),
	"invalid: {code: 400}", "invalid: {code: ValidationError, details: [field, path, problems]}", 1)

// bareListYAML is a valid contract whose answer is a bare list.
const bareListYAML = `name: list_files
title: List files
description: Lists files.
summary: List {path}
hints: {readOnly: true, destructive: false, idempotent: true, openWorld: false}
input:
  type: object
  properties:
    path: {type: string, pattern: "^[a-z/]+$", maxLength: 8, x-code: {pattern: InvalidPathError, maxLength: InvalidPathError}, x-message: {pattern: Path contains invalid characters}, description: Where}
    kind: {type: string, enum: [file, folder], description: What}
  required: [path]
  additionalProperties: false
output:
  type: object
  properties:
    result:
      type: array
      description: The files
      items:
        type: object
        properties:
          name: {type: string, description: Its name}
          at: {type: string, x-redact: true, description: When it came}
        required: [name, at]
        additionalProperties: false
  required: [result]
  additionalProperties: false
bare: result
truncate: {list: result, budget: 2KiB}
examples:
  - title: One file
    arguments: {path: a}
    result: [{name: b, at: now}]
    varies: ["[].at"]
  - title: A path of other letters
    arguments: {path: ..}
    error: {error: InvalidPathError, message: Path contains invalid characters, path: ..}
`

func bareList(t testing.TB) *contract.Contract {
	t.Helper()
	return loadBeside(t, namedSet, bareListYAML)
}

func TestGoodBare(t *testing.T) {
	if findings := bareList(t).Lint(); len(findings) != 0 {
		t.Errorf("findings in a good contract: %v", findings)
	}
}

// TestLintOfBare: each mistake gives one finding.
func TestLintOfBare(t *testing.T) {
	const end = "  required: [result]\n  additionalProperties: false\n"
	for _, tc := range []struct{ name, was, is, where, what string }{
		{"no such field", "bare: result", "bare: results", "bare", `"results" is not an array of the answer`},
		{"no array", "      type: array\n      description: The files\n      items:\n", "      type: object\n      description: The files\n      additionalProperties:\n", "bare", `"result" is not an array of the answer`},
		{"a second field", end, "    more: {type: string, description: More}\n" + end, "bare", `"result" must be the only field of the answer`},
		{"further fields", end, "  required: [result]\n  additionalProperties: {type: string}\n", "bare", `"result" must be the only field of the answer`},
		{"an optional list", end, "  additionalProperties: false\n", "bare", `"result" must be required`},
		{"a task", "bare: result", "bare: result\ntask: optional", "bare", "the result of a task cannot be bare; leave out bare or task"},
		{"a tool that writes", "readOnly: true", "readOnly: false", "truncate", "only a read-only tool that is not a task can truncate its answer without a cursor"},
		{"an example with the field", "result: [{name: b, at: now}]\n    varies: [\"[].at\"]", "result: {result: [{name: b, at: now}]}", `examples "One file"`, "its result breaks the output schema: internal: Internal error: the answer breaks its contract: result must be an array, not an object"},
		{"an example with more than is promised", "{name: b, at: now}", "{name: b, at: now, size: 1}", `examples "One file"`, "its result has fields that the output schema does not name"},
		{"what varies is not there", `["[].at"]`, `["[].size"]`, `examples "One file"`, `varies names "[].size", which its answer does not have`},
		{"a value that no detail tells", "examples:\n", "errors: {invalid: {code: ValidationError, details: [field]}}\nexamples:\n", "input.path", "has an x-code, so path must be among the details of errors.invalid"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			findings := loadBeside(t, namedSet, swap(t, bareListYAML, tc.was, tc.is)).Lint()
			want := contract.Finding{Tool: "demo/list_files", Where: tc.where, What: tc.what}
			if len(findings) == 0 || findings[0] != want {
				t.Errorf("findings %v\nwant first %v", findings, want)
			}
		})
	}
}

// TestBareInAnEnvelope: bare is not allowed in a set of shape envelope.
func TestBareInAnEnvelope(t *testing.T) {
	c := loadBeside(t, envelopeSet, bareListYAML)
	want := contract.Finding{Tool: "demo/list_files", Where: "bare", What: "shape envelope needs an object, so the answer cannot be bare"}
	for _, f := range c.Lint() {
		if f == want {
			return
		}
	}
	t.Errorf("findings %v\nwant among them %v", c.Lint(), want)
}

// TestBody: the list is cut out of the answer, whatever its name is, also for a contract that was
// written and read back.
func TestBody(t *testing.T) {
	written, err := json.Marshal(bareList(t))
	if err != nil {
		t.Fatal(err)
	}
	again := &contract.Contract{}
	if err := json.Unmarshal(written, again); err != nil {
		t.Fatal(err)
	}
	odd := loadBeside(t, namedSet, swap(t, bareListYAML, "bare: result", `bare: "a\"ü"`))
	for name, tc := range map[string]struct {
		c             *contract.Contract
		written, want string
	}{
		"bare":      {bareList(t), `{"result":[1,{"a":"]}"}]}`, `[1,{"a":"]}"}]`},
		"empty":     {bareList(t), `{"result":[]}`, `[]`},
		"read back": {again, `{"result":[1]}`, `[1]`},
		"another":   {load(t, goodYAML), `{"result":[1]}`, `{"result":[1]}`},
		"odd name":  {odd, `{"a\"ü":[1]}`, `[1]`},
	} {
		if got := string(tc.c.Body([]byte(tc.written))); got != tc.want {
			t.Errorf("%s: Body = %s, want %s", name, got, tc.want)
		}
	}
}

func TestBodySchema(t *testing.T) {
	const list = `{"type":"array","description":"The files","items":{"type":"object","properties":{"name":{"type":"string","description":"Its name"},"at":{"type":"string","description":"When it came"}},"required":["name","at"],"additionalProperties":false}}`
	if diff := cmp.Diff(list, written(bareList(t).BodySchema())); diff != "" {
		t.Error(diff)
	}
	good := load(t, goodYAML)
	if diff := cmp.Diff(written(good.PublicOutput()), written(good.BodySchema())); diff != "" {
		t.Error(diff)
	}
}

// TestBarePage: the documentation shows the body that HTTP and text content have.
func TestBarePage(t *testing.T) {
	page := string(catalog.Page(bareList(t)))
	for _, want := range []string{
		"Returns a list, which is `result` in structuredContent:\n\n- `[]` (object): The files\n- `[].name` (string, required): Its name\n",
		"answers of at most 2KiB, truncated beyond · usually within",
		"→ [{\"name\": \"b\", \"at\": \"now\"}]\n",
	} {
		if !strings.Contains(page, want) {
			t.Errorf("the page lacks %q:\n%s", want, page)
		}
	}
}

// TestExplainNamed: a failure with its own code has the value under the name of its argument; every
// other failure names the field.
func TestExplainNamed(t *testing.T) {
	c := bareList(t)
	long := strings.Repeat("ab/", 100)
	for _, tc := range []struct{ args, want string }{
		{`{"path":"a/../b"}`, `{"error":"InvalidPathError","message":"Path contains invalid characters","path":"a/../b"}`},
		{`{"path":"a\u0000"}`, `{"error":"InvalidPathError","message":"Path contains invalid characters","path":"a\u0000"}`},
		{`{"path":"` + long + `"}`, `{"error":"InvalidPathError","message":"path must have at most 8 characters, not 300","path":"` + long[:60] + `..."}`},
		{`{"path":5}`, `{"error":"ValidationError","message":"path must be a string, not the number 5","field":"path"}`},
		{`{}`, `{"error":"ValidationError","message":"path is required","field":"path"}`},
		{`{"path":"a","kind":"link"}`, `{"error":"ValidationError","message":"kind must be one of file, folder, not the string \"link\"","field":"kind"}`},
		{`{"path":"a","more":1}`, `{"error":"ValidationError","message":"\"more\" is not a known argument (known: path, kind)","field":"more"}`},
		{`{"kind":"link","path":".."}`, `{"error":"InvalidPathError","message":"Path contains invalid characters; kind must be one of file, folder, not the string \"link\"","path":"..","problems":["Path contains invalid characters","kind must be one of file, folder, not the string \"link\""]}`},
	} {
		_, err := c.Accept(tree(t, tc.args))
		if diff := cmp.Diff(tc.want, string(c.Render(contract.AsError(err)))); diff != "" {
			t.Errorf("%s: %s", tc.args, diff)
		}
	}
}

// TestExplainNamedWithOneCode: one code for all failures also applies to a missing argument, which
// has no value to show.
func TestExplainNamedWithOneCode(t *testing.T) {
	c := loadBeside(t, namedSet, swap(t, bareListYAML, "{pattern: InvalidPathError, maxLength: InvalidPathError}", "InvalidPathError"))
	_, err := c.Accept(tree(t, `{}`))
	if got, want := string(c.Render(contract.AsError(err))), `{"error":"InvalidPathError","message":"path is required","field":"path"}`; got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

// TestFitWithoutCursor: without a cursor no bytes are reserved for one.
func TestFitWithoutCursor(t *testing.T) {
	c := bareList(t)
	element := `{"name":"` + strings.Repeat("n", 70) + `","at":"now"}` // 93 bytes, and a comma
	whole := func(n int) string {
		return `{"result":[` + strings.TrimSuffix(strings.Repeat(element+",", n), ",") + `]}`
	}
	for n := range 60 {
		answer := tree(t, whole(n))
		keep, fits := c.Fit(&answer)
		switch budget := int(c.Truncate.Budget); {
		case fits != (len(whole(n)) <= budget):
			t.Fatalf("fits = %t, but %d bytes of %d", fits, len(whole(n)), budget)
		case fits && keep != n:
			t.Fatalf("keeps %d of %d that fit", keep, n)
		case !fits && (len(whole(keep)) > budget || len(whole(keep+1)) <= budget):
			t.Fatalf("keeps %d of %d", keep, n)
		case !fits:
			if total := c.Cut(&answer, keep); total != n || written(answer) != whole(keep) {
				t.Fatalf("of %d, %s", total, written(answer))
			}
		}
	}
}
