package contract_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"remit/internal/contract"
	"remit/internal/contract/jsontree"
)

const talkative = `
  type: object
  properties:
    name: {type: string, minLength: 2, maxLength: 5}
    title: {type: string, minLength: 1, x-code: bad_title, x-message: Title cannot be empty}
    mode: {type: string, enum: [utf-8, base64]}
    only: {type: string, enum: [one]}
    odd: {enum: [1, null, {a: 2}]}
    path: {type: string, pattern: "^[a-z/]+$"}
    day: {type: string, format: date}
    link: {type: string, format: uri}
    count: {type: integer, minimum: 1, maximum: 1000000}
    share: {type: number, minimum: 0.5}
    flag: {type: boolean}
    tags: {type: array, minItems: 1, maxItems: 2, uniqueItems: true, items: {type: string, maxLength: 3}}
    pair: {type: array, minItems: 2}
    due: {anyOf: [{type: string, format: date}, {type: "null"}], x-code: bad_date}
    ref: {anyOf: [{type: string}, {type: integer}, {type: "null"}]}
    entry:
      type: object
      properties:
        timestamp: {type: string, format: date-time}
        type: {type: string}
        list: {type: array, items: {type: object, properties: {id: {type: integer}}, additionalProperties: false}}
      required: [timestamp, type]
      additionalProperties: true
    open: {type: object, additionalProperties: {type: string}}
  required: [name]
  additionalProperties: false
`

// TestExplanations: each message names the field, the value and what is allowed.
func TestExplanations(t *testing.T) {
	long := strings.Repeat("x", 100)
	for _, tc := range []struct{ name, args, field, want string }{
		{"missing", `{}`, "name", `name is required`},
		{"null where one is needed", `{"name":null}`, "name", `name must be a string, not null`},
		{"a number for a string", `{"name":7}`, "name", `name must be a string, not the number 7`},
		{"a boolean for a string", `{"name":true}`, "name", `name must be a string, not the boolean true`},
		{"an object for a string", `{"name":{}}`, "name", `name must be a string, not an object`},
		{"a string for an integer", `{"name":"ab","count":"7"}`, "count", `count must be an integer, not the string "7"`},
		{"a fraction for an integer", `{"name":"ab","count":1.5}`, "count", `count must be an integer, not the number 1.5`},
		{"an array for a boolean", `{"name":"ab","flag":[]}`, "flag", `flag must be a boolean, not an array`},
		{"too short", `{"name":"é"}`, "name", `name must have at least 2 characters, not 1`},
		{"too long, by code points", `{"name":"日本語日本語"}`, "name", `name must have at most 5 characters, not 6`},
		{"empty", `{"name":"ab","tags":[]}`, "tags", `tags must not be empty`},
		{"the contract's own words", `{"name":"ab","title":""}`, "title", `Title cannot be empty`},
		{"enum, near", `{"name":"ab","mode":"utf8"}`, "mode", `mode must be one of utf-8, base64, not the string "utf8" (did you mean "utf-8"?)`},
		{"enum, by case", `{"name":"ab","mode":"UTF-8"}`, "mode", `mode must be one of utf-8, base64, not the string "UTF-8" (did you mean "utf-8"?)`},
		{"enum, far", `{"name":"ab","mode":"latin"}`, "mode", `mode must be one of utf-8, base64, not the string "latin"`},
		{"enum of one", `{"name":"ab","only":"two"}`, "only", `only must be one, not the string "two"`},
		{"enum of odd values", `{"name":"ab","odd":2}`, "odd", `odd must be one of 1, null, {"a":2}, not the number 2`},
		{"pattern", `{"name":"ab","path":"A b"}`, "path", `path must match ^[a-z/]+$, and the string "A b" does not`},
		{"format", `{"name":"ab","day":"2025-02-30"}`, "day", `day must be a date like 2026-01-09, not the string "2025-02-30"`},
		{"format uri", `{"name":"ab","link":"/x"}`, "link", `link must be a uri like https://example.com/a, not the string "/x"`},
		{"under the minimum", `{"name":"ab","count":0}`, "count", `count must be at least 1, not 0`},
		{"over the maximum", `{"name":"ab","count":1000001}`, "count", `count must be at most 1000000, not 1000001`},
		{"a bound as spelt", `{"name":"ab","share":0.25}`, "share", `share must be at least 0.5, not 0.25`},
		{"too many elements", `{"name":"ab","tags":["a","b","c"]}`, "tags", `tags must have at most 2 elements, not 3`},
		{"too few elements", `{"name":"ab","pair":[1]}`, "pair", `pair must have at least 2 elements, not 1`},
		{"an element twice", `{"name":"ab","tags":["a","a"]}`, "tags", `tags must not contain the same element twice`},
		{"an element", `{"name":"ab","tags":["a","long"]}`, "tags[1]", `tags[1] must have at most 3 characters, not 4`},
		{"an option of the right type", `{"name":"ab","due":"soon"}`, "due", `due must be a date like 2026-01-09, not the string "soon"`},
		{"no option of the right type", `{"name":"ab","ref":true}`, "ref", `ref must be a string, an integer or null, not the boolean true`},
		{"unknown, near", `{"name":"ab","namme":"x"}`, "namme", `"namme" is not a known argument (did you mean "name"?)`},
		{"nested", `{"name":"ab","entry":{"timestamp":"yesterday","type":"x"}}`, "entry.timestamp", `entry.timestamp must be a date-time like 2026-01-09T10:30:00Z, not the string "yesterday"`},
		{"nested and missing", `{"name":"ab","entry":{"timestamp":"2026-01-09T10:30:00Z"}}`, "entry.type", `entry.type is required`},
		{"deep", `{"name":"ab","entry":{"timestamp":"2026-01-09T10:30:00Z","type":"x","list":[{},{"id":"7"}]}}`, "entry.list[1].id", `entry.list[1].id must be an integer, not the string "7"`},
		{"deep and unknown", `{"name":"ab","entry":{"timestamp":"2026-01-09T10:30:00Z","type":"x","list":[{"number":7}]}}`, "entry.list[0].number", `"entry.list[0].number" is not a known argument (known: id)`},
		{"under a name of the caller's", `{"name":"ab","open":{"k":1}}`, "open.k", `open.k must be a string, not the number 1`},
		{
			"several at once", `{"mode":"utf8","count":0,"foo":1}`, "name",
			`name is required; mode must be one of utf-8, base64, not the string "utf8" (did you mean "utf-8"?); count must be at least 1, not 0; ` +
				`"foo" is not a known argument (known: name, title, mode, only, odd, path, day, link, count, share, flag, tags, pair, due, ref, entry, open)`,
		},
		{"not an object", `[]`, "", `the arguments must be an object, not an array`},
		{"not even JSON's idea of one", `"name=x"`, "", `the arguments must be an object, not a string`},
		{"a long value is cut", `{"name":"ab","mode":"` + long + `"}`, "mode", `mode must be one of utf-8, base64, not the string "` + long[:60] + `..."`},
		{"a long number is cut", `{"name":"ab","count":` + strings.Repeat("1", 100) + `}`, "count", `count must be at most 1000000, not ` + strings.Repeat("1", 60) + `...`},
		{"a long name is cut", `{"name":"ab","open":{"` + long + `":1}}`, "open." + long[:60] + "...", `open.` + long[:60] + `... must be a string, not the number 1`},
		{"control characters are shown, not sent", `{"name":"ab","mode":"a\u0000\u001b[31m"}`, "mode", `mode must be one of utf-8, base64, not the string "a\x00\x1b[31m"`},
	} {
		t.Run(tc.name, func(t *testing.T) {
			_, err := withInput(t, talkative).Accept(tree(t, tc.args))
			var e *contract.Error
			if !errors.As(err, &e) {
				t.Fatalf("Accept = %v, want a contract.Error", err)
			}
			if e.Kind != contract.Invalid || e.Message != tc.want {
				t.Errorf("got  %s: %s\nwant invalid: %s", e.Kind, e.Message, tc.want)
			}
			if e.Details["field"] != tc.field {
				t.Errorf("field = %v, want %q", e.Details["field"], tc.field)
			}
		})
	}
}

