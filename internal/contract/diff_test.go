package contract_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"remit/internal/contract"
	"remit/internal/contract/jsontree"
)

// TestRules tests the rule for versions: MAJOR for a breaking change to parameters or response,
// MINOR for new optional ones, PATCH for the rest.
func TestRules(t *testing.T) {
	const major, minor, patch = contract.Major, contract.Minor, contract.Patch
	for _, tc := range []struct {
		name, was, is string // a part of goodYAML, before and after
		bump          contract.Bump
		where, what   string
	}{
		{"an enum value was added", "enum: [idea, task]", "enum: [idea, task, plan]", major, "input.kind", `enum went from ["idea","task"] to ["idea","task","plan"], a breaking change to the parameters`},
		{"an enum value was removed", "enum: [idea, task]", "enum: [idea]", major, "input.kind", `enum went from ["idea","task"] to ["idea"], a breaking change to the parameters`},
		{"an enum came", "text: {type: string,", "text: {type: string, enum: [a],", major, "input.text", `enum went from nothing to ["a"], a breaking change to the parameters`},
		{"an enum of the output", "enum: [new, known]", "enum: [new, known, old]", major, "output.state", `enum went from ["new","known"] to ["new","known","old"], a breaking change to the response`},
		{"an argument became required", "required: [path, text]", "required: [path, text, rank]", major, "input.rank", "the field became required, a breaking change to the parameters"},
		{"an argument became optional", "required: [path, text]", "required: [path]", major, "input.text", "the field is no longer required, a breaking change to the parameters"},
		{"a nested field became optional", "required: [name]", "required: []", major, "input.author.name", "the field is no longer required, a breaking change to the parameters"},
		{"an output field became optional", "required: [id, state]", "required: [id]", major, "output.state", "the field is no longer required, a breaking change to the response"},
		{"an output field became required", "required: [id, state]", "required: [id, state, note]", major, "output.note", "the field became required, a breaking change to the response"},
		{"an argument was removed", "    rank: {type: integer, minimum: 1, maximum: 9, description: How important it is}\n", "", major, "input.rank", "the field was removed, a breaking change to the parameters"},
		{"an argument was renamed", "    rank: {", "    order: {", major, "input.rank", "the field was removed, a breaking change to the parameters"},
		{"an optional argument was added", "    rank: {", "    more: {type: string, description: x}\n    rank: {", minor, "input.more", "an optional field was added, a new part of the parameters"},
		{"a required argument was added", "  required: [path, text]", "    more: {type: string, description: x}\n  required: [path, text, more]", major, "input.more", "a required field was added, a breaking change to the parameters"},
		{"a nested field was added", "        name: {", "        mail: {type: string, description: x}\n        name: {", minor, "input.author.mail", "an optional field was added, a new part of the parameters"},
		{"a nested field was removed", "        name: {type: string, description: Who wrote it}\n      required: [name]\n", "        mail: {type: string, description: x}\n      required: [mail]\n", major, "input.author.name", "the field was removed, a breaking change to the parameters"},
		{"an output field was removed", "    note: {type: string, maxLength: 500, description: What it says}\n", "", major, "output.note", "the field was removed, a breaking change to the response"},
		{"an output field was added", "    note: {", "    more: {type: string, description: x}\n    note: {", minor, "output.more", "a field was added, a new part of the response"},
		{"a required output field was added", "  required: [id, state]", "    more: {type: string, description: x}\n  required: [id, state, more]", minor, "output.more", "a field was added, a new part of the response"},
		{"a type changed", "rank: {type: integer", "rank: {type: number", major, "input.rank", `type went from "integer" to "number", a breaking change to the parameters`},
		{"a type of the output changed", "id: {type: integer", "id: {type: number", major, "output.id", `type went from "integer" to "number", a breaking change to the response`},
		{"the type of elements changed", "items: {type: string, maxLength: 10}", "items: {type: integer}", major, "input.tags[]", `type went from "string" to "integer", a breaking change to the parameters`},
		{"a bound of elements", "items: {type: string, maxLength: 10}", "items: {type: string, maxLength: 9}", major, "input.tags[]", "maxLength went from 10 to 9, a breaking change to the parameters"},
		{"a type within an option", "{type: string, format: date}, {", "{type: integer}, {", major, "input.due(1)", `type went from "string" to "integer", a breaking change to the parameters`},
		{"an option less", `anyOf: [{type: string, format: date}, {type: "null"}]`, "anyOf: [{type: string, format: date}]", major, "input.due", `anyOf went from [{"type":"string","format":"date"},{"type":"null"}] to [{"type":"string","format":"date"}], a breaking change to the parameters`},
		{"an object was closed", "additionalProperties: false\n      description: Who wrote it", "additionalProperties: true\n      description: Who wrote it", major, "input.author", "additionalProperties went from false to true, a breaking change to the parameters"},

		{"input: a lower bound raised", "minimum: 1, maximum: 9", "minimum: 2, maximum: 9", major, "input.rank", "minimum went from 1 to 2, a breaking change to the parameters"},
		{"input: a lower bound lowered", "minimum: 1, maximum: 9", "minimum: 0, maximum: 9", minor, "input.rank", "minimum went from 1 to 0, which does not affect existing callers"},
		{"input: a lower bound gone", "minimum: 1, maximum: 9", "maximum: 9", minor, "input.rank", "minimum went from 1 to nothing, which does not affect existing callers"},
		{"input: a lower bound new", "path: {type: string,", "path: {type: string, minLength: 2,", major, "input.path", "minLength went from nothing to 2, a breaking change to the parameters"},
		{"input: an upper bound lowered", "minimum: 1, maximum: 9", "minimum: 1, maximum: 8", major, "input.rank", "maximum went from 9 to 8, a breaking change to the parameters"},
		{"input: an upper bound raised", "minimum: 1, maximum: 9", "minimum: 1, maximum: 10", minor, "input.rank", "maximum went from 9 to 10, which does not affect existing callers"},
		{"input: an upper bound gone", "minimum: 1, maximum: 9", "minimum: 1", minor, "input.rank", "maximum went from 9 to nothing, which does not affect existing callers"},
		{"input: an upper bound new", "author:\n      type: object", "author:\n      type: object\n      maxItems: 4", major, "input.author", "maxItems went from nothing to 4, a breaking change to the parameters"},
		{"input: maxItems lowered", "minItems: 1\n      maxItems: 3", "minItems: 1\n      maxItems: 2", major, "input.tags", "maxItems went from 3 to 2, a breaking change to the parameters"},
		{"input: minItems raised", "minItems: 1\n", "minItems: 2\n", major, "input.tags", "minItems went from 1 to 2, a breaking change to the parameters"},
		{"output: a lower bound raised", "id: {type: integer, minimum: 1", "id: {type: integer, minimum: 2", minor, "output.id", "minimum went from 1 to 2, which does not affect existing callers"},
		{"output: a lower bound lowered", "id: {type: integer, minimum: 1", "id: {type: integer, minimum: 0", major, "output.id", "minimum went from 1 to 0, a breaking change to the response"},
		{"output: a lower bound gone", "id: {type: integer, minimum: 1,", "id: {type: integer,", major, "output.id", "minimum went from 1 to nothing, a breaking change to the response"},
		{"output: an upper bound raised", "note: {type: string, maxLength: 500", "note: {type: string, maxLength: 600", major, "output.note", "maxLength went from 500 to 600, a breaking change to the response"},
		{"output: an upper bound lowered", "note: {type: string, maxLength: 500", "note: {type: string, maxLength: 400", minor, "output.note", "maxLength went from 500 to 400, which does not affect existing callers"},
		{"output: an upper bound gone", "note: {type: string, maxLength: 500,", "note: {type: string,", major, "output.note", "maxLength went from 500 to nothing, a breaking change to the response"},
		{"output: an upper bound new", "id: {type: integer, minimum: 1", "id: {type: integer, maximum: 7, minimum: 1", minor, "output.id", "maximum went from nothing to 7, which does not affect existing callers"},

		{"a pattern changed", `pattern: "^[a-z/.]+$"`, `pattern: "^[a-z/._]+$"`, major, "input.path", `pattern went from "^[a-z/.]+$" to "^[a-z/._]+$", a breaking change to the parameters`},
		{"a pattern went", `pattern: "^[a-z/.]+$", `, "", major, "input.path", `pattern went from "^[a-z/.]+$" to nothing, a breaking change to the parameters`},
		{"a format changed", "{type: string, format: date}, {", "{type: string, format: date-time}, {", major, "input.due(1)", `format went from "date" to "date-time", a breaking change to the parameters`},
		{"a format came", "text: {type: string,", "text: {type: string, format: uri,", major, "input.text", `format went from nothing to "uri", a breaking change to the parameters`},
		{"an x-code came", "text: {type: string,", "text: {type: string, x-code: bad_text,", major, "input.text", `x-code went from nothing to "bad_text", a breaking change to the parameters`},
		{"an x-code for a rule", "text: {type: string,", "text: {type: string, x-code: {minLength: empty},", major, "input.text", `x-code went from nothing to {"minLength":"empty"}, a breaking change to the parameters`},
		{"an x-message for a rule", "text: {type: string,", "text: {type: string, x-message: {minLength: Write something},", patch, "input.text", "x-message was reworded, a documentation change"},
		{"an x-trim came", "text: {type: string,", "text: {type: string, x-trim: true,", major, "input.text", "x-trim went from nothing to true, a breaking change to the parameters"},
		{"an x-accepts came", "text: {type: string,", "text: {type: string, x-accepts: integer,", minor, "input.text", `x-accepts went from nothing to "integer", which does not affect existing callers`},
		{"the status of an error", "examples:\n", "errors:\n  invalid: {code: 400, status: 422}\nexamples:\n", major, "errors.invalid", "the HTTP status went from 400 to 422, a breaking change to the response"},
		{"another sentence", "by {author.name}]", "from {author.name}]", patch, "summary", "it was changed, with no breaking change to parameters or response"},
		{"another target", `target: "{path}"`, `target: "{kind}"`, patch, "target", "it was changed, with no breaking change to parameters or response"},
		{"the status that it had", "examples:\n", "errors:\n  invalid: {code: 400, status: 400}\nexamples:\n", patch, "errors", "it was changed, with no breaking change to parameters or response"},
		{"a long answer is cut", "examples:\n", "truncate: {list: tags, cursor: note, budget: 2KiB}\nexamples:\n", minor, "truncate", "a long answer is cut and continues at note, a new part of the response"},
		{"a default changed", "default: idea", "default: task", minor, "input.kind", `default went from "idea" to "task", which changes what an absent argument means`},
		{"an x-message came", "text: {type: string,", "text: {type: string, x-message: Write something,", patch, "input.text", "x-message was reworded, a documentation change"},
		{"an x-redact came", "text: {type: string,", "text: {type: string, x-redact: true,", patch, "input.text", "x-redact went from nothing to true, which affects only the audit record"},
		{"a field's description", "description: Its number", "description: The number", patch, "output.id", "description was reworded, a documentation change"},
		{"the description", "description: Adds a note to a file.", "description: Adds a note.", patch, "description", "it was changed, with no breaking change to parameters or response"},
		{"the title", "title: Add a note", "title: Add one", patch, "title", "it was changed, with no breaking change to parameters or response"},
		{"an example", "title: A note", "title: One note", patch, "examples", "it was changed, with no breaking change to parameters or response"},
		{"the name", "name: add_note", "name: put_note", major, "name", "the tool was renamed from add_note to put_note"},
		{"the hints", "idempotent: false", "idempotent: true", patch, "hints", "it was changed, with no breaking change to parameters or response"},
		{"the access, closed", "access: caller", "access: public", patch, "access", "it was changed, with no breaking change to parameters or response"},
		{"approval is no longer needed", "approval: {required: true, window: 1h}", "approval: {required: false, window: 1h}", patch, "approval", "it was changed, with no breaking change to parameters or response"},
		{"the window of approval", "window: 1h", "window: 2h", patch, "approval", "it was changed, with no breaking change to parameters or response"},
		{"the size of the request, lowered", "request: 64KiB", "request: 32KiB", major, "size.request", "went from 64KiB to 32KiB, a breaking change to the parameters"},
		{"the size of the request, raised", "request: 64KiB", "request: 128KiB", patch, "size", "it was changed, with no breaking change to parameters or response"},
		{"the size of an argument, lowered", "args: {text: 1KiB}", "args: {text: 1000B}", major, "size.args.text", "the limit is now 1000B, a breaking change to the parameters"},
		{"the size of an argument, new", "args: {text: 1KiB}", "args: {text: 1KiB, path: 10B}", major, "size.args.path", "the limit is now 10B, a breaking change to the parameters"},
		{"the size of an argument, raised", "args: {text: 1KiB}", "args: {text: 2KiB}", patch, "size", "it was changed, with no breaking change to parameters or response"},
		{"the paths", "allow: [notes/**]", "allow: [notes/**, docs/**]", patch, "paths", "it was changed, with no breaking change to parameters or response"},
		{"the rate", "rate: 10/min", "rate: 20/min", patch, "rate", "it was changed, with no breaking change to parameters or response"},
		{"the deadline", "max: 5s", "max: 6s", patch, "deadline", "it was changed, with no breaking change to parameters or response"},
		{"the code of an error", "examples:\n", "errors:\n  invalid: {code: 422}\nexamples:\n", major, "errors.invalid", `the code went from "400" to "422", a breaking change to the response`},
		{"the words of an error", "examples:\n", "errors:\n  invalid: {code: 400, message: Bad}\nexamples:\n", patch, "errors", "it was changed, with no breaking change to parameters or response"},
		{"a detail of an error", "examples:\n", "errors:\n  invalid: {code: 400, details: [field]}\nexamples:\n", minor, "errors.invalid", "the detail field was added, a new part of the response"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			old, updated := load(t, goodYAML), load(t, swap(t, goodYAML, tc.was, tc.is))
			changes := contract.Compare(old, updated)
			want := contract.Change{Bump: tc.bump, Where: tc.where, What: tc.what}
			if len(changes) == 0 || changes[0] != want || contract.MaxBump(changes) != tc.bump {
				t.Fatalf("got  %v\nwant %v first", changes, want)
			}
			checkReview(t, old, updated, tc.bump, want)
		})
	}
}

