package contract

import (
	"bytes"
	"errors"
	"regexp"
	"strings"
	"sync"
	"testing"
	"unicode/utf8"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"pgregory.net/rapid"

	"remit/internal/contract/jsontree"
)

// The oracle is santhosh-tekuri/jsonschema, draft 2020-12 with formats asserted. It is more lenient
// than the RFCs for two formats, so those are made stricter:
//   - date-time: it parses hours with strconv.Atoi, which accepts a sign ("T+1:00:00Z").
//     RFC 3339 requires two digits.
//   - uri: it uses net/url, which accepts spaces, <>, backslashes and any Unicode.
//     RFC 3986 does not, and such a URI may break a client. Ours is net/url with the
//     RFC's alphabet; TestURI compares the two directly.
func oracle(schema []byte) (*jsonschema.Schema, error) {
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(schema))
	if err != nil {
		return nil, err
	}
	c := jsonschema.NewCompiler()
	c.DefaultDraft(jsonschema.Draft2020)
	c.AssertFormat()
	c.RegisterFormat(&jsonschema.Format{Name: "date-time", Validate: strictDateTime})
	c.RegisterFormat(&jsonschema.Format{Name: "uri", Validate: ourURI})
	if err := c.AddResource("mem:///schema.json", doc); err != nil {
		return nil, err
	}
	return c.Compile("mem:///schema.json")
}

var plainDateTime, plainURI = plainFormat("date-time"), plainFormat("uri")

var rfc3339 = regexp.MustCompile(`^\d{4}-\d\d-\d\d[Tt]\d\d:\d\d:\d\d(\.\d+)?([Zz]|[+-]\d\d:\d\d)$`)

func strictDateTime(v any) error {
	if s, ok := v.(string); ok && !rfc3339.MatchString(s) {
		return errors.New("not of the form of RFC 3339")
	}
	return plainDateTime().Validate(v)
}

func ourURI(v any) error {
	if s, ok := v.(string); ok && !isURI(s) {
		return errors.New("not a URI")
	}
	return nil
}

// plainFormat returns a schema with the oracle's own check of a format.
func plainFormat(name string) func() *jsonschema.Schema {
	return sync.OnceValue(func() *jsonschema.Schema {
		c := jsonschema.NewCompiler()
		c.AssertFormat()
		if err := c.AddResource("mem:///format.json", map[string]any{"format": name}); err != nil {
			panic(err)
		}
		return c.MustCompile("mem:///format.json")
	})
}

// ours returns the problems that our checker reports.
func ours(s *schema, v *jsontree.Value) []Problem {
	var c checker
	c.check(s, v, nil)
	return c.problems
}

func theirs(t interface{ Fatalf(string, ...any) }, s *jsonschema.Schema, value []byte) error {
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(value))
	if err != nil {
		t.Fatalf("the oracle cannot read %s: %v", value, err)
	}
	return s.Validate(doc)
}

func parse(t interface{ Fatalf(string, ...any) }, text string) jsontree.Value {
	v, err := jsontree.Parse([]byte(text))
	if err != nil {
		t.Fatalf("parse %s: %v", text, err)
	}
	return v
}

func compile(t interface{ Fatalf(string, ...any) }, text string) *schema {
	doc := parse(t, text)
	s, err := compileSchema(&doc)
	if err != nil {
		t.Fatalf("compile %s: %v", text, err)
	}
	return s
}

// TestAgreesWithOracle draws schemas of our dialect and values that nearly match.
func TestAgreesWithOracle(t *testing.T) {
	valid, total := 0, 0
	rapid.Check(t, func(t *rapid.T) {
		doc := drawDocument(t, 3)
		text := doc.Append(nil)
		our, err := compileSchema(&doc)
		if err != nil {
			t.Fatalf("we refuse %s: %v", text, err)
		}
		their, err := oracle(text)
		if err != nil {
			t.Fatalf("the oracle refuses %s: %v", text, err)
		}
		for range 4 {
			value := drawFor(values{t, &doc}, &doc, 4)
			sent := value.Append(nil)
			problems, refusal := ours(our, &value), theirs(t, their, sent)
			if (len(problems) == 0) != (refusal == nil) {
				t.Fatalf("schema %s\nvalue  %s\nours   %v\ntheirs %v", text, sent, problems, refusal)
			}
			for _, p := range problems {
				if p.Message == "" || p.Rule == "" || !utf8.ValidString(p.Message) {
					t.Fatalf("schema %s, value %s: a problem without a message: %+v", text, sent, p)
				}
			}
			total++
			if len(problems) == 0 {
				valid++
			}
		}
	})
	if !t.Failed() && (valid < total/10 || valid > total*9/10) {
		t.Errorf("%d of %d values were valid: the generator does not try both sides", valid, total)
	}
}

