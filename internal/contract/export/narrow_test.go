package export_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"remit/internal/contract"
	"remit/internal/contract/export"
	"remit/internal/contract/jsontree"
)

// object returns the schema of arguments with these properties.
func object(properties, required string) string {
	return `{"type":"object","properties":{` + properties + `},"required":[` + required + `],"additionalProperties":false}`
}

// TestStrict: the strict form of each keyword.
func TestStrict(t *testing.T) {
	for _, tc := range []struct{ name, given, want string }{
		{"an optional string", object(`"a":{"type":"string"}`, ``), object(`"a":{"type":["string","null"],"description":"null means not provided"}`, `"a"`)},
		{"a choice", object(`"a":{"type":"string","enum":["x"]}`, ``), object(`"a":{"type":["string","null"],"enum":["x",null],"description":"null means not provided"}`, `"a"`)},
		{"bounds", object(`"a":{"type":"string","minLength":1,"maxLength":255,"description":"Title"}`, `"a"`), object(`"a":{"type":"string","description":"Title (at least 1 character; at most 255 characters)"}`, `"a"`)},
		{"brackets", object(`"a":{"type":"string","maxLength":9,"description":"Title (short)"}`, ``), object(`"a":{"type":["string","null"],"description":"Title (short; at most 9 characters; null means not provided)"}`, `"a"`)},
		{"a list", object(`"a":{"type":"array","items":{"type":"string"},"minItems":1,"maxItems":9,"uniqueItems":true}`, `"a"`), object(`"a":{"type":"array","items":{"type":"string"},"minItems":1,"maxItems":9,"description":"all elements different"}`, `"a"`)},
		{"formats", object(`"a":{"type":"string","format":"date"},"b":{"type":"string","format":"uri"}`, `"a","b"`), object(`"a":{"type":"string","format":"date"},"b":{"type":"string","description":"of the format uri"}`, `"a","b"`)},
		{"kept", object(`"a":{"type":"integer","minimum":1,"maximum":9},"b":{"type":"string","pattern":"^x$"}`, `"a","b"`), object(`"a":{"type":"integer","minimum":1,"maximum":9},"b":{"type":"string","pattern":"^x$"}`, `"a","b"`)},
		{"either", object(`"a":{"anyOf":[{"type":"string"},{"type":"integer"}]}`, ``), object(`"a":{"anyOf":[{"type":"string"},{"type":"integer"},{"type":"null"}],"description":"null means not provided"}`, `"a"`)},
		{"null already", object(`"a":{"type":["string","null"]}`, ``), object(`"a":{"type":["string","null"]}`, `"a"`)},
		{"an object within", object(`"a":`+object(`"b":{"type":"string"}`, `"b"`), ``), object(`"a":{"type":["object","null"],"properties":{"b":{"type":"string"}},"required":["b"],"additionalProperties":false,"description":"null means not provided"}`, `"a"`)},
		{
			"a reference",
			`{"$schema":"https://json-schema.org/draft/2020-12/schema","type":"object","$defs":{"d":{"type":"string"}},"properties":{"a":{"$ref":"#/$defs/d","description":"A"}},"additionalProperties":false}`,
			`{"type":"object","$defs":{"d":{"type":"string"}},"properties":{"a":{"anyOf":[{"$ref":"#/$defs/d"},{"type":"null"}],"description":"A (null means not provided)"}},"additionalProperties":false,"required":["a"]}`,
		},
		{"nothing at all", `{"type":"object","properties":{},"additionalProperties":false}`, `{"type":"object","properties":{},"additionalProperties":false,"required":[]}`},
	} {
		t.Run(tc.name, func(t *testing.T) {
			list, notes := export.Tools(export.Responses, true, []*contract.Contract{toolWith(t, tc.given)})
			function := functionOf(list)
			got, on := schemaOf(t, function), function.Field("strict")
			if string(got.Append(nil)) != tc.want || !on.True() || len(notes) > 0 {
				t.Errorf("got  %s\nwant %s\nnotes %v", got.Append(nil), tc.want, notes)
			}
		})
	}
}

