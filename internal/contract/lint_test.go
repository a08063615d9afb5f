package contract_test

import (
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"

	"remit/internal/contract"
)

func TestGoodContract(t *testing.T) {
	if findings := load(t, goodYAML).Lint(); len(findings) != 0 {
		t.Errorf("findings in a good contract: %v", findings)
	}
}

// TestLintRules: each mistake in a valid contract gives one finding.
func TestLintRules(t *testing.T) {
	for _, tc := range []struct{ name, was, is, where, what string }{
		{"a name in camel case", "name: add_note", "name: addNote", "name", `"addNote" must match ^[a-z][a-z0-9_]{0,39}$`},
		{"a long name", "name: add_note", "name: " + strings.Repeat("a", 41), "name", `"` + strings.Repeat("a", 41) + `" must match ^[a-z][a-z0-9_]{0,39}$`},
		{"no title", "title: Add a note\n", "", "title", "is missing"},
		{"no description", "description: Adds a note to a file.\n", "", "description", "is missing; say what the tool does and when to use it"},
		{"no version", "version: 1.2.3", "version: 0.0.0", "version", "is missing; start with 1.0.0"},
		{"an odd access", "access: caller", "access: friends", "access", `"friends" is not one of public, caller`},
		{"reads and destroys", "{readOnly: false, destructive: false, idempotent: false", "{readOnly: true, destructive: true, idempotent: true", "hints", "a read-only tool cannot be destructive"},
		{"reads, but is not idempotent", "readOnly: false", "readOnly: true", "hints", "a read-only tool must be idempotent"},
		{"no target", "target: 100ms, ", "target: 0s, ", "deadline.target", "must be set and not over the maximum"},
		{"a target over the maximum", "target: 100ms", "target: 6s", "deadline.target", "must be set and not over the maximum"},
		{"no size", "request: 64KiB", "request: 0B", "size.request", "is missing"},
		{"approval without a window", "{required: true, window: 1h}", "{required: true}", "approval.window", "is missing; state how long a request for approval stays open"},
		{"each time without approval", "{required: true, window: 1h}", "{each: true}", "approval.each", "has no effect, because the tool needs no approval"},
		{"an object that says nothing of further members", "      required: [name]\n      additionalProperties: false\n", "      required: [name]\n", "input.author", "must state additionalProperties"},
		{"an array without items", "      items: {type: string}\n", "", "output.tags", "an array must state its items"},
		{"a field without a description", "description: How important it is", "title: Rank", "input.rank", "has no description"},
		{"a nested field without a description", "name: {type: string, description: Who wrote it}", "name: {type: string}", "input.author.name", "has no description"},
		{"two types", "rank: {type: integer,", "rank: {type: [integer, number],", "input.rank", "must have exactly one type"},
		{"no type", "note: {type: string,", "note: {", "output.note", "must have exactly one type"},
		{"a default further down", "name: {type: string, description", "name: {type: string, default: Ada, description", "input.author.name", "only an argument itself can have a default"},
		{"a default of an element", "items: {type: string, maxLength: 10}", "items: {type: string, maxLength: 10, default: x}", "input.tags[]", "only an argument itself can have a default"},
		{"a default of an option", "{type: string, format: date}, {", "{type: string, format: date, default: x}, {", "input.due(1)", "only an argument itself can have a default"},
		{"a default in the output", "id: {type: integer,", "id: {type: integer, default: 1,", "output.id", "only an argument itself can have a default"},
		{"a default of everything", "input:\n", "input:\n  default: {}\n", "input", "only an argument itself can have a default"},
		{"an object among the options", `{type: "null"}]`, `{type: object}]`, "input.due(2)", "must state additionalProperties"},
		{"an enum of numbers", "rank: {type: integer,", "rank: {type: integer, enum: [1],", "input.rank", "enum values must be strings"},
		{"an input that takes anything", "  required: [path, text]\n  additionalProperties: false", "  required: [path, text]\n  additionalProperties: true", "input", "must refuse unknown arguments: additionalProperties: false"},
		{"a default of a required argument", "required: [path, text]", "required: [path, text, kind]", "input.kind", "is required, so its default is never used"},
		{"a size of no argument", "args: {text: 1KiB}", "args: {txt: 1KiB}", "size.args.txt", "there is no such argument"},
		{"a policy of no argument", "arg: path", "arg: file", "paths.file", "there is no such argument"},
		{"a policy of an array", "arg: path", "arg: tags", "paths.tags", "a path must be a string"},
		{"a policy of either", "arg: path", "arg: due", "paths.due", "a path must be a string"},
		{"a bad pattern to allow", "allow: [notes/**]", `allow: ["notes/["]`, "paths.path", `"notes/[" is not a valid pattern`},
		{"a bad pattern to deny", `deny: ["**/.env*"]`, `deny: ["{a"]`, "paths.path", `"{a" is not a valid pattern`},
		{"a pattern in capitals", `deny: ["**/.env*"]`, `deny: ["**/.ENV*"]`, "paths.path", `write "**/.ENV*" in lower case; deny patterns ignore case`},
		{"an unknown kind", "examples:\n", "errors: {missing: {code: 404}}\nexamples:\n", "errors", `"missing" is not one of [invalid denied not_found conflict too_large limited pending unavailable internal]`},
		{"a kind without a code", "examples:\n", "errors: {denied: {message: no}}\nexamples:\n", "errors.denied", "shape coded needs a code"},
		{"a detail that hides the code", "examples:\n", "errors: {denied: {code: 403, details: [path, code]}}\nexamples:\n", "errors.denied", "the detail code conflicts with the error's own code"},
		{"a schema outside the dialect", "text: {type: string,", "text: {type: string, contentEncoding: base64,", "schema", `compile contract demo/add_note: schema: properties: schema at text: keyword "contentEncoding" is not supported in contract schemas`},
		{"an odd task", "access: caller", "access: caller\ntask: always", "task", `"always" is not one of optional, required`},
		{"a reference", "rank: {type: integer,", "rank: {type: integer, $anchor: rank,", "input.rank", "some clients refuse $anchor; only a hidden set may use it"},
		{"a constant", "rank: {type: integer,", "rank: {type: integer, const: 1,", "input.rank", "some clients refuse const; only a hidden set may use it"},
		{"parts of the output", "output:\n", "output:\n  allOf: [{required: [id]}]\n", "output", "some clients refuse allOf; only a hidden set may use it"},
		{"a header with a space", "path: {type: string,", "path: {type: string, x-mcp-header: my path,", "input.path", `x-mcp-header "my path" is not a valid part of a header's name`},
		{"a header that is not ASCII", "path: {type: string,", "path: {type: string, x-mcp-header: Straße,", "input.path", `x-mcp-header "Straße" is not a valid part of a header's name`},
		{"an empty header", "path: {type: string,", `path: {type: string, x-mcp-header: "",`, "input", "x-mcp-header must not be empty, and is allowed only on an argument or a property within one"},
		{"a header for an array", "type: array\n      minItems: 1", "type: array\n      x-mcp-header: Tags\n      minItems: 1", "input.tags", "x-mcp-header needs a string, an integer or a boolean"},
		{"a header for either", "due: {anyOf:", "due: {x-mcp-header: Due, anyOf:", "input.due", "x-mcp-header needs a string, an integer or a boolean"},
		{"a header for an element", "items: {type: string, maxLength: 10}", "items: {type: string, x-mcp-header: Tag, maxLength: 10}", "input", "x-mcp-header must not be empty, and is allowed only on an argument or a property within one"},
		{"a header for an option", "{type: string, format: date}, {", "{type: string, x-mcp-header: Due, format: date}, {", "input", "x-mcp-header must not be empty, and is allowed only on an argument or a property within one"},
		{"a header in the output", "id: {type: integer,", "id: {type: integer, x-mcp-header: Id,", "input", "x-mcp-header must not be empty, and is allowed only on an argument or a property within one"},
		{"trimming a number", "rank: {type: integer,", "rank: {type: integer, x-trim: true,", "input.rank", "only an argument that is a string can have x-trim"},
		{"trimming either", "due: {anyOf:", "due: {x-trim: true, anyOf:", "input.due", "only an argument that is a string can have x-trim"},
		{"trimming further down", "name: {type: string, d", "name: {type: string, x-trim: true, d", "input.author.name", "only an argument that is a string can have x-trim"},
		{"trimming an element", "items: {type: string, maxLength: 10}", "items: {type: string, maxLength: 10, x-trim: true}", "input.tags[]", "only an argument that is a string can have x-trim"},
		{"trimming an answer", "note: {type: string,", "note: {type: string, x-trim: true,", "output.note", "only an argument that is a string can have x-trim"},
		{"a number that takes integers", "rank: {type: integer,", "rank: {type: integer, x-accepts: integer,", "input.rank", "only an argument that is a string can have x-accepts"},
		{"an answer that takes integers", "note: {type: string,", "note: {type: string, x-accepts: integer,", "output.note", "only an argument that is a string can have x-accepts"},
		{"words for no rule", "text: {type: string,", "text: {type: string, x-message: {pattern: no},", "input.text", "x-message has an entry for pattern, which the schema does not state"},
		{"a code for no rule", "kind: {type: string,", "kind: {type: string, x-code: {enum: a, minLength: b},", "input.kind", "x-code has an entry for minLength, which the schema does not state"},
		{"a code for no rule of an option", "due: {anyOf:", "due: {x-code: {format: a, type: b, enum: c}, anyOf:", "input.due", "x-code has an entry for enum, which the schema does not state"},
		{"words for an optional field that is missing", "rank: {type: integer,", "rank: {type: integer, x-message: {required: no},", "input.rank", "x-message has an entry for a missing field, but the field is not required"},
		{"null beside a type of an argument", "rank: {type: integer,", `rank: {type: [integer, "null"],`, "input.rank", "must have exactly one type"},
		{"null beside two types of an answer", "note: {type: string,", `note: {type: [string, integer, "null"],`, "output.note", "must have exactly one type"},
		{"a status of success", "examples:\n", "errors: {denied: {code: 403, status: 200}}\nexamples:\n", "errors.denied", "the status 200 is not an error; want 400 to 599"},
		{"a status of waiting", "examples:\n", "errors: {denied: {code: 403, status: 202}}\nexamples:\n", "errors.denied", "the status 202 is not an error; want 400 to 599"},
		{"a status that is none", "examples:\n", "errors: {denied: {code: 403, status: 4030}}\nexamples:\n", "errors.denied", "the status 4030 is not an error; want 400 to 599"},
		{"a list of nothing to truncate", "examples:\n", "truncate: {list: id, cursor: note, budget: 2KiB}\nexamples:\n", "truncate.list", `"id" is not an array of the answer's data`},
		{"a list that is not there", "examples:\n", "truncate: {list: more, cursor: note, budget: 2KiB}\nexamples:\n", "truncate.list", `"more" is not an array of the answer's data`},
		{"a cursor that is not there", "examples:\n", "truncate: {list: tags, cursor: next, budget: 2KiB}\nexamples:\n", "truncate.cursor", `"next" is not an optional string of the answer's data`},
		{"a cursor that is required", "examples:\n", "truncate: {list: tags, cursor: state, budget: 2KiB}\nexamples:\n", "truncate.cursor", `"state" is not an optional string of the answer's data`},
		{"a cursor that is a list", "examples:\n", "truncate: {list: tags, cursor: tags, budget: 2KiB}\nexamples:\n", "truncate.cursor", `"tags" is not an optional string of the answer's data`},
		{"a budget for nothing", "examples:\n", "truncate: {list: tags, cursor: note, budget: 1KiB}\nexamples:\n", "truncate.budget", "must be over 1KiB"},
		{"a list that cannot be cut to one", "      maxItems: 3\n      items: {type: string}\n      description: Its words\n  required: [id, state]\n  additionalProperties: false\n", "      minItems: 2\n      items: {type: string}\n      description: Its words\n  required: [id, state]\n  additionalProperties: false\ntruncate: {list: tags, cursor: note, budget: 2KiB}\n", "truncate.list", "an answer may be cut to a single element of tags, but minItems requires more"},
		{"what varies is not there", "    result: {id: 1, state: new}\n", "    result: {id: 1, state: new}\n    varies: [id, at]\n", `examples "A note"`, `varies names "at", which its answer does not have`},
		{"what varies is no list", "    result: {id: 1, state: new}\n", "    result: {id: 1, state: new}\n    varies: [\"state[]\"]\n", `examples "A note"`, `varies names "state[]", which its answer does not have`},
		{"what varies is no object", "message: text must not be empty}}\n", "message: text must not be empty}}\n    varies: [error.code, error.code.more]\n", `examples "An empty note"`, `varies names "error.code.more", which its answer does not have`},
		{"an example without a title", "title: An empty note", `title: ""`, "examples", "each needs a title"},
		{"an example without an end", "    error: {error: {code: 400, message: text must not be empty}}\n", "", `examples "An empty note"`, "needs either a result or an error"},
		{"an example with two ends", "    result: {id: 1, state: new}\n", "    result: {id: 1, state: new}\n    error: {}\n", `examples "A note"`, "needs either a result or an error"},
		{"an example that is refused", "text: hello", "text: 5", `examples "A note"`, "its arguments are refused: invalid: text must be a string, not the number 5"},
		{"an example that breaks the promise", "state: new}", "state: old}", `examples "A note"`, `its result breaks the output schema: internal: Internal error: the answer breaks its contract: state must be one of new, known, not the string "old"`},
		{"an example with more than is promised", "state: new}", "state: new, more: 1}", `examples "A note"`, "its result has fields that the output schema does not name"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			c := load(t, swap(t, goodYAML, tc.was, tc.is))
			want := []contract.Finding{{Tool: "demo/" + c.Name, Where: tc.where, What: tc.what}}
			if diff := cmp.Diff(want, c.Lint()); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// TestLintOfContent: a tool answers with fields or with content, never both.
func TestLintOfContent(t *testing.T) {
	before, after, _ := strings.Cut(goodYAML, "output:\n")
	_, examples, _ := strings.Cut(after, "examples:\n")
	neither := before + "examples:\n" + examples
	both := swap(t, goodYAML, "output:\n", "content: true\noutput:\n")
	want := contract.Finding{Tool: "demo/add_note", Where: "output", What: "state either output or content: true"}
	for _, text := range []string{neither, both} {
		if findings := load(t, text).Lint(); len(findings) == 0 || findings[0] != want {
			t.Errorf("findings = %v, want %v first", findings, want)
		}
	}
	content := before + "content: true\nexamples:\n" + swap(t, examples, "{id: 1, state: new}", "{content: [{type: text, text: kept}]}")
	if findings := load(t, content).Lint(); len(findings) != 0 {
		t.Errorf("findings in a good contract: %v", findings)
	}
}

// TestLintOfHeaders: two arguments cannot share a header, in any letter case.
func TestLintOfHeaders(t *testing.T) {
	text := swap(t, swap(t, goodYAML, "path: {type: string,", "path: {type: string, x-mcp-header: Place,"),
		"name: {type: string, d", "name: {type: string, x-mcp-header: PLACE, d")
	want := []contract.Finding{{Tool: "demo/add_note", Where: "input.author.name", What: `x-mcp-header "PLACE" appears twice; letter case is ignored`}}
	c := load(t, text)
	if diff := cmp.Diff(want, c.Lint()); diff != "" {
		t.Error(diff)
	}
	mirrors := []contract.HeaderParam{{Path: []string{"path"}, Header: "Place"}, {Path: []string{"author", "name"}, Header: "PLACE"}}
	if diff := cmp.Diff(mirrors, c.MirroredArguments()); diff != "" {
		t.Error(diff)
	}
	if got := load(t, goodYAML).MirroredArguments(); got != nil {
		t.Errorf("the usual tool mirrors %v", got)
	}
}

// bareYAML is a contract that only clients with full support for JSON Schema can use.
const bareYAML = `name: test_a_name_that_some_clients_would_cut_off
title: Bare
description: For clients that are put to the test.
hints: {readOnly: true, destructive: false, idempotent: true, openWorld: false}
input:
  type: object
  $defs: {place: {type: object, properties: {city: {type: string}}}}
  properties:
    home: {$ref: "#/$defs/place"}
    kind: {const: a}
  if: {required: [kind]}
  then: {required: [home]}
  additionalProperties: false
content: true
examples:
  - {title: It fails, arguments: {}, error: {error: no}}
`

// TestLintOfHiddenSets: their definitions may use what some clients reject. All other rules apply.
func TestLintOfHiddenSets(t *testing.T) {
	hidden := setYAML + "hidden: true\n"
	if findings := loadBeside(t, hidden, bareYAML).Lint(); len(findings) != 0 {
		t.Errorf("findings in a hidden set: %v", findings)
	}
	found := map[string]bool{}
	for _, f := range load(t, bareYAML).Lint() {
		found[f.Where+": "+f.What] = true
	}
	for _, want := range []string{
		`name: "test_a_name_that_some_clients_would_cut_off" must match ^[a-z][a-z0-9_]{0,39}$`,
		"input: some clients refuse $defs; only a hidden set may use it",
		"input: some clients refuse if; only a hidden set may use it",
		"input: some clients refuse then; only a hidden set may use it",
		"input.$defs.place: must state additionalProperties",
		"input.$defs.place.city: has no description",
		"input.home: some clients refuse $ref; only a hidden set may use it",
		"input.home: has no description",
		"input.home: must have exactly one type",
		"input.kind: some clients refuse const; only a hidden set may use it",
		"examples: show at least one call that succeeds",
	} {
		if !found[want] {
			t.Errorf("in an ordinary set there is no finding %s: %v", want, found)
		}
	}
	for _, tc := range []struct{ was, is, where, what string }{
		{"city: {type: string}", "city: {type: string, default: Ulm}", "input.$defs.place.city", "only an argument itself can have a default"},
		{"then: {required", "then: {default: {}, required", "input.then", "only an argument itself can have a default"},
		{"  additionalProperties: false\n", "  additionalProperties: true\n", "input", "must refuse unknown arguments: additionalProperties: false"},
		{"{const: a}", "{const: a, x-mcp-header: Kind}", "input.kind", "x-mcp-header needs a string, an integer or a boolean"},
		{"city: {type: string}", "city: {type: string, x-mcp-header: City}", "input", "x-mcp-header must not be empty, and is allowed only on an argument or a property within one"},
		{"content: true\n", "", "output", "state either output or content: true"},
		{"examples:\n  - {title: It fails, arguments: {}, error: {error: no}}\n", "examples: []\n", "examples", "show at least one call that succeeds"},
	} {
		findings := loadBeside(t, hidden, swap(t, bareYAML, tc.was, tc.is)).Lint()
		if len(findings) == 0 || findings[0].Where != tc.where || findings[0].What != tc.what {
			t.Errorf("%s: findings = %v, want %s: %s", tc.is, findings, tc.where, tc.what)
		}
	}
}

// TestLintOfVarying: a varying field may be missing in some elements of a list.
func TestLintOfVarying(t *testing.T) {
	text := swap(t, goodYAML, "error: {error: {code: 400, message: text must not be empty}}", "error: {error: {list: [{a: 1}, {b: 2}]}}\n    varies: [\"error.list[].a\"]")
	if findings := load(t, text).Lint(); len(findings) != 0 {
		t.Errorf("findings in a good contract: %v", findings)
	}
}

// TestLintOfDefaults: a broken default also breaks the examples that rely on it.
func TestLintOfDefaults(t *testing.T) {
	want := []contract.Finding{
		{Tool: "demo/add_note", Where: "input.kind", What: "its default violates its own schema"},
		{Tool: "demo/add_note", Where: `examples "A note"`, What: `its arguments are refused: invalid: kind must be one of idea, task, not the string "thought"`},
	}
	if diff := cmp.Diff(want, load(t, swap(t, goodYAML, "default: idea", "default: thought")).Lint()); diff != "" {
		t.Error(diff)
	}
}

func TestLintOfRoots(t *testing.T) {
	c := load(t, strings.Replace(goodYAML, "output:\n  type: object", "output:\n  type: array\n  items: {type: string}", 1))
	want := contract.Finding{Tool: "demo/add_note", Where: "output", What: "the root must be an object"}
	if findings := c.Lint(); len(findings) == 0 || findings[0] != want {
		t.Errorf("findings = %v, want %v first", findings, want)
	}
}

func TestLintNeedsASuccess(t *testing.T) {
	before, examples, _ := strings.Cut(goodYAML, "  - title: A note\n")
	_, failing, _ := strings.Cut(examples, "  - title: An empty")
	c := load(t, before+"  - title: An empty"+failing)
	want := []contract.Finding{{Tool: "demo/add_note", Where: "examples", What: "show at least one call that succeeds"}}
	if diff := cmp.Diff(want, c.Lint()); diff != "" {
		t.Error(diff)
	}
}

func TestLintNeedsDeadlineAndErrors(t *testing.T) {
	c, err := contract.LoadFile(fstest.MapFS{"tool.yaml": {Data: []byte(swap(t, goodYAML, "deadline: {target: 100ms, max: 5s}\n", ""))}}, "tool.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, f := range c.Lint() {
		got = append(got, f.String())
	}
	want := []string{
		"/add_note: deadline.max: is missing",
		"/add_note: deadline.target: must be set and not over the maximum",
	}
	for _, kind := range contract.Kinds() {
		want = append(want, "/add_note: errors: state the error for kind "+string(kind))
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestLintOfSets(t *testing.T) {
	for _, tc := range []struct {
		name, set string
		files     map[string]string
		want      contract.Finding
	}{
		{"no name", swap(t, setYAML, "name: demo\n", ""), nil, contract.Finding{Where: "name", What: "is missing in _set.yaml"}},
		{"no title", swap(t, setYAML, "title: Demo\n", ""), nil, contract.Finding{Tool: "demo", Where: "title", What: "is missing in _set.yaml"}},
		{"an odd shape", swap(t, setYAML, "shape: coded", "shape: round"), nil, contract.Finding{Tool: "demo", Where: "shape", What: `"round" is not one of [coded plain envelope named]`}},
		{"a tool that is wrong", setYAML, map[string]string{"a.yaml": swap(t, goodYAML, "title: Add a note\n", "")}, contract.Finding{Tool: "demo/add_note", Where: "title", What: "is missing"}},
		{"two tools of a name", setYAML, map[string]string{"a.yaml": goodYAML, "b.yaml": goodYAML}, contract.Finding{Tool: "demo", Where: "add_note", What: "there are two tools of this name"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			files := fstest.MapFS{"_set.yaml": {Data: []byte(tc.set)}}
			for name, text := range tc.files {
				files[name] = &fstest.MapFile{Data: []byte(text)}
			}
			set, err := contract.Load(files, ".")
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff([]contract.Finding{tc.want}, set.Lint()); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// TestDrafts: drafts pass lint unchanged, with any name.
func TestDrafts(t *testing.T) {
	for _, name := range []string{"count_words", "x", "null", "true", "no", "a1_", strings.Repeat("z", 40)} {
		draft, err := contract.Draft(name)
		if err != nil {
			t.Fatal(err)
		}
		for _, folder := range []string{"contracts", "null", "my: set", "#1", "001", "it's"} {
			files := fstest.MapFS{"_set.yaml": {Data: contract.DraftSet(folder)}, name + ".yaml": {Data: draft}}
			set, err := contract.Load(files, ".")
			if err != nil {
				t.Fatalf("%s in %s: %v", name, folder, err)
			}
			if findings := set.Lint(); len(findings) != 0 || set.Name != folder || set.Contracts[0].Name != name {
				t.Errorf("%s in %s: %s/%s: %v", name, folder, set.Name, set.Contracts[0].Name, findings)
			}
		}
	}
	for _, name := range []string{"", "Hello", "1st", "a-b", "a b", "_x", strings.Repeat("z", 41), "é", "x\n"} {
		if _, err := contract.Draft(name); err == nil || !strings.Contains(err.Error(), "a tool's name must match") {
			t.Errorf("Draft(%q) = %v", name, err)
		}
	}
}

func TestDraftHandler(t *testing.T) {
	got := contract.DraftHandler("count_words")
	for _, want := range []string{"type CountWordsIn struct", "func (t *Tools) CountWords(_ context.Context, in CountWordsIn) (CountWordsOut, error)", `"count_words": engine.Handle(t.CountWords)`} {
		if !strings.Contains(got, want) {
			t.Errorf("the draft lacks %s:\n%s", want, got)
		}
	}
}