// TestSpecCases are edge cases where validators differ, decided by the standard.
func TestSpecCases(t *testing.T) {
	for _, tc := range []struct {
		schema, value string
		want          bool
	}{
		{`{"type":"integer"}`, `1.0`, true},
		{`{"type":"integer"}`, `1e3`, true},
		{`{"type":"integer"}`, `1.5e1`, true},
		{`{"type":"integer"}`, `-0`, true},
		{`{"type":"integer"}`, `-0.0`, true},
		{`{"type":"integer"}`, `1.5`, false},
		{`{"type":"integer"}`, `1e-1`, false},
		{`{"type":"integer"}`, `1e-400`, false},
		{`{"type":"integer"}`, `0e-400`, true},
		{`{"type":"integer"}`, `1e400`, true},
		{`{"type":"integer"}`, `-1e400`, true},
		{`{"type":"integer"}`, `123456789012345678901234567890`, true},
		{`{"type":"integer"}`, `123456789012345678901234567890.5`, false},
		{`{"type":"integer"}`, `9007199254740992.5`, false},
		{`{"maximum":9007199254740992}`, `9007199254740993`, false},
		{`{"minimum":9007199254740993}`, `9007199254740992`, false},
		{`{"maximum":0.1}`, `0.10000000000000000001`, false},
		{`{"minimum":-1e400}`, `-1e401`, false},
		{`{"maximum":1e400}`, `1e399`, true},
		{`{"minimum":0}`, `-0`, true},
		{`{"minimum":0}`, `-1e-400`, false},
		{`{"enum":[1]}`, `1.0`, true},
		{`{"enum":[100]}`, `1e2`, true},
		{`{"enum":[9007199254740993]}`, `9007199254740992`, false},
		{`{"enum":[0]}`, `-0`, true},
		{`{"enum":[null]}`, `null`, true},
		{`{"enum":[false]}`, `0`, false},
		{`{"enum":[{"a":1,"b":[2]}]}`, `{"b":[2.0],"a":1}`, true},
		{`{"enum":[[1,2]]}`, `[2,1]`, false},
		{`{"uniqueItems":true}`, `[1,1.0]`, false},
		{`{"uniqueItems":true}`, `[1,true]`, true},
		{`{"uniqueItems":true}`, `["1",1]`, true},
		{`{"uniqueItems":true}`, `[{"a":1,"b":2},{"b":2,"a":1e0}]`, false},
		{`{"uniqueItems":true}`, `[9007199254740992,9007199254740993]`, true},
		{`{"uniqueItems":false}`, `[1,1]`, true},
		{`{"maxLength":1}`, `"😀"`, true},
		{`{"maxLength":1}`, `"e\u0301"`, false},
		{`{"maxLength":0}`, `""`, true},
		{`{"maxLength":2}`, `123`, true},
		{`{"minimum":2}`, `"1"`, true},
		{`{"pattern":"b"}`, `"abc"`, true},
		{`{"pattern":"^b"}`, `"abc"`, false},
		{`{"required":["a"],"properties":{"a":{}}}`, `[]`, true},
		{`{"required":["a"],"properties":{"a":{}}}`, `{"a":null}`, true},
		{`{"additionalProperties":false}`, `{"a":1}`, false},
		{`{"additionalProperties":{"type":"string"},"properties":{"a":{}}}`, `{"a":1,"b":"x"}`, true},
		{`{"additionalProperties":{"type":"string"}}`, `{"b":1}`, false},
		{`{"type":["string","null"]}`, `null`, true},
		{`{"anyOf":[{"type":"string"},{"minimum":3}],"maxLength":1}`, `"ab"`, false},
		{`{"format":"date"}`, `5`, true},
		{`{"const":1}`, `1.0`, true},
		{`{"const":null}`, `0`, false},
		{`{"const":null}`, `null`, true},
		{`{"const":{"a":[1]}}`, `{"a":[1e0]}`, true},
		{`{"const":"a","enum":["a","b"]}`, `"b"`, false},
		{`{"allOf":[{"type":"string"},{"maxLength":1}]}`, `"ab"`, false},
		{`{"allOf":[{"properties":{"a":{}}}],"additionalProperties":false}`, `{"a":1}`, false},
		{`{"properties":{"a":{},"b":{}},"anyOf":[{"required":["a"]},{"required":["b"]}]}`, `{"b":1}`, true},
		{`{"properties":{"a":{},"b":{}},"anyOf":[{"required":["a"]},{"required":["b"]}]}`, `{}`, false},
		{`{"if":{"type":"string"},"then":{"maxLength":1},"else":{"minimum":3}}`, `"ab"`, false},
		{`{"if":{"type":"string"},"then":{"maxLength":1},"else":{"minimum":3}}`, `2`, false},
		{`{"if":{"type":"string"},"then":{"maxLength":1},"else":{"minimum":3}}`, `4`, true},
		{`{"if":{"type":"string"},"then":{"maxLength":1}}`, `2`, true},
		{`{"if":{"type":"string"},"else":{"minimum":3}}`, `"ab"`, true},
		{`{"if":{"properties":{"a":{"const":1}}},"then":{"required":["b"]},"properties":{"b":{}}}`, `{}`, false},
		{`{"$ref":"#/$defs/a","maxLength":1,"$defs":{"a":{"type":"string"}}}`, `"ab"`, false},
		{`{"$ref":"#/$defs/a","maxLength":1,"$defs":{"a":{"type":"string"}}}`, `1`, false},
		{`{"items":{"$ref":"#x"},"$defs":{"a":{"$anchor":"x","type":"string"}}}`, `["a",1]`, false},
		{`{"$anchor":"node","properties":{"next":{"$ref":"#node"},"n":{"type":"integer"}}}`, `{"next":{"next":{"n":1}}}`, true},
		{`{"$anchor":"node","properties":{"next":{"$ref":"#node"},"n":{"type":"integer"}}}`, `{"next":{"next":{"n":"1"}}}`, false},
		{`{"$schema":"https://json-schema.org/draft/2020-12/schema","type":"string"}`, `1`, false},
		{`{}`, `null`, true},
	} {
		t.Run(tc.schema+tc.value, func(t *testing.T) {
			v := parse(t, tc.value)
			problems := ours(compile(t, tc.schema), &v)
			if got := len(problems) == 0; got != tc.want {
				t.Errorf("valid = %t, want %t (%v)", got, tc.want, problems)
			}
			their, err := oracle([]byte(tc.schema))
			if err != nil {
				t.Fatalf("oracle: %v", err)
			}
			if err := theirs(t, their, []byte(tc.value)); (err == nil) != tc.want {
				t.Errorf("the oracle says %v, want %t", err, tc.want)
			}
		})
	}
}

