package export_test

import (
	"bytes"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"remit/internal/contract"
	"remit/internal/contract/export"
	"remit/internal/contract/jsontree"
)

// everything returns all contracts of the program, including hidden ones.
func everything(t *testing.T) []*contract.Contract {
	t.Helper()
	sets, err := contract.LoadAll(os.DirFS("../../toolsets"))
	if err != nil {
		t.Fatal(err)
	}
	var all []*contract.Contract
	for _, set := range sets {
		all = append(all, set.Contracts...)
	}
	if len(all) < 30 {
		t.Fatalf("only %d contracts: the test looks in the wrong place", len(all))
	}
	return all
}

func examplesOf(t *testing.T, c *contract.Contract) []contract.Example {
	t.Helper()
	if len(c.Examples) == 0 {
		t.Fatalf("%s: no examples", c.Name)
	}
	return c.Examples
}

// variants are all formats, and their strict variants.
func variants() map[string]func(*contract.Contract) (jsontree.Value, []export.Note) {
	all := map[string]func(*contract.Contract) (jsontree.Value, []export.Note){}
	for _, f := range export.Formats() {
		for _, strict := range []bool{false, true} {
			if strict && !f.CanBeStrict() {
				continue
			}
			all[fmt.Sprintf("%s, strict %v", f, strict)] = func(c *contract.Contract) (jsontree.Value, []export.Note) {
				return export.Tools(f, strict, []*contract.Contract{c})
			}
		}
	}
	return all
}

// functionOf returns the definition of the only tool in a list of any format.
func functionOf(list jsontree.Value) jsontree.Value {
	if declarations, ok := list.Get("functionDeclarations"); ok {
		list = declarations
	}
	definition := list.Members[0].Value
	if function, ok := definition.Get("function"); ok {
		return function
	}
	return definition
}

func schemaOf(t testing.TB, function jsontree.Value) jsontree.Value {
	t.Helper()
	for _, name := range []string{"inputSchema", "parameters", "input_schema", "parametersJsonSchema"} {
		if schema, ok := function.Get(name); ok {
			return schema
		}
	}
	t.Fatalf("no schema in %s", function.Append(nil))
	return jsontree.Value{}
}

// compiled compiles a schema with an independent implementation of JSON Schema.
func compiled(t interface{ Fatalf(string, ...any) }, schema jsontree.Value) *jsonschema.Schema {
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(schema.Append(nil)))
	if err != nil {
		t.Fatalf("read %s: %v", schema.Append(nil), err)
	}
	c := jsonschema.NewCompiler()
	c.DefaultDraft(jsonschema.Draft2020)
	c.AssertFormat()
	if err := c.AddResource("mem:///schema.json", doc); err != nil {
		t.Fatalf("add %s: %v", schema.Append(nil), err)
	}
	out, err := c.Compile("mem:///schema.json")
	if err != nil {
		t.Fatalf("compile %s: %v", schema.Append(nil), err)
	}
	return out
}

func fits(t interface{ Fatalf(string, ...any) }, schema *jsonschema.Schema, value jsontree.Value) error {
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(value.Append(nil)))
	if err != nil {
		t.Fatalf("read %s: %v", value.Append(nil), err)
	}
	return schema.Validate(doc)
}

// completed returns a call as a strict model makes it: with null for every argument that it leaves
// out.
func completed(schema, args jsontree.Value) jsontree.Value {
	args.Members = slices.Clone(args.Members)
	required := schema.Field("required")
	for _, name := range required.Members {
		if _, given := args.Get(name.Value.Text); !given {
			args.Members = append(args.Members, jsontree.M(name.Value.Text, jsontree.Value{}))
		}
	}
	return args
}

// TestEveryForm: in every format each tool has a valid schema that accepts the arguments which the
// contract accepts.
func TestEveryForm(t *testing.T) {
	all := everything(t)
	for name, definitions := range variants() {
		t.Run(name, func(t *testing.T) {
			for _, c := range all {
				list, _ := definitions(c)
				function := functionOf(list)
				if named, about := function.Field("name"), function.Field("description"); named.Text != c.Name || about.Text != c.Description {
					t.Errorf("%s: got %s", c.Name, function.Append(nil))
				}
				schema := schemaOf(t, function)
				theirs := compiled(t, schema)
				for _, e := range examplesOf(t, c) {
					sent, err := c.Accept(e.Arguments.Clone())
					if err != nil {
						continue
					}
					if strict := function.Field("strict"); strict.True() {
						sent = completed(schema, sent)
					}
					if err := fits(t, theirs, sent); err != nil {
						t.Errorf("%s, %q: %v\n%s", c.Name, e.Title, err, schema.Append(nil))
					}
				}
			}
		})
	}
}