// TestNotStrict: a note names each kind of structure that strict formats do not support, and the
// tool is exported without strict.
func TestNotStrict(t *testing.T) {
	closed := object(`"b":{"type":"string"}`, ``)
	for _, tc := range []struct{ name, given, want string }{
		{"an open object", object(`"a":{"type":"object","properties":{},"additionalProperties":true}`, `"a"`), "a allows additional properties"},
		{"an object that does not say", object(`"a":{"type":"object","properties":{}}`, `"a"`), "a allows additional properties"},
		{"a table", object(`"a":{"type":"object","additionalProperties":{"type":"string"}}`, `"a"`), "a allows additional properties"},
		{"an open one in a list", object(`"a":{"type":"array","items":{"type":"object"}}`, `"a"`), "a[] allows additional properties"},
		{"an open one or null", object(`"a":{"type":["object","null"]}`, `"a"`), "a allows additional properties"},
		{"an optional part of a part", object(`"a":`+closed, `"a"`), "a.b is optional, and inside an argument null cannot mean that it is not provided"},
		{"no type", object(`"a":{"description":"Anything"}`, `"a"`), "a has no type"},
		{"any elements", object(`"a":{"type":"array"}`, `"a"`), "a allows any elements (it has no items)"},
		{"two of them", object(`"a":{"type":"array"},"b":{}`, `"a","b"`), "a allows any elements (it has no items); b has no type"},
		{"a union of wholes", `{"type":"object","properties":{"a":{"type":"string"}},"anyOf":[{"required":["a"]}],"additionalProperties":false}`, "the whole has anyOf"},
		{"a condition", `{"type":"object","properties":{"a":{"type":"string"}},"if":{"required":["a"]},"then":{},"additionalProperties":false}`, "the whole has if; the whole has then"},
		{"all of", object(`"a":{"type":"string","allOf":[{"minLength":1}]}`, `"a"`), "a has allOf"},
		{"in a definition", `{"type":"object","$defs":{"d":{"type":"object"}},"properties":{"a":{"$ref":"#/$defs/d"}},"required":["a"],"additionalProperties":false}`, "d allows additional properties"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			c := toolWith(t, tc.given)
			for _, f := range []export.Format{export.OpenAI, export.Responses} {
				list, notes := export.Tools(f, true, []*contract.Contract{c})
				function := functionOf(list)
				if on, stated := function.Get("strict"); !stated || on.True() {
					t.Errorf("%s: it says it is strict: %s", f, function.Append(nil))
				}
				if got := fmt.Sprint(notes); got != "[greet: not strict: "+tc.want+"]" {
					t.Errorf("%s: got %s, want %s", f, got, tc.want)
				}
			}
		})
	}
}

// TestNarrow: what the other formats leave out, and which note or description says so.
func TestNarrow(t *testing.T) {
	const top = `{"type":"object","properties":{"a":{"type":"string"}},"allOf":[{"required":["a"]}],"additionalProperties":false}`
	const topped = `{"type":"object","properties":{"a":{"type":"string"}},"additionalProperties":false}`
	bounds := object(`"a":{"type":"string","pattern":"^x$","minLength":2,"const":"xx","examples":["xx"],"deprecated":true}`, ``)
	ref := `{"type":"object","$defs":{"d":{"type":"string"}},"properties":{"a":{"$ref":"#/$defs/d","description":"A"}},"additionalProperties":false}`
	for _, tc := range []struct {
		name         string
		format       export.Format
		strict       bool
		given, want  string
		notes        string
		wantNotGiven bool
	}{
		{"all of at the top", export.OpenAI, false, top, topped, "[greet: openai does not support: the whole has allOf; the engine still checks calls for it]", true},
		{"all of at the top", export.Anthropic, false, top, topped, "[greet: anthropic does not support: the whole has allOf; the engine still checks calls for it]", true},
		{"all of at the top", export.Gemini, false, top, topped, "[greet: gemini does not support: the whole has allOf; the engine still checks calls for it]", true},
		{"bounds", export.OpenAI, false, bounds, bounds, "[]", false},
		{"bounds", export.Anthropic, false, bounds, bounds, "[]", false},
		{"bounds", export.Gemini, false, bounds, object(`"a":{"type":"string","description":"matches ^x$; at least 2 characters; always \"xx\"; for example [\"xx\"]; deprecated: true"}`, ``), "[]", true},
		{
			"bounds, strict", export.Anthropic, true,
			object(`"a":{"type":"integer","minimum":1,"maximum":9},"b":{"type":"array","items":{"type":"string"},"minItems":2,"maxItems":3,"uniqueItems":false}`, ``),
			object(`"a":{"type":"integer","description":"at least 1; at most 9"},"b":{"type":"array","items":{"type":"string"},"description":"at least 2 elements; at most 3 elements; an element may appear twice"}`, ``), "[]", true,
		},
		{"a reference stands alone", export.Gemini, false, ref, strings.Replace(ref, `,"description":"A"`, "", 1), "[]", true},
	} {
		t.Run(fmt.Sprintf("%s: %s", tc.format, tc.name), func(t *testing.T) {
			list, notes := export.Tools(tc.format, tc.strict, []*contract.Contract{toolWith(t, tc.given)})
			got := schemaOf(t, functionOf(list))
			if string(got.Append(nil)) != tc.want || fmt.Sprint(notes) != tc.notes || tc.wantNotGiven == (tc.want == tc.given) {
				t.Errorf("got  %s\nwant %s\nnotes %v", got.Append(nil), tc.want, notes)
			}
		})
	}
}