// TestOutsideTheDialect: every keyword of a schema is enforced or rejected, never ignored.
func TestOutsideTheDialect(t *testing.T) {
	for _, tc := range []struct{ schema, want string }{
		{`[]`, "schema: a schema must be an object, not an array"},
		{`true`, "schema: a schema must be an object, not a boolean"},
		{`{"typ":"string"}`, `schema: keyword "typ" is not supported in contract schemas (did you mean "type"?)`},
		{`{"$ref":"#/x"}`, `schema: $ref: there is no schema at "#/x"; want #/$defs/NAME or #ANCHOR`},
		{`{"$ref":"#"}`, `schema: $ref: there is no schema at "#"; want #/$defs/NAME or #ANCHOR`},
		{`{"properties":{"a":{"$ref":"other.json"}}}`, `schema at a: $ref: there is no schema at "other.json"; want #/$defs/NAME or #ANCHOR`},
		{`{"$ref":5}`, "schema: $ref: want a string, not a number"},
		{`{"$ref":"#/$defs/a","$defs":{"a":{"$ref":"#/$defs/a"}}}`, `schema: $ref: "#/$defs/a" refers back to this schema for the same value, so checking it would never end`},
		{`{"$anchor":"a","allOf":[{"if":{"$ref":"#a"},"then":{}}]}`, `schema: $ref: "#a" refers back to this schema for the same value, so checking it would never end`},
		{`{"$defs":{"a":{"anyOf":[{"$ref":"#b"}]},"b":{"$anchor":"b","else":{"$ref":"#/$defs/a"},"if":{}}}}`, `schema at a: $ref: "#b" refers back to this schema for the same value, so checking it would never end`},
		{`{"$defs":{"a/b":{}}}`, `schema: $defs: the name "a/b" must match ^[A-Za-z0-9_.-]+$`},
		{`{"$defs":[]}`, "schema: $defs: want an object, not an array"},
		{`{"items":{"$defs":{}}}`, "schema: items: schema at []: $defs: it is allowed only at the root of a schema"},
		{`{"anyOf":[{"$schema":"x"}]}`, "schema: anyOf: schema: $schema: it is allowed only at the root of a schema"},
		{`{"$schema":"http://json-schema.org/draft-07/schema#"}`, `schema: $schema: want https://json-schema.org/draft/2020-12/schema, not "http://json-schema.org/draft-07/schema#"`},
		{`{"$anchor":"1a"}`, `schema: $anchor: "1a" must match ^[A-Za-z_][A-Za-z0-9_.-]*$`},
		{`{"$anchor":"a","items":{"$anchor":"a"}}`, "schema: items: schema at []: $anchor: #a appears twice"},
		{`{"allOf":[]}`, "schema: allOf: want a list with at least one element, not an empty one"},
		{`{"allOf":[{"required":["a"]}],"properties":{"b":{}}}`, `schema: required "a" is not among the properties`},
		{`{"properties":{"b":{"required":["b"]}}}`, `schema at b: required "b" is not among the properties`},
		{`{"if":{}}`, "schema: if needs then, else or both"},
		{`{"then":{}}`, "schema: if needs then, else or both"},
		{`{"if":true,"then":{}}`, "schema: if: schema: a schema must be an object, not a boolean"},
		{`{"x-mcp-header":5}`, "schema: x-mcp-header: want a string, not a number"},
		{`{"properties":{"a":{"oneOf":[{}]}}}`, `schema: properties: schema at a: keyword "oneOf" is not supported in contract schemas (did you mean "anyOf"?)`},
		{`{"type":"text"}`, `schema: type: "text" is not a type`},
		{`{"type":"strng"}`, `schema: type: "strng" is not a type (did you mean "string"?)`},
		{`{"type":[]}`, "schema: type: want at least one type"},
		{`{"type":["string","string"]}`, `schema: type: "string" appears twice`},
		{`{"type":null}`, "schema: type: want a string, not null"},
		{`{"type":["string",1]}`, "schema: type: want a list of strings, not a number in it"},
		{`{"properties":[]}`, "schema: properties: want an object, not an array"},
		{`{"required":["a"]}`, `schema: required "a" is not among the properties`},
		{`{"required":"a"}`, "schema: required: want a list of strings, not a string"},
		{`{"properties":{"a":{}},"required":["a","a"]}`, `schema: required: "a" appears twice`},
		{`{"additionalProperties":"no"}`, "schema: additionalProperties: schema at *: a schema must be an object, not a string"},
		{`{"enum":[]}`, "schema: enum: want a list with at least one element, not an empty one"},
		{`{"enum":"a"}`, "schema: enum: want a list with at least one element, not a string"},
		{`{"minLength":-1}`, "schema: minLength: want a whole number, not -1"},
		{`{"maxLength":"5"}`, `schema: maxLength: want a whole number, not "5"`},
		{`{"maxItems":1.5}`, "schema: maxItems: want a whole number, not 1.5"},
		{`{"minItems":99999999999}`, "schema: minItems: want a whole number, not 99999999999"},
		{`{"minimum":"5"}`, `schema: minimum: want a number, not "5"`},
		{`{"maximum":null}`, "schema: maximum: want a number, not null"},
		{`{"pattern":"("}`, "schema: pattern: error parsing regexp: missing closing ): `(`"},
		{`{"pattern":5}`, "schema: pattern: want a string, not a number"},
		{`{"format":"email"}`, `schema: format: "email" is not a known format (known: date-time, date, uri)`},
		{`{"format":"datetime"}`, `schema: format: "datetime" is not a known format (did you mean "date-time"?)`},
		{`{"format":7}`, "schema: format: want a string, not a number"},
		{`{"items":[{}]}`, "schema: items: schema at []: a schema must be an object, not an array"},
		{`{"properties":{"a":{"items":{"minimum":{}}}}}`, "schema: properties: schema at a: items: schema at a[]: minimum: want a number, not {}"},
		{`{"uniqueItems":1}`, "schema: uniqueItems: want true or false, not a number"},
		{`{"anyOf":[]}`, "schema: anyOf: want a list with at least one element, not an empty one"},
		{`{"x-redact":"yes"}`, "schema: x-redact: want true or false, not a string"},
		{`{"x-trim":"yes"}`, "schema: x-trim: want true or false, not a string"},
		{`{"x-accepts":"number"}`, `schema: x-accepts: must be "integer", not "number"`},
		{`{"x-accepts":true}`, `schema: x-accepts: must be "integer", not true`},
		{`{"x-message":3}`, "schema: x-message: want a string, or a table of strings by keyword, not a number"},
		{`{"x-code":{}}`, "schema: x-code: the table is empty"},
		{`{"x-code":{"format":5}}`, "schema: x-code: format: want a string, not a number"},
		{`{"x-message":{"minlength":"m"}}`, `schema: x-message: "minlength" is not a keyword that a value can violate (did you mean "minLength"?)`},
		{`{"x-message":{"description":"m"}}`, `schema: x-message: "description" is not a keyword that a value can violate (known: required, type, enum, const, minLength, maxLength, pattern, format, minimum, maximum, minItems, maxItems, uniqueItems)`},
		{`{"title":5}`, "schema: title: want a string, not a number"},
		{`{"description":["x"]}`, "schema: description: want a string, not an array"},
		{`{"examples":"x"}`, "schema: examples: want a list, not a string"},
		{`{"deprecated":"yes"}`, "schema: deprecated: want true or false, not a string"},
	} {
		t.Run(tc.schema, func(t *testing.T) {
			doc := parse(t, tc.schema)
			_, err := compileSchema(&doc)
			if err == nil || err.Error() != tc.want {
				t.Errorf("got  %v\nwant %s", err, tc.want)
			}
		})
	}
}