// TestStrictNulls: the contract treats the nulls of a strict call as absent arguments.
func TestStrictNulls(t *testing.T) {
	strict, nulls := 0, 0
	for _, c := range everything(t) {
		list, notes := export.Tools(export.OpenAI, true, []*contract.Contract{c})
		function := functionOf(list)
		if on := function.Field("strict"); !on.True() {
			if len(notes) != 1 {
				t.Errorf("%s: not strict, and the notes are %v", c.Name, notes)
			}
			continue
		}
		strict++
		for _, e := range examplesOf(t, c) {
			want, err := c.Accept(e.Arguments.Clone())
			if err != nil {
				continue
			}
			sent := completed(schemaOf(t, function), e.Arguments.Clone())
			nulls += len(sent.Members) - len(e.Arguments.Members)
			if got, err := c.Accept(sent); err != nil || !got.Equal(&want) {
				t.Errorf("%s, %q: %s was accepted as %s, %v", c.Name, e.Title, sent.Append(nil), got.Append(nil), err)
			}
		}
	}
	if strict < 20 || nulls == 0 {
		t.Errorf("%d strict tools and %d nulls: the test tests nothing", strict, nulls)
	}
}

// TestShapes: each format has the parts of a definition under its own keys.
func TestShapes(t *testing.T) {
	c := toolWith(t, `{"type":"object","properties":{"name":{"type":"string","default":"World","x-mcp-header":"Name","description":"Who"}},"additionalProperties":false}`)
	const plain = `{"type":"object","properties":{"name":{"type":"string","default":"World","description":"Who"}},"additionalProperties":false}`
	const described = `{"type":"object","properties":{"name":{"type":"string","description":"Who (default \"World\")"}},"additionalProperties":false}`
	const strict = `{"type":"object","properties":{"name":{"type":["string","null"],"description":"Who (null means \"World\")"}},"additionalProperties":false,"required":["name"]}`
	for _, tc := range []struct {
		format export.Format
		strict bool
		want   string
	}{
		{export.OpenAI, false, `[{"type":"function","function":{"name":"greet","description":"Greets","parameters":` + plain + `,"strict":false}}]`},
		{export.OpenAI, true, `[{"type":"function","function":{"name":"greet","description":"Greets","parameters":` + strict + `,"strict":true}}]`},
		{export.Responses, false, `[{"type":"function","name":"greet","description":"Greets","parameters":` + plain + `,"strict":false}]`},
		{export.Responses, true, `[{"type":"function","name":"greet","description":"Greets","parameters":` + strict + `,"strict":true}]`},
		{export.Anthropic, false, `[{"name":"greet","description":"Greets","input_schema":` + plain + `}]`},
		{export.Anthropic, true, `[{"name":"greet","description":"Greets","input_schema":` + described + `,"strict":true}]`},
		{export.Gemini, false, `{"functionDeclarations":[{"name":"greet","description":"Greets","parametersJsonSchema":` + described + `}]}`},
	} {
		got, notes := export.Tools(tc.format, tc.strict, []*contract.Contract{c})
		if string(got.Append(nil)) != tc.want || len(notes) > 0 {
			t.Errorf("%s, strict %v:\ngot  %s\nwant %s\nnotes %v", tc.format, tc.strict, got.Append(nil), tc.want, notes)
		}
	}
	list, _ := export.Tools(export.MCP, false, []*contract.Contract{c})
	if want := export.Tool(c); !list.Members[0].Value.Equal(&want) || !strings.Contains(string(list.Append(nil)), `"x-mcp-header":"Name"`) {
		t.Errorf("mcp: %s", list.Append(nil))
	}
}

func toolWith(t testing.TB, input string) *contract.Contract {
	t.Helper()
	schema, err := jsontree.Parse([]byte(input))
	if err != nil {
		t.Fatal(err)
	}
	return &contract.Contract{Name: "greet", Description: "Greets", Input: schema}
}