// TestExplanationsOfParts: a problem in a subschema is reported like one of the schema itself.
func TestExplanationsOfParts(t *testing.T) {
	const schema = `
  type: object
  $defs:
    place: {type: object, properties: {city: {type: string, minLength: 1}}, required: [city]}
  properties:
    way: {type: string, enum: [phone, mail]}
    phone: {type: string}
    mail: {type: string}
    unit: {const: kg}
    home: {$ref: "#/$defs/place"}
    work: {$ref: "#/$defs/place", x-code: bad_work, x-message: Say where you work}
  if: {properties: {way: {const: phone}}, required: [way]}
  then: {required: [phone]}
  else: {required: [mail]}
  allOf: [{anyOf: [{required: [phone]}, {required: [mail]}]}]
  additionalProperties: false
`
	for _, tc := range []struct{ name, args, field, code, want string }{
		{"then", `{"way":"phone","mail":"a"}`, "phone", "", "phone is required"},
		{"else", `{"phone":"1"}`, "mail", "", "mail is required"},
		{"both", `{}`, "phone", "", "phone is required; mail is required"},
		{"a constant", `{"mail":"a","unit":"g"}`, "unit", "", `unit must be kg, not the string "g"`},
		{"a reference", `{"mail":"a","home":{}}`, "home.city", "", "home.city is required"},
		{"a reference, of another type", `{"mail":"a","home":"here"}`, "home", "", `home must be an object, not the string "here"`},
		{"a reference with words of its own", `{"mail":"a","work":"here"}`, "work", "bad_work", "Say where you work"},
	} {
		_, err := withInput(t, schema).Accept(tree(t, tc.args))
		e := contract.AsError(err)
		if e.Message != tc.want || e.Code != tc.code || e.Details["field"] != tc.field {
			t.Errorf("%s: %q about %v with code %q, want %q about %s with code %q", tc.name, e.Message, e.Details["field"], e.Code, tc.want, tc.field, tc.code)
		}
	}
}