// FuzzValidate: what our compiler accepts is a valid JSON Schema with the same meaning.
func FuzzValidate(f *testing.F) {
	for _, seed := range [][2]string{
		{`{"type":"object","properties":{"a":{"type":"string","minLength":1,"maxLength":3}},"required":["a"],"additionalProperties":false}`, `{"a":"é😀"}`},
		{`{"type":["integer","null"],"minimum":1,"maximum":1e3}`, `1.0`},
		{`{"type":"array","items":{"enum":[1,"a",null,{"b":2}]},"uniqueItems":true,"minItems":1,"maxItems":3}`, `[1,1.0,{"b":2e0}]`},
		{`{"anyOf":[{"type":"string","format":"date"},{"type":"null"}]}`, `"2026-02-30"`},
		{`{"format":"date-time"}`, `"2016-12-31T23:59:60Z"`},
		{`{"format":"uri"}`, `"https://[::1]:8080/a?b#c"`},
		{`{"pattern":"^[a-z]+$","x-code":"c","x-message":{"pattern":"m"},"x-redact":true,"x-trim":true,"x-accepts":"integer","default":1,"title":"t","examples":[],"deprecated":false}`, `"abc"`},
		{`{"additionalProperties":{"type":"boolean"}}`, `{"x":true,"y":0}`},
		{`{"$schema":"https://json-schema.org/draft/2020-12/schema","$defs":{"n":{"$anchor":"a","properties":{"n":{"$ref":"#a"}},"additionalProperties":false}},"$ref":"#/$defs/n"}`, `{"n":{"n":{"m":1}}}`},
		{`{"properties":{"a":{"const":1},"b":{}},"allOf":[{"anyOf":[{"required":["a"]},{"required":["b"]}]}],"if":{"required":["a"]},"then":{"required":["b"]},"else":{"maxItems":1}}`, `{"a":1}`},
	} {
		f.Add([]byte(seed[0]), []byte(seed[1]))
	}
	f.Fuzz(func(t *testing.T, schemaText, valueText []byte) {
		doc, err := jsontree.Parse(schemaText)
		if err != nil || hasHugePower(&doc) {
			return
		}
		value, err := jsontree.Parse(valueText)
		if err != nil || hasHugePower(&value) {
			return
		}
		our, err := compileSchema(&doc)
		if err != nil {
			return
		}
		their, err := oracle(schemaText)
		if err != nil {
			t.Fatalf("we accept the schema %s, the oracle does not: %v", schemaText, err)
		}
		problems, refusal := ours(our, &value), theirs(t, their, valueText)
		if (len(problems) == 0) != (refusal == nil) {
			t.Fatalf("schema %s\nvalue  %s\nours   %v\ntheirs %v", schemaText, valueText, problems, refusal)
		}
	})
}

// hasHugePower finds numbers like 1e999999, which are too large for the oracle's big.Rat.
func hasHugePower(v *jsontree.Value) bool {
	if i := strings.IndexAny(v.Text, "eE"); v.Kind == jsontree.Number && i >= 0 && len(v.Text)-i > 5 {
		return true
	}
	for i := range v.Members {
		if hasHugePower(&v.Members[i].Value) {
			return true
		}
	}
	return false
}