// checkReview: the needed bump is enough, and the next smaller one is not.
func checkReview(t *testing.T, old, updated *contract.Contract, needed contract.Bump, first contract.Change) {
	t.Helper()
	v := old.Version
	for bump, version := range map[contract.Bump]contract.Version{
		contract.None: v, contract.Patch: {Major: v.Major, Minor: v.Minor, Patch: v.Patch + 1},
		contract.Minor: {Major: v.Major, Minor: v.Minor + 1}, contract.Major: {Major: v.Major + 1},
	} {
		updated.Version = version
		if old.Name != updated.Name {
			return // a new name is a new tool: the review has one removed and one added
		}
		reviews := contract.Review(setOf(old), setOf(updated))
		if len(reviews) != 1 || reviews[0].Enough != (bump >= needed) {
			t.Errorf("from %s to %s: %+v, want a review that says whether %s is enough", v, version, reviews, bump)
			continue
		}
		if r := reviews[0]; r.Tool != "demo/"+old.Name || r.Old != v || r.New != version || r.Needed != needed || r.Changes[0] != first {
			t.Errorf("from %s to %s: %+v, want %s needed for %v", v, version, r, needed, first)
		}
	}
}

func setOf(contracts ...*contract.Contract) []*contract.Set {
	return []*contract.Set{{Name: "demo", Shape: contract.Coded, Contracts: contracts}}
}