// drawArgument draws the schema of one argument, and a value that nearly matches it.
func drawArgument(t *rapid.T) (schema string, value string) {
	kind := rapid.SampledFrom([]string{"string", "integer", "choice", "list", "either", "whole"}).Draw(t, "kind")
	number := rapid.IntRange(-1, 4)
	text := func() string { return fmt.Sprintf("%q", strings.Repeat("x", rapid.IntRange(0, 4).Draw(t, "length"))) }
	fallback := rapid.SampledFrom([]string{"", `,"default":"xx"`}).Draw(t, "default")
	switch kind {
	case "integer":
		return fmt.Sprintf(`{"type":"integer","minimum":%d,"maximum":3}`, number.Draw(t, "least")), fmt.Sprint(number.Draw(t, "value"))
	case "choice":
		return `{"type":"string","enum":["x","xx"]` + fallback + `}`, text()
	case "list":
		return fmt.Sprintf(`{"type":"array","items":{"type":"string","maxLength":2},"minItems":%d,"uniqueItems":true}`, rapid.IntRange(0, 2).Draw(t, "fewest")),
			"[" + text() + "," + text() + "]"
	case "either":
		return `{"anyOf":[{"type":"string","minLength":2},{"type":"integer"}]}`, rapid.SampledFrom([]string{text(), "2", "2.5", "null"}).Draw(t, "value")
	case "whole":
		return object(`"b":{"type":["string","null"]}`, ``), rapid.SampledFrom([]string{`{"b":` + text() + `}`, `{"b":null}`, `{"c":1}`}).Draw(t, "value")
	default:
		return fmt.Sprintf(`{"type":"string","minLength":%d,"maxLength":3%s}`, rapid.IntRange(0, 2).Draw(t, "shortest"), fallback), text()
	}
}

// TestStrictLosesNothing: a strict model can send what a contract accepts, and the contract accepts
// what a strict model can send, except for rules that the description states.
func TestStrictLosesNothing(t *testing.T) {
	taken, refused := 0, 0
	rapid.Check(t, func(t *rapid.T) {
		var properties, required, members []string
		for _, name := range []string{`"a"`, `"b"`} {
			schema, value := drawArgument(t)
			properties = append(properties, name+":"+schema)
			if rapid.Bool().Draw(t, "required") && !strings.Contains(schema, "default") {
				required = append(required, name)
			}
			if rapid.Bool().Draw(t, "given") {
				members = append(members, name+":"+value)
			}
		}
		input := parse(t, object(strings.Join(properties, ","), strings.Join(required, ",")))
		args := parse(t, "{"+strings.Join(members, ",")+"}")
		c := &contract.Contract{Name: "drawn", Input: input, Content: true}
		list, notes := export.Tools(export.OpenAI, true, []*contract.Contract{c})
		function := functionOf(list)
		strict := function.Field("parameters")
		if len(notes) > 0 {
			t.Fatalf("%s: %v", input.Append(nil), notes)
		}
		sent := completed(strict, args)
		theirs := fits(t, compiled(t, strict), sent)
		_, err := c.Accept(args)
		_, errSent := c.Accept(sent)
		if (err == nil) != (errSent == nil) || err == nil && theirs != nil {
			t.Fatalf("%s: %v for %s, %v for %s, and strict %v", input.Append(nil), err, args.Append(nil), errSent, sent.Append(nil), theirs)
		}
		unsaid := &contract.Contract{Name: "drawn", Input: withoutSaid(input), Content: true}
		if _, err := unsaid.Accept(sent); (err == nil) != (theirs == nil) {
			t.Fatalf("%s: %v for %s, and strict %v", unsaid.Input.Append(nil), err, sent.Append(nil), theirs)
		}
		if err == nil {
			taken++
		} else {
			refused++
		}
	})
	if taken == 0 || refused == 0 {
		t.Errorf("%d taken, %d refused: the test tests nothing", taken, refused)
	}
}

// withoutSaid removes from a schema what a strict format puts into the description.
func withoutSaid(schema jsontree.Value) jsontree.Value {
	schema.Members = slices.DeleteFunc(slices.Clone(schema.Members), func(m jsontree.Member) bool {
		return slices.Contains([]string{"minLength", "maxLength", "uniqueItems"}, m.Key)
	})
	return contract.MapParts(&schema, func(_, _ string, part *jsontree.Value) jsontree.Value { return withoutSaid(*part) })
}

func parse(t interface{ Fatalf(string, ...any) }, text string) jsontree.Value {
	v, err := jsontree.Parse([]byte(text))
	if err != nil {
		t.Fatalf("parse %s: %v", text, err)
	}
	return v
}