func TestExplanationCodes(t *testing.T) {
	for _, tc := range []struct{ args, want string }{
		{`{"name":"ab","title":""}`, "bad_title"},
		// Stated for the property, violated in its option.
		{`{"name":"ab","due":"soon"}`, "bad_date"},
		{`{"name":"ab","due":7}`, "bad_date"},
		{`{}`, ""},
		{`{"title":"","name":7}`, "bad_title"}, // the first problem determines the code
	} {
		_, err := withInput(t, talkative).Accept(tree(t, tc.args))
		if got := contract.AsError(err).Code; got != tc.want {
			t.Errorf("%s: code = %q, want %q (%v)", tc.args, got, tc.want, err)
		}
	}
}

func TestExplanationDetails(t *testing.T) {
	_, err := withInput(t, talkative).Accept(tree(t, `{"name":"x","day":"soon"}`))
	e := contract.AsError(err)
	want := []string{"name must have at least 2 characters, not 1", `day must be a date like 2026-01-09, not the string "soon"`}
	if diff := cmp.Diff(want, e.Details["problems"]); diff != "" {
		t.Errorf("problems: %s", diff)
	}
	if v, ok := e.Details["value"].(jsontree.Value); !ok || v.Text != "x" {
		t.Errorf("value = %v", e.Details["value"])
	}
	_, err = withInput(t, talkative).Accept(tree(t, `{}`))
	if _, ok := contract.AsError(err).Details["value"]; ok {
		t.Error("an argument that is missing has no value to show")
	}
}

// TestManyProblems: the message stays short, however many problems there are.
func TestManyProblems(t *testing.T) {
	var args strings.Builder
	args.WriteString(`{"name":"ab"`)
	for i := range 5000 {
		fmt.Fprintf(&args, `,"%s%d":0`, strings.Repeat("k", 100), i)
	}
	_, err := withInput(t, talkative).Accept(tree(t, args.String()+"}"))
	e := contract.AsError(err)
	if e.Kind != contract.Invalid || len(e.Message) > 4000 || !strings.HasSuffix(e.Message, "; and more") {
		t.Errorf("%d bytes: %.200s ... %s", len(e.Message), e.Message, e.Message[len(e.Message)-20:])
	}
	exactly := `{"name":"ab","a1":0,"a2":0,"a3":0,"a4":0,"a5":0,"a6":0,"a7":0,"a8":0,"a9":0,"a10":0}`
	if _, err := withInput(t, talkative).Accept(tree(t, exactly)); strings.Contains(err.Error(), "and more") {
		t.Errorf("ten problems should all be reported: %v", err)
	}
}

// TestSameWordsOnce: two rules violated under one x-message give one sentence.
func TestSameWordsOnce(t *testing.T) {
	c := withInput(t, `{type: object, properties: {title: {type: string, minLength: 1, pattern: "^[a-z]", x-message: Title cannot be empty}}, additionalProperties: false}`)
	_, err := c.Accept(tree(t, `{"title":""}`))
	if got := contract.AsError(err).Message; got != "Title cannot be empty" {
		t.Errorf("message = %q", got)
	}
}

// FuzzAccept: every contract accepts any arguments or says what is wrong with them.
func FuzzAccept(f *testing.F) {
	sets := published(f)
	for _, set := range sets {
		for _, c := range set.Contracts {
			for _, e := range c.Examples {
				f.Add(e.Arguments.Append(nil))
			}
		}
	}
	for _, seed := range []string{`null`, `[]`, `{"name":null}`, `{"entry":{"timestamp":1}}`, `{"path":"\u0000"}`, `{"":{}}`, `{"file":"decisions.jsonl","entry":"` + strings.Repeat("x", 11000) + `"}`} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		args, err := jsontree.Parse(data)
		if err != nil {
			return
		}
		for _, set := range sets {
			for _, c := range set.Contracts {
				checkAccept(t, c, args)
			}
		}
	})
}

func checkAccept(t *testing.T, c *contract.Contract, args jsontree.Value) {
	t.Helper()
	before := written(args)
	accepted, err := c.Accept(args)
	if after := written(args); after != before {
		t.Fatalf("%s: Accept changed the caller's arguments from %s to %s", c.Name, before, after)
	}
	c.Redacted(&args)
	if err == nil {
		if again, err := c.Accept(accepted); err != nil || written(again) != written(accepted) {
			t.Fatalf("%s: what was accepted as %s is then %s, %v", c.Name, written(accepted), written(again), err)
		}
		return
	}
	var e *contract.Error
	if !errors.As(err, &e) || e.Kind != contract.Invalid && e.Kind != contract.TooLarge || e.Message == "" {
		t.Fatalf("%s: Accept(%s) = %#v", c.Name, before, err)
	}
	if _, err := jsontree.Parse(c.Render(e)); err != nil {
		t.Fatalf("%s: the error of %s is rendered as %s: %v", c.Name, before, c.Render(e), err)
	}
}