func TestReverseRules(t *testing.T) {
	for _, tc := range []struct {
		name, was, is string
		want          contract.Change
	}{
		{"public no more", "access: public", "access: caller", contract.Change{Bump: contract.Major, Where: "access", What: "the tool is no longer public"}},
		{"approval from now on", "approval: {required: false, window: 1h}", "approval: {required: true, window: 1h}", contract.Change{Bump: contract.Major, Where: "approval", What: "calls that ran at once now need approval"}},
		{"a detail less", "errors: {invalid: {code: 400, details: [field]}}", "errors: {invalid: {code: 400}}", contract.Change{Bump: contract.Major, Where: "errors.invalid", What: "the detail field was removed, a breaking change to the response"}},
		{"fields become content", "output: {type: object}", "content: true", contract.Change{Bump: contract.Major, Where: "output", What: "the answer went from fields to content, a breaking change to the response"}},
		{"content becomes fields", "content: true", "output: {type: object}", contract.Change{Bump: contract.Major, Where: "output", What: "the answer went from content to fields, a breaking change to the response"}},
		{"a task may be", "content: true", "content: true\ntask: optional", contract.Change{Bump: contract.Minor, Where: "task", What: "the tool can run as a task, a new part of the response"}},
		{"a task must be", "task: optional", "task: required", contract.Change{Bump: contract.Major, Where: "task", What: `it went from "optional" to "required", a breaking change to the response`}},
		{"a task no more", "task: optional", "title: Demo", contract.Change{Bump: contract.Major, Where: "task", What: `it went from "optional" to "", a breaking change to the response`}},
		{"text is trimmed no more", "input: {properties: {a: {type: string, x-trim: true}}}", "input: {properties: {a: {type: string}}}", contract.Change{Bump: contract.Major, Where: "input.a", What: "x-trim went from true to nothing, a breaking change to the parameters"}},
		{"integers are taken no more", "input: {properties: {a: {type: string, x-accepts: integer}}}", "input: {properties: {a: {type: string}}}", contract.Change{Bump: contract.Major, Where: "input.a", What: `x-accepts went from "integer" to nothing, a breaking change to the parameters`}},
		{"another list is cut", "truncate: {list: a, cursor: c, budget: 2KiB}", "truncate: {list: b, cursor: c, budget: 2KiB}", contract.Change{Bump: contract.Major, Where: "truncate", What: `it went from a and "c" to b and "c", a breaking change to the response`}},
		{"another cursor goes on", "truncate: {list: a, cursor: c, budget: 2KiB}", "truncate: {list: a, cursor: d, budget: 2KiB}", contract.Change{Bump: contract.Major, Where: "truncate", What: `it went from a and "c" to a and "d", a breaking change to the response`}},
		{"another budget", "truncate: {list: a, cursor: c, budget: 2KiB}", "truncate: {list: a, cursor: c, budget: 3KiB}", contract.Change{Bump: contract.Patch, Where: "truncate", What: "it was changed, with no breaking change to parameters or response"}},
		{"nothing is cut any more", "title: Demo\ntruncate: {list: a, cursor: c, budget: 2KiB}", "title: Demo", contract.Change{Bump: contract.Patch, Where: "truncate", What: "it was changed, with no breaking change to parameters or response"}},
		{"the end of a long answer is lost", "title: Demo", "title: Demo\ntruncate: {list: a, budget: 2KiB}", contract.Change{Bump: contract.Major, Where: "truncate", What: "a long answer is cut without a cursor, a breaking change to the response"}},
		{"a cursor goes on no more", "truncate: {list: a, cursor: c, budget: 2KiB}", "truncate: {list: a, budget: 2KiB}", contract.Change{Bump: contract.Major, Where: "truncate", What: `it went from a and "c" to a and "", a breaking change to the response`}},
		{"a list becomes bare", "title: Demo", "title: Demo\nbare: a", contract.Change{Bump: contract.Major, Where: "bare", What: `it went from "" to "a", a breaking change to the response`}},
		{"a list is bare no more", "title: Demo\nbare: a", "title: Demo", contract.Change{Bump: contract.Major, Where: "bare", What: `it went from "a" to "", a breaking change to the response`}},
		{"a header came", "input: {properties: {a: {type: string}}}", "input: {properties: {a: {type: string, x-mcp-header: A}}}", contract.Change{Bump: contract.Major, Where: "input.a", What: `x-mcp-header went from nothing to "A", a breaking change to the parameters`}},
		{"a definition changed", "input: {$defs: {a: {type: string}}}", "input: {$defs: {a: {type: integer}}}", contract.Change{Bump: contract.Major, Where: "input", What: `$defs went from {"a":{"type":"string"}} to {"a":{"type":"integer"}}, a breaking change to the parameters`}},
		{"a condition came", "input: {}", "input: {if: {}, then: {}}", contract.Change{Bump: contract.Major, Where: "input", What: `if went from nothing to {}, a breaking change to the parameters`}},
		{"a schema for further members", "output: {type: object, additionalProperties: {type: string}}", "output: {type: object, additionalProperties: {type: integer}}", contract.Change{Bump: contract.Major, Where: "output.*", What: `type went from "string" to "integer", a breaking change to the response`}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			old, updated := load(t, "name: demo\n"+tc.was), load(t, "name: demo\n"+tc.is)
			if changes := contract.Compare(old, updated); len(changes) == 0 || changes[0] != tc.want {
				t.Errorf("got  %v\nwant %v", changes, tc.want)
			}
		})
	}
	plain := loadBeside(t, swap(t, setYAML, "shape: coded", "shape: plain"), goodYAML)
	want := contract.Change{Bump: contract.Major, Where: "shape", What: "errors went from shape coded to plain, a breaking change to the response"}
	if changes := contract.Compare(load(t, goodYAML), plain); len(changes) != 1 || changes[0] != want {
		t.Errorf("shape: %v", changes)
	}
}

