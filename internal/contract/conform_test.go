package contract_test

import (
	"fmt"
	"regexp"
	"strings"
	"testing"

	"remit/internal/contract"
	"remit/internal/contract/jsontree"
)

func TestConform(t *testing.T) {
	const schema = `
  type: object
  properties:
    id: {type: integer, minimum: 1}
    name: {type: string}
    items: {type: array, items: {type: object, properties: {b: {type: string}, a: {type: string}}, required: [b], additionalProperties: false}}
    open: {type: object, properties: {in: {type: object, properties: {x: {type: integer}}, additionalProperties: false}}, additionalProperties: true}
    map: {type: object, additionalProperties: {type: object, properties: {x: {type: integer}}, additionalProperties: false}}
    part: {anyOf: [{type: object, properties: {y: {type: integer}}, required: [y], additionalProperties: false}, {type: object, properties: {x: {type: integer}}, additionalProperties: false}, {type: "null"}]}
    tree: {$ref: "#/$defs/node"}
    list: {anyOf: [{type: array, items: {type: object, properties: {x: {type: integer}}, additionalProperties: false}}]}
  required: [id]
  additionalProperties: false
  $defs: {node: {type: object, properties: {x: {type: integer}, below: {$ref: "#/$defs/node"}}, additionalProperties: false}}
`
	for _, tc := range []struct{ name, answer, want, cause string }{
		{"further fields are dropped", `{"id":1,"secret":"x"}`, `{"id":1}`, ""},
		{"the order is the contract's", `{"name":"n","id":1}`, `{"id":1,"name":"n"}`, ""},
		{"in arrays too", `{"id":1,"items":[{"a":"1","b":"2","c":"3"},{"b":"4"}]}`, `{"id":1,"items":[{"b":"2","a":"1"},{"b":"4"}]}`, ""},
		{"an open object keeps what it has", `{"id":1,"open":{"z":{"q":1},"in":{"x":1,"y":2}}}`, `{"id":1,"open":{"z":{"q":1},"in":{"x":1}}}`, ""},
		{"under names of the handler's own", `{"id":1,"map":{"k":{"x":1,"y":2}}}`, `{"id":1,"map":{"k":{"x":1}}}`, ""},
		{"onto the option that holds", `{"id":1,"part":{"x":1,"z":2}}`, `{"id":1,"part":{"x":1}}`, ""},
		{"onto the first option that holds", `{"id":1,"part":{"x":1,"y":2}}`, `{"id":1,"part":{"y":2}}`, ""},
		{"onto what a reference leads to", `{"id":1,"tree":{"y":1,"below":{"x":1,"below":{"z":2}}}}`, `{"id":1,"tree":{"below":{"x":1,"below":{}}}}`, ""},
		{"onto the elements of an option", `{"id":1,"list":[{"x":1,"y":2}]}`, `{"id":1,"list":[{"x":1}]}`, ""},
		{"what a reference leads to is broken", `{"id":1,"tree":{"below":{"x":"1"}}}`, "", `the answer breaks its contract: tree.below.x must be an integer, not the string "1"`},
		{"null stays null", `{"id":1,"part":null}`, `{"id":1,"part":null}`, ""},
		{"a promised field is missing", `{"name":"n"}`, "", "the answer breaks its contract: id is required"},
		{"a promised type is broken", `{"id":"1"}`, "", `the answer breaks its contract: id must be an integer, not the string "1"`},
		{"several promises are broken", `{"id":0,"items":[{}]}`, "", `the answer breaks its contract: id must be at least 1, not 0; items[0].b is required`},
		{"no object at all", `[]`, "", `the answer breaks its contract: the value must be an object, not an array`},
	} {
		t.Run(tc.name, func(t *testing.T) {
			answer := tree(t, tc.answer)
			got, err := withOutput(t, schema).Conform(answer)
			if written(answer) != tc.answer {
				t.Errorf("the handler's answer became %s", written(answer))
			}
			if tc.cause == "" {
				if err != nil || written(got) != tc.want {
					t.Errorf("got  %s, %v\nwant %s", written(got), err, tc.want)
				}
				return
			}
			e := contract.AsError(err)
			if e.Kind != contract.Internal || e.Message != "Internal error" || e.Cause == nil || e.Cause.Error() != tc.cause {
				t.Errorf("got  %v\nwant kind internal because %s", err, tc.cause)
			}
			if body := string(withOutput(t, schema).Render(e)); body != `{"error":{"code":500,"message":"Internal error"}}` {
				t.Errorf("the caller gets %s", body)
			}
		})
	}
}

// TestConformContent: content is sent unchanged if it is a list of typed blocks.
func TestConformContent(t *testing.T) {
	c := load(t, "name: demo\ninput: {type: object}\ncontent: true\n")
	for _, tc := range []struct{ answer, cause string }{
		{`{"content":[]}`, ""},
		{`{"content":[{"text":"b","type":"text","annotations":{"priority":1}},{"type":"other"}]}`, ""},
		{`{"content":[{"text":"b"}]}`, "content[0].type is required"},
		{`{"content":[{"type":"text"},{"type":1}]}`, "content[1].type must be a string, not the number 1"},
		{`{"content":["b"]}`, `content[0] must be an object, not the string "b"`},
		{`{"content":{}}`, "content must be an array, not an object"},
		{`{}`, "content is required"},
		{`[]`, "the value must be an object, not an array"},
	} {
		got, err := c.Conform(tree(t, tc.answer))
		switch cause := contract.AsError(err).Cause; {
		case tc.cause == "" && (err != nil || written(got) != tc.answer):
			t.Errorf("%s became %s, %v", tc.answer, written(got), err)
		case tc.cause != "" && (cause == nil || cause.Error() != "the answer breaks its contract: "+tc.cause):
			t.Errorf("%s: %v, want %s", tc.answer, err, tc.cause)
		}
	}
}

