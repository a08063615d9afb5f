package catalog_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path"
	"strings"
	"testing"
	"testing/fstest"

	"remit/internal/contract"
	"remit/internal/contract/catalog"
	"remit/internal/contract/jsontree"
)

func compiledSets(t testing.TB) []*contract.Set {
	t.Helper()
	sets, err := catalog.Load()
	if err != nil {
		t.Fatalf("%v; run go generate ./...", err)
	}
	return sets
}

// TestHiddenSets: a hidden set is shown only to callers that name it.
func TestHiddenSets(t *testing.T) {
	for _, set := range compiledSets(t) {
		if set.Hidden {
			t.Errorf("%s is listed", set.Name)
		}
	}
	all, err := catalog.Load("booster", "conformance")
	if err != nil {
		t.Fatal(err)
	}
	chosen, err := catalog.Select(all, []string{"conformance"})
	if err != nil || !chosen[0].Hidden || chosen[0].Contracts[0].Name != "test_simple_text" {
		t.Fatalf("Select = %v, %v", chosen, err)
	}
	if findings := chosen[0].Lint(); len(findings) != 0 {
		t.Errorf("a hidden set is not read back as one: %v", findings)
	}
	if page := string(catalog.Page(chosen[0].Find("json_schema_2020_12_tool"))); !strings.Contains(page, "- `address` (#/$defs/address, ") || !strings.Contains(page, "\nReturns content: ") {
		t.Errorf("the page of a tool:\n%s", page)
	}
	if known, err := catalog.Load("booster", "learning-os"); err != nil || len(known) != len(compiledSets(t)) {
		t.Errorf("to serve the others, %d sets are read, %v", len(known), err)
	}
}

// TestCompiled: the compiled contracts equal those of the files, including digests. tools/generate
// tests that the generated files are up to date to the byte.
func TestCompiled(t *testing.T) {
	want, err := contract.LoadAll(os.DirFS("../../toolsets"))
	if err != nil {
		t.Fatal(err)
	}
	all, err := catalog.Load("conformance")
	if err != nil || len(all) != len(want) {
		t.Fatalf("%d sets are compiled, %d are in the files, %v", len(all), len(want), err)
	}
	for _, set := range want {
		chosen, err := catalog.Select(all, []string{set.Name})
		if err != nil {
			t.Fatal(err)
		}
		got := chosen[0]
		if set.Instructions != got.Instructions || set.Description != got.Description || set.Title != got.Title || set.Hidden != got.Hidden || len(set.Contracts) != len(got.Contracts) {
			t.Errorf("set %s is stale; run go generate ./...", set.Name)
			continue
		}
		for i, c := range set.Contracts {
			if other := got.Contracts[i]; c.Digest != other.Digest || c.Set != other.Set || c.Shape != other.Shape || c.Version != other.Version {
				t.Errorf("%s/%s is stale: %s/%s %s; run go generate ./...", c.Set, c.Name, other.Set, other.Name, other.Digest)
			}
		}
	}
	if changes := contract.Review(all, want); len(changes) != 0 {
		t.Errorf("they differ: %v", changes)
	}
}

func TestDecodeRefuses(t *testing.T) {
	for _, tc := range []struct{ data, want string }{
		{"", "read catalog: unexpected end at byte 0"},
		{"[]", "read catalog: an array cannot be read into catalog.document"},
		{`{"sets":[null]}`, "read catalog: null is neither a set nor a contract"},
		{`{"sets":[{"contracts":[null]}]}`, "read catalog: null is neither a set nor a contract"},
		{`{"sets":[{"contracts":[{"version":"1"}]}]}`, "read catalog: sets: contracts: version: a version has three numbers, like 1.0.0"},
	} {
		if _, err := catalog.Decode([]byte(tc.data)); err == nil || err.Error() != tc.want {
			t.Errorf("Decode(%s) = %v, want %s", tc.data, err, tc.want)
		}
	}
}

func TestSelect(t *testing.T) {
	sets := []*contract.Set{{Name: "booster"}, {Name: "learning-os"}, {Name: "tasks"}, {Name: "weathered", Hidden: true}}
	for _, tc := range []struct {
		names []string
		want  string
	}{
		{[]string{"tasks", "booster"}, "tasks,booster"},
		{[]string{"tasks", "tasks"}, "tasks"},
		{[]string{"weathered"}, "weathered"},
		{nil, ""},
		{[]string{"task"}, `there is no toolset "task"; did you mean "tasks"?`},
		{[]string{"booster", "Learning-OS"}, `there is no toolset "Learning-OS"; did you mean "learning-os"?`},
		{[]string{"weather"}, `there is no toolset "weather"; known: booster, learning-os, tasks`},
		{[]string{""}, `there is no toolset ""; known: booster, learning-os, tasks`},
	} {
		var names []string
		selected, err := catalog.Select(sets, tc.names)
		for _, set := range selected {
			names = append(names, set.Name)
		}
		got := strings.Join(names, ",")
		if err != nil {
			got = err.Error()
		}
		if got != tc.want {
			t.Errorf("Select(%q) = %s, want %s", tc.names, got, tc.want)
		}
	}
}