// TestWordsOnlyInAnOption: documentation counts as documentation in every place.
func TestWordsOnlyInAnOption(t *testing.T) {
	old := load(t, goodYAML)
	updated := load(t, swap(t, goodYAML, "{type: string, format: date}, {", "{type: string, format: date, description: A day}, {"))
	want := []contract.Change{{Bump: contract.Patch, Where: "input.due(1)", What: "description was reworded, a documentation change"}}
	if diff := cmp.Diff(want, contract.Compare(old, updated)); diff != "" {
		t.Error(diff)
	}
}

func TestGreatestFirst(t *testing.T) {
	text := swap(t, goodYAML, "description: Its number", "description: The number")
	text = swap(t, text, "    note: {", "    more: {type: string, description: x}\n    note: {")
	text = swap(t, text, "enum: [idea, task]", "enum: [idea]")
	var bumps []contract.Bump
	for _, c := range contract.Compare(load(t, goodYAML), load(t, text)) {
		bumps = append(bumps, c.Bump)
	}
	if diff := cmp.Diff([]contract.Bump{contract.Major, contract.Minor, contract.Patch}, bumps); diff != "" {
		t.Error(diff)
	}
}

func TestReview(t *testing.T) {
	version := func(text string) *contract.Contract {
		return load(t, swap(t, goodYAML, "version: 1.2.3", "version: "+text))
	}
	other := load(t, swap(t, goodYAML, "name: add_note", "name: new_tool"))
	for _, tc := range []struct {
		name         string
		old, updated []*contract.Set
		tools        []string
		refused      string // the change that needs a larger bump, and that bump
	}{
		{"nothing", setOf(version("1.2.3")), setOf(version("1.2.3")), nil, ""},
		{"a version raised for nothing", setOf(version("1.2.3")), setOf(version("2.0.0")), nil, ""},
		{
			"a version that goes back", setOf(version("1.2.3")), setOf(version("1.2.2")),
			[]string{"demo/add_note"},
			"version: it went back from 1.2.3 to 1.2.2, so callers cannot tell which is newer: PATCH",
		},
		{
			"a major version that goes back", setOf(version("2.0.0")), setOf(version("1.9.9")),
			[]string{"demo/add_note"},
			"version: it went back from 2.0.0 to 1.9.9, so callers cannot tell which is newer: PATCH",
		},
		{
			"a tool removed", setOf(version("1.2.3"), other), setOf(version("1.2.3")),
			[]string{"demo/new_tool"},
			"tool: it was removed, which breaks every caller: MAJOR",
		},
		{
			"a set removed", setOf(version("1.2.3")), nil,
			[]string{"demo/add_note"},
			"tool: it was removed, which breaks every caller: MAJOR",
		},
		{"a tool added", setOf(version("1.2.3")), setOf(version("1.2.3"), other), []string{"demo/new_tool"}, ""},
		{"the first catalog", nil, setOf(version("1.2.3")), []string{"demo/add_note"}, ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			var tools []string
			refused := ""
			for _, r := range contract.Review(tc.old, tc.updated) {
				tools = append(tools, r.Tool)
				if !r.Enough {
					refused += fmt.Sprintf("%s: %s: %s", r.Changes[0].Where, r.Changes[0].What, r.Needed)
				}
			}
			if diff := cmp.Diff(tc.tools, tools); diff != "" {
				t.Errorf("reviewed: %s", diff)
			}
			if refused != tc.refused {
				t.Errorf("got  %s\nwant %s", refused, tc.refused)
			}
		})
	}
}

