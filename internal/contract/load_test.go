package contract_test

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"

	"remit/internal/contract"
	"remit/internal/contract/jsontree"
)

// TestDigestIsOfTheContent: the digest does not depend on how a contract is written.
func TestDigestIsOfTheContent(t *testing.T) {
	want := load(t, goodYAML).Digest
	if !strings.HasPrefix(want, "sha256:") || len(want) != len("sha256:")+64 {
		t.Fatalf("digest = %q", want)
	}
	asJSON := tree(t, asYAML(t, load(t, goodYAML)))
	backwards := reversed(asJSON)
	for name, text := range map[string]string{
		"as JSON":                  written(asJSON),
		"with its keys in reverse": written(backwards),
		"with comments":            "# a comment\n" + strings.ReplaceAll(goodYAML, "\ninput:\n", "\n\ninput: # what it takes\n"),
		"with quotes":              swap(t, goodYAML, "title: Add a note", `title: "Add a note"`),
		"with a folded text":       swap(t, goodYAML, "description: Adds a note to a file.", "description: >-\n  Adds a note\n  to a file."),
		"with lists in lines":      swap(t, goodYAML, "enum: [idea, task]", "enum: [\n  idea,\n  task]"),
		"with what the set says":   swap(t, goodYAML, "deadline: {target: 100ms, max: 5s}\n", ""),
		"in other units":           swap(t, goodYAML, "max: 1MiB", "max: 1024KiB"),
	} {
		if got := load(t, text).Digest; got != want {
			t.Errorf("%s it has another digest", name)
		}
	}
}

func reversed(v jsontree.Value) jsontree.Value {
	out := v.Clone()
	for i := range out.Members {
		out.Members[i].Value = reversed(out.Members[i].Value)
	}
	if v.Kind == jsontree.Object {
		slices.Reverse(out.Members)
	}
	return out
}

// TestDigestChanges: the digest depends on every field of the contract and on its set.
func TestDigestChanges(t *testing.T) {
	seen := map[string]string{load(t, goodYAML).Digest: "the contract itself"}
	see := func(name string, c *contract.Contract) {
		if other, twice := seen[c.Digest]; twice {
			t.Errorf("%s has the digest of %s", name, other)
		}
		seen[c.Digest] = name
	}
	see("another set", loadBeside(t, swap(t, setYAML, "name: demo", "name: other"), goodYAML))
	see("another shape", loadBeside(t, swap(t, setYAML, "shape: coded", "shape: named"), goodYAML))
	see("other errors of the set", loadBeside(t, swap(t, setYAML, "not_found: {code: 404}", "not_found: {code: 410}"), goodYAML))
	for _, change := range [][2]string{
		{"version: 1.2.3", "version: 1.2.4"},
		{"rate: 10/min", "rate: 11/min"},
		{"target: 100ms", "target: 101ms"},
		{"window: 1h", "window: 61m"},
		{"destructive: false", "destructive: true"},
		{"text: 1KiB", "text: 1025B"},
		{"deny: [\"**/.env*\"]", "deny: [\"**/.env\"]"},
		{"max: 1MiB", "max: 2MiB"},
		{"enum: [idea, task]", "enum: [task, idea]"},
		{"description: Its number", "description: Its Number"},
		{"title: A note", "title: A  note"},
		{"result: {id: 1, state: new}", "result: {id: 1, state: known}"},
		{"text: hello", "text: Hello"},
		{"access: caller", "access: caller\ntask: optional"},
		{"access: caller", "access: caller\ntask: required"},
		{"access: caller", "access: caller\ncontent: true"},
		{"access: caller", "access: caller\ntruncate: {list: tags, cursor: note, budget: 2KiB}"},
		{"access: caller", "access: caller\nerrors: {denied: {code: 403, status: 401}}"},
		{"arguments: {path: notes/a.md, text: hello}", "arguments: {path: notes/a.md, text: hello}\n    before: [{tool: add_note, arguments: {path: a, text: b}}]"},
		{"result: {id: 1, state: new}", "result: {id: 1, state: new}\n    varies: [id]"},
	} {
		see(change[1], load(t, swap(t, goodYAML, change[0], change[1])))
	}
}