var hash = regexp.MustCompile(`"sha256":"[0-9a-f]{16}"`)

// hashed replaces hashes, so that redacted arguments can be compared.
func hashed(text string) string { return hash.ReplaceAllString(text, `"sha256":"…"`) }

func numbered(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, `,"%d":1`, i)
	}
	return b.String()
}

func TestRedacted(t *testing.T) {
	const schema = `
  type: object
  properties:
    name: {type: string}
    count: {type: integer}
    entry: {type: string, x-redact: true}
    api_key: {type: string}
    userToken: {type: string}
    tags: {type: array, items: {type: string}}
    pins: {type: array, items: {type: string, x-redact: true}}
    who: {type: object, properties: {name: {type: string}, passWord: {type: string}, pin: {type: string, x-redact: true}}, additionalProperties: true}
    either: {anyOf: [{type: string, x-redact: true}, {type: integer}]}
    mail: {$ref: "#/$defs/mail"}
    size: {$ref: "#/$defs/size"}
  additionalProperties: false
  $defs: {mail: {allOf: [{if: {type: string}, then: {x-redact: true}}]}, size: {type: integer}}
`
	for _, tc := range []struct{ name, args, want string }{
		{"what is short and known stays", `{"name":"Ada","count":3}`, `{"name":"Ada","count":3}`},
		{"what the contract marks", `{"entry":"CLEAR"}`, `{"entry":{"bytes":5,"sha256":"…"}}`},
		{"what looks like a secret", `{"api_key":"CLEAR","userToken":"CLEAR"}`, `{"api_key":{"bytes":5},"userToken":{"bytes":5}}`},
		{"what is long", `{"name":"` + strings.Repeat("CLEAR", 60) + `"}`, `{"name":{"bytes":300,"sha256":"…"}}`},
		{"what is unknown", `{"other":"CLEAR","more":{"a":"CLEAR"}}`, `{"other":{"bytes":5},"more":{"bytes":13}}`},
		{"an unknown name is cut", `{"` + strings.Repeat("k", 100) + `":1}`, `{"` + strings.Repeat("k", 60) + `...":{"bytes":1}}`},
		{"further down", `{"who":{"name":"Ada","passWord":"CLEAR","pin":"CLEAR","other":"CLEAR"}}`, `{"who":{"name":"Ada","passWord":{"bytes":5},"pin":{"bytes":5,"sha256":"…"},"other":{"bytes":5}}}`},
		{"in arrays", `{"tags":["a"],"pins":["CLEAR"]}`, `{"tags":["a"],"pins":[{"bytes":5,"sha256":"…"}]}`},
		{"in an option", `{"either":"CLEAR"}`, `{"either":{"bytes":5,"sha256":"…"}}`},
		{"behind a reference", `{"mail":"CLEAR","size":3}`, `{"mail":{"bytes":5,"sha256":"…"},"size":3}`},
		{"of the wrong type", `{"name":{"first":"CLEAR"},"tags":{"a":"CLEAR"}}`, `{"name":{"first":{"bytes":5}},"tags":{"a":{"bytes":5}}}`},
		{"no object", `["CLEAR"]`, `{"bytes":9}`},
		{"a string", `"CLEAR"`, `{"bytes":5}`},
		{"no arguments", `null`, `{}`},
		{"too many", `{"name":"CLEAR"` + numbered(64) + `}`, `{"bytes":454}`},
	} {
		t.Run(tc.name, func(t *testing.T) {
			args := tree(t, tc.args)
			got := hashed(written(withInput(t, schema).Redacted(&args)))
			if got != tc.want {
				t.Errorf("got  %s\nwant %s", got, tc.want)
			}
			if strings.Contains(got, "CLEAR") {
				t.Error("the value is in clear text")
			}
			if written(args) != tc.args {
				t.Errorf("the caller's arguments became %s", written(args))
			}
		})
	}
	made := jsontree.Obj(jsontree.Member{Key: "name", Value: jsontree.Obj(jsontree.Member{Key: "a", Value: jsontree.Str(strings.Repeat("x", 300))})})
	if got := hashed(written(withInput(t, schema).Redacted(&made))); got != `{"name":{"bytes":308,"sha256":"…"}}` {
		t.Errorf("a tree made in Go: %s", got)
	}
}

// TestRedactedHashes: equal values have equal hashes and different values different ones, so that a
// record shows whether two calls had the same arguments.
func TestRedactedHashes(t *testing.T) {
	c := withInput(t, `{type: object, properties: {entry: {type: string, x-redact: true}}, additionalProperties: false}`)
	redact := func(text string) string {
		args := tree(t, text)
		return written(c.Redacted(&args))
	}
	if redact(`{"entry":"a"}`) != redact(`{"entry":"\u0061"}`) {
		t.Error("the same text with another escape has another hash")
	}
	if redact(`{"entry":"a"}`) == redact(`{"entry":"b"}`) {
		t.Error("two texts have the same hash")
	}
}