func TestReviewAsJSON(t *testing.T) {
	updated := load(t, swap(t, goodYAML, "title: Add a note", "title: Add one"))
	data, err := json.Marshal(contract.Review(setOf(load(t, goodYAML)), setOf(updated)))
	if err != nil {
		t.Fatal(err)
	}
	want := `[{"tool":"demo/add_note","old":"1.2.3","new":"1.2.3","needed":"PATCH","enough":false,"changes":[{"bump":"PATCH","where":"title","what":"it was changed, with no breaking change to parameters or response"}]}]`
	if string(data) != want {
		t.Errorf("got  %s\nwant %s", data, want)
	}
}

// TestEveryChangeCounts: any change of a contract's content changes its digest and needs a bump,
// and without a change both stay the same.
func TestEveryChangeCounts(t *testing.T) {
	base := asYAML(t, load(t, goodYAML))
	fixed := load(t, base)
	if changes := contract.Compare(fixed, load(t, base)); len(changes) != 0 {
		t.Fatalf("nothing changed, but: %v", changes)
	}
	rapid.Check(t, func(rt *rapid.T) {
		changed := tree(t, base)
		mutate(rt, &changed)
		updated, err := contract.LoadFile(fstest.MapFS{"_set.yaml": {Data: []byte(setYAML)}, "tool.yaml": {Data: changed.Append(nil)}}, "tool.yaml")
		if err != nil || updated.Version != fixed.Version {
			rt.Skip("no contract any more, or only another version")
		}
		changes := contract.Compare(fixed, updated)
		if (updated.Digest == fixed.Digest) != (len(changes) == 0) {
			rt.Fatalf("digest equal: %t, changes: %v\n%s", updated.Digest == fixed.Digest, changes, changed.Append(nil))
		}
		if len(contract.Compare(updated, updated)) != 0 {
			rt.Fatalf("compared with itself: %v", contract.Compare(updated, updated))
		}
		back := contract.Compare(updated, fixed)
		if (len(back) == 0) != (len(changes) == 0) {
			rt.Fatalf("forth %v, back %v", changes, back)
		}
	})
}