func TestLoad(t *testing.T) {
	files := fstest.MapFS{
		"b/_set.yaml": {Data: []byte(swap(t, setYAML, "name: demo", "name: b-set"))},
		"b/two.yaml":  {Data: []byte("name: two\nversion: 2.0.0\naccess: public\nsize: {request: 1KiB}\nerrors: {invalid: {code: 422}}\ninput: {type: object, properties: {z: {type: string}, a: {type: string}}}\n")},
		"b/one.yaml":  {Data: []byte("name: one\nsize: {args: {x: 1B}}\n")},
		"b/notes.txt": {Data: []byte("not a contract")},
		"a/_set.yaml": {Data: []byte(swap(t, setYAML, "name: demo", "name: a-set"))},
		"c/loose.yml": {Data: []byte("nobody reads me")},
	}
	sets, err := contract.LoadAll(files)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, set := range sets {
		names = append(names, set.Name)
		for _, c := range set.Contracts {
			names = append(names, set.Name+"/"+c.Name)
		}
	}
	if diff := cmp.Diff([]string{"a-set", "b-set", "b-set/one", "b-set/two"}, names); diff != "" {
		t.Fatal(diff)
	}
	one, two := sets[1].Find("one"), sets[1].Find("two")
	if one.Version.String() != "1.0.0" || one.Access != contract.Caller || one.Errors[contract.Invalid].Code != "400" || one.Set != "b-set" || one.Shape != contract.Coded {
		t.Errorf("one lacks the defaults of its set: %+v", one.Errors)
	}
	if one.Size.Request != 64<<10 || one.Size.Args["x"] != 1 || len(two.Size.Args) != 0 {
		t.Errorf("sizes: %v, %v", one.Size, two.Size)
	}
	if two.Version.String() != "2.0.0" || two.Access != contract.Public || two.Errors[contract.Invalid].Code != "422" || two.Errors[contract.Denied].Code != "403" {
		t.Errorf("two lacks its own settings: %+v", two)
	}
	if got := written(two.Input); got != `{"type":"object","properties":{"z":{"type":"string"},"a":{"type":"string"}}}` {
		t.Errorf("the order of keys is lost: %s", got)
	}
	if sets[1].Find("three") != nil {
		t.Error("there is no three")
	}
}

// TestLoadOrder: the tools that a set names come first, then the others in the order of their file
// names.
func TestLoadOrder(t *testing.T) {
	for _, tc := range []struct{ order, want string }{
		{"[]", "a b c d"},
		{"[c]", "c a b d"},
		{"[d, b]", "d b a c"},
		{"[e]", `_set.yaml: order: "e" is not a tool of the set, or is listed twice`},
		{"[a, a]", `_set.yaml: order: "a" is not a tool of the set, or is listed twice`},
	} {
		files := fstest.MapFS{"_set.yaml": {Data: []byte(setYAML + "order: " + tc.order + "\n")}}
		for _, name := range []string{"d", "b", "a", "c"} {
			files[name+".yaml"] = &fstest.MapFile{Data: []byte("name: " + name + "\n")}
		}
		set, err := contract.Load(files, ".")
		var names []string
		if err != nil {
			names = append(names, err.Error())
		} else {
			for _, c := range set.Contracts {
				names = append(names, c.Name)
			}
		}
		if got := strings.Join(names, " "); got != tc.want {
			t.Errorf("order %s gives %s, want %s", tc.order, got, tc.want)
		}
	}
}

// TestLoadRefuses: an error names the file, and unknown content is an error.
func TestLoadRefuses(t *testing.T) {
	for _, tc := range []struct{ name, text, want string }{
		{"an unknown key", "name: x\nratee: 5/s\n", `unknown field "ratee"`},
		{"an unknown key further down", "name: x\nhints: {readonly: true}\n", `unknown field "readonly"`},
		{"a key twice", "name: x\nname: y\n", `mapping key "name" already defined`},
		{"a key of a schema twice", "name: x\ninput: {type: object, type: array}\n", `mapping key "type" already defined`},
		{"a second document", "name: x\n---\nname: y\n", "there is a second document"},
		{"a bad rate", "name: x\nrate: often\n", `"often" is not a rate`},
		{"a bad size", "name: x\nsize: {request: 5KB}\n", `"5KB" is not a size`},
		{"a bad duration", "name: x\ndeadline: {max: soon}\n", `"soon" is not a duration`},
		{"a bad version", "name: x\nversion: 1.0\n", "a version has three numbers"},
		{"a bad version of four", "name: x\nversion: 1.0.0.0\n", "a version has three numbers"},
		{"no YAML", "name: [x\n", "tool.yaml: "},
		{"no mapping", "- x\n", "tool.yaml: "},
		{"a number that JSON does not have", "name: x\ninput: {enum: [.nan]}\n", "tool.yaml: "},
	} {
		t.Run(tc.name, func(t *testing.T) {
			files := fstest.MapFS{"_set.yaml": {Data: []byte(setYAML)}, "tool.yaml": {Data: []byte(tc.text)}}
			for how, load := range map[string]func() error{
				"Load":     func() error { _, err := contract.Load(files, "."); return err },
				"LoadAll":  func() error { _, err := contract.LoadAll(files); return err },
				"LoadFile": func() error { _, err := contract.LoadFile(files, "tool.yaml"); return err },
			} {
				err := load()
				if err == nil || !strings.HasPrefix(err.Error(), "tool.yaml: ") || !strings.Contains(err.Error(), tc.want) {
					t.Errorf("%s = %v, want an error that names the file and says %s", how, err, tc.want)
				}
			}
		})
	}
	if _, err := contract.LoadFile(fstest.MapFS{}, "none.yaml"); err == nil || !strings.Contains(err.Error(), "none.yaml") {
		t.Errorf("a missing file: %v", err)
	}
	if _, err := contract.Load(fstest.MapFS{}, "x"); err == nil || !strings.Contains(err.Error(), "x/_set.yaml") {
		t.Errorf("a missing set: %v", err)
	}
	if _, err := contract.LoadFile(fstest.MapFS{"_set.yaml": {Data: []byte("nam: x")}, "tool.yaml": {Data: []byte("name: x")}}, "tool.yaml"); err == nil || !strings.Contains(err.Error(), `_set.yaml: `) {
		t.Errorf("a broken set: %v", err)
	}
}