func TestPromises(t *testing.T) {
	chosen, err := catalog.Select(compiledSets(t), []string{"booster", "tasks"})
	if err != nil {
		t.Fatal(err)
	}
	for mode, want := range map[contract.TaskMode]string{"": "writes · not idempotent", contract.TaskOptional: "writes · not idempotent · may run as a task", contract.TaskRequired: "writes · not idempotent · runs as a task"} {
		promises := catalog.Summary(&contract.Contract{Task: mode})
		if got := strings.Join(promises[1:len(promises)-1], " · "); got != want {
			t.Errorf("task %q: %s, want %s", mode, got, want)
		}
	}
	for tool, want := range map[string]string{
		"booster/hello":              "version 1.0.1 · read-only · idempotent · public · 100/min per caller · usually within 100ms, at most 5s",
		"booster/write_memory_entry": "version 1.1.2 · writes · not idempotent · needs approval · entry at most 10KiB · usually within 100ms, at most 5s",
		"tasks/list_tasks":           "version 1.3.0 · read-only · idempotent · callers with a token: only their own user_id · answers of at most 48KiB, continued with nextCursor · usually within 200ms, at most 5s",
	} {
		set := chosen[0]
		if strings.HasPrefix(tool, "tasks/") {
			set = chosen[1]
		}
		if got := strings.Join(catalog.Summary(set.Find(path.Base(tool))), " · "); got != want {
			t.Errorf("%s: %s, want %s", tool, got, want)
		}
	}
}

// TestPage: the page shows what a field's schema says, and no text of a contract breaks a list.
func TestPage(t *testing.T) {
	files := fstest.MapFS{"_set.yaml": {Data: contract.DraftSet("demo")}, "x.yaml": {Data: []byte(`name: x
title: X
description: "Either a|b"
input:
  type: object
  properties:
    kind: {type: string, pattern: "^(a|b)$", description: "One\nof two"}
    list: {type: array, default: [1], items: {type: object, properties: {id: {type: integer, minimum: 1, description: A number}}, required: [id]}, description: Things}
    due: {anyOf: [{type: string}, {type: "null"}], description: A day}
output: {type: object}
`)}}
	set, err := contract.Load(files, ".")
	if err != nil {
		t.Fatal(err)
	}
	page := string(catalog.Page(set.Contracts[0]))
	for _, want := range []string{
		"- `kind` (string, optional): One of two (pattern `^(a|b)$`)\n",
		"- `list` (array, optional): Things (default `[1]`)\n- `list[].id` (integer, required): A number (minimum `1`)\n",
		"- `due` (string or null, optional): A day\n",
		"Returns: none.\n",
	} {
		if !strings.Contains(page, want) {
			t.Errorf("the page lacks %q:\n%s", want, page)
		}
	}
	if overview := string(catalog.Markdown([]*contract.Set{set})); !strings.Contains(overview, "](#demox) 1.0.0: Either a|b\n") {
		t.Errorf("the overview:\n%s", overview)
	}
}

// TestWrap: lines have at most 120 columns, and none of them begins a list, a heading or a quote.
func TestWrap(t *testing.T) {
	long := strings.Repeat("x", 117)
	for _, tc := range []struct{ name, text, want string }{
		{"short", "one  two\nthree", "one two three"},
		{"empty", "", ""},
		{"fits", long + " y", long + "\n  y"},
		{"a word longer than a line", "a " + long + long + " b", "a\n  " + long + long + "\n  b"},
		{"letters, not bytes", strings.Repeat("é", 116) + " y", strings.Repeat("é", 116) + " y"},
		{"a code span stays whole", long + " `a b`", long + "\n  `a b`"},
		{"a code span of many words", "`a b` " + long + " `c", "`a b`\n  " + long + "\n  `c"},
		{"no line begins with a plus sign", "one " + long[:113] + " + two", "one\n  " + long[:113] + " +\n  two"},
		{"no line begins with a number", "one " + long[:113] + " 1. two", "one\n  " + long[:113] + " 1.\n  two"},
		{"no line begins with a number sign", "one " + long[:113] + " ## two", "one\n  " + long[:113] + " ##\n  two"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if got := catalog.Wrap(tc.text, "  "); got != tc.want {
				t.Errorf("got  %q\nwant %q", got, tc.want)
			}
		})
	}
}

// TestLongExample: an example that does not fit on a line has one for each member.
func TestLongExample(t *testing.T) {
	long := strings.Repeat("x", 100)
	c := &contract.Contract{Name: "x", Examples: []contract.Example{{
		Title:     "Long",
		Arguments: jsontree.Obj(jsontree.M("a", jsontree.Str("b"))),
		Result: jsontree.Obj(jsontree.M("text", jsontree.Str(long)),
			jsontree.M("list", jsontree.Arr(jsontree.Str(long), jsontree.Obj())), jsontree.M("n", jsontree.Obj())),
	}}}
	want := "x({\"a\": \"b\"})\n→ {\n  \"text\": \"" + long + "\",\n  \"list\": [\"" + long + "\", {}],\n  \"n\": {}\n}\n"
	if page := string(catalog.Page(c)); !strings.Contains(page, want) {
		t.Errorf("the page lacks %q:\n%s", want, page)
	}
}

// FuzzDecode: remit contract diff reads catalogs of any origin, so Decode must not panic.
func FuzzDecode(f *testing.F) {
	current := compiledSets(f)
	data, err := json.Marshal(map[string]any{"sets": current[:1]})
	if err != nil {
		f.Fatal(err)
	}
	f.Add(data)
	for _, seed := range []string{`{}`, `{"sets":[{"name":"booster","contracts":[{"name":"hello","input":[],"errors":{"x":{}}}]}]}`, `{"sets":[{"contracts":[{"size":{"args":{"a":"1B"}},"paths":[{}],"examples":[{}]}]}]}`} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		sets, err := catalog.Decode(data)
		if err != nil {
			return
		}
		contract.Review(sets, current)
		contract.Review(current, sets)
		catalog.Markdown(sets)
		for _, set := range sets {
			set.Lint()
			for _, c := range set.Contracts {
				_, err := c.Accept(jsontree.Obj())
				_ = fmt.Sprint(err)
			}
		}
	})
}