// asYAML writes a contract as JSON, which is valid YAML, with the keys of a contract file.
func asYAML(t *testing.T, c *contract.Contract) string {
	t.Helper()
	data, err := json.Marshal(c)
	if err != nil {
		t.Fatal(err)
	}
	v := tree(t, string(data))
	v.Members = slices.DeleteFunc(v.Members, func(m jsontree.Member) bool { return m.Key == "digest" })
	return written(v)
}

// mutate changes one place in a tree: it changes a value or a key, or removes a member.
func mutate(t *rapid.T, v *jsontree.Value) {
	for len(v.Members) > 0 {
		i := rapid.IntRange(0, len(v.Members)-1).Draw(t, "member")
		m := &v.Members[i]
		switch rapid.IntRange(0, 5).Draw(t, "how") {
		case 0:
			v.Members = slices.Delete(v.Members, i, i+1)
			return
		case 1:
			m.Value = rapid.SampledFrom([]jsontree.Value{jsontree.Str("text"), jsontree.Int(7), jsontree.Boolean(true), {}, jsontree.Arr(), jsontree.Obj()}).Draw(t, "value")
			return
		case 2:
			if v.Kind == jsontree.Object && m.Key != "description" {
				m.Key += "x"
				return
			}
		}
		v = &m.Value
	}
	switch v.Kind {
	case jsontree.String:
		v.Text += "x"
	case jsontree.Number:
		v.Text += "1"
	default:
		*v = jsontree.Boolean(!v.True())
	}
}