// TestLoadFileAlone: a file without a _set.yaml beside it can be loaded for a comparison.
func TestLoadFileAlone(t *testing.T) {
	c, err := contract.LoadFile(fstest.MapFS{"x/tool.yaml": {Data: []byte(goodYAML)}}, "x/tool.yaml")
	if err != nil || c.Name != "add_note" || c.Set != "" || c.Digest == "" {
		t.Errorf("LoadFile = %+v, %v", c, err)
	}
}

// FuzzLoadContract: no content of a contract file causes a panic, and a contract without findings
// can be called.
func FuzzLoadContract(f *testing.F) {
	for _, seed := range []string{
		goodYAML, "", "name: x\n---\n", "name: &a x\ntitle: *a\n", "input: {properties: {a: {anyOf: [{}, {}]}}}\n", "errors: {invalid: {message: \"{a}{\"}}\n", "? a\n: b\n", "!!binary aGk=", "input: !!set {a, b}", "<<: {name: x}\n",
		"name: x\ntitle: x\ndescription: x\ninput: {type: object, properties: {a: {type: string, description: d}}, additionalProperties: false}\noutput: {type: object, additionalProperties: false}\nexamples: [{title: t, arguments: {}, result: {}}]\n",
	} {
		f.Add([]byte(seed))
	}
	draft, err := contract.Draft("draft")
	if err != nil {
		f.Fatal(err)
	}
	f.Add(draft)
	f.Fuzz(func(t *testing.T, data []byte) {
		set, err := contract.Load(fstest.MapFS{"_set.yaml": {Data: []byte(setYAML)}, "tool.yaml": {Data: data}}, ".")
		if err != nil {
			return
		}
		findings := set.Lint()
		c := set.Contracts[0]
		if c.Digest == "" || len(contract.Compare(c, c)) != 0 {
			t.Fatalf("digest %q, compared with itself: %v", c.Digest, contract.Compare(c, c))
		}
		use(t, c, len(findings) == 0)
	})
}

// use calls all methods that run on every call of a tool.
func use(t *testing.T, c *contract.Contract, fit bool) {
	t.Helper()
	args := []jsontree.Value{{}, jsontree.Obj(), jsontree.Arr(), tree(t, `{"a":null,"b":[1,{"c":"x"}],"path":"../.env"}`)}
	for _, e := range c.Examples {
		args = append(args, e.Arguments.Clone())
	}
	for i := range args {
		_, err := c.Accept(args[i])
		c.Redacted(&args[i])
		if fit && err != nil && !errors.As(err, new(*contract.Error)) {
			t.Fatalf("a contract that lints clean does not work: %v", err)
		}
		if _, err := jsontree.Parse(c.Render(contract.AsError(err))); err != nil {
			t.Fatalf("Render: %v", err)
		}
		if answer, err := c.Conform(args[i]); err == nil {
			if again, err := c.Conform(answer); err != nil || !again.Equal(&answer) {
				t.Fatalf("conforming twice: %s then %s, %v", written(answer), written(again), err)
			}
		}
	}
	for _, kind := range contract.Kinds() {
		if _, err := jsontree.Parse(c.Render(contract.Errorf(kind, "x").With("path", "{path}").With("retry_after", 1))); err != nil {
			t.Fatalf("Render of %s: %v", kind, err)
		}
	}
	for i := range c.Paths {
		c.Paths[i].Allows("a/b")
		c.Paths[i].Denies("a/B")
	}
	c.PublicInput()
	c.PublicOutput()
}
