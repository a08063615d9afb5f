package contract_test

import (
	"strings"
	"sync"
	"testing"

	"remit/internal/contract"
	"remit/internal/contract/jsontree"
)

func TestAccept(t *testing.T) {
	const schema = `
  type: object
  properties:
    name: {type: string, maxLength: 3}
    mode: {type: string, enum: [a, b], default: a}
    list: {type: array, items: {type: integer}, default: [1, 2]}
    due: {anyOf: [{type: string}, {type: "null"}]}
    note: {type: [string, "null"], default: none}
    part: {type: object, properties: {x: {type: string}}, additionalProperties: true}
  required: [name]
  additionalProperties: false
`
	const filled = `"mode":"a","list":[1,2],"note":"none"`
	for _, tc := range []struct{ name, args, want string }{
		{"defaults are filled in", `{"name":"x"}`, `{"name":"x",` + filled + `}`},
		{"what is given stays", `{"mode":"b","name":"x","list":[],"note":""}`, `{"mode":"b","name":"x","list":[],"note":""}`},
		{"a null of an optional argument is as if it were absent", `{"name":"x","mode":null,"list":null}`, `{"name":"x",` + filled + `}`},
		{"a null that the schema allows stays", `{"name":"x","due":null,"note":null}`, `{"name":"x","due":null,"note":null,"mode":"a","list":[1,2]}`},
		{"a null further down is not an argument", `{"name":"x","part":{"y":null}}`, `{"name":"x","part":{"y":null},` + filled + `}`},
		{"a null of a required argument is refused", `{"name":null}`, `invalid: name must be a string, not null`},
		{"a null of an unknown argument is refused", `{"name":"x","namme":null}`, `invalid: "namme" is not a known argument (did you mean "name"?)`},
		{"a null further down is refused where it is no null", `{"name":"x","part":{"x":null}}`, `invalid: part.x must be a string, not null`},
		{"null itself is no arguments", `null`, `invalid: name is required`},
		{"length counts code points: three", `{"name":"é😀日"}`, `{"name":"é😀日",` + filled + `}`},
		{"length counts code points: four", `{"name":"é😀日x"}`, `invalid: name must have at most 3 characters, not 4`},
	} {
		t.Run(tc.name, func(t *testing.T) {
			args := tree(t, tc.args)
			accepted, err := withInput(t, schema).Accept(args)
			got := written(accepted)
			if err != nil {
				got = err.Error()
			}
			if got != tc.want {
				t.Errorf("got  %s\nwant %s", got, tc.want)
			}
			if written(args) != tc.args {
				t.Errorf("the caller's arguments became %s", written(args))
			}
		})
	}
}

// TestAcceptSharesNothing: many calls may check the same tree concurrently.
func TestAcceptSharesNothing(t *testing.T) {
	c := withInput(t, `{type: object, properties: {a: {type: string}, b: {type: string, default: x}, c: {type: string, default: y}}, additionalProperties: false}`)
	for sent, want := range map[string]string{`{"a":null}`: `{"b":"x","c":"y"}`, `{"a":"1"}`: `{"a":"1","b":"x","c":"y"}`} {
		args := tree(t, sent)
		// Spare capacity that a faulty append would overwrite.
		args.Members = append(make([]jsontree.Member, 0, 8), args.Members...)
		var group sync.WaitGroup
		for range 8 {
			group.Go(func() {
				if accepted, err := c.Accept(args); err != nil || written(accepted) != want {
					t.Errorf("Accept = %s, %v", written(accepted), err)
				}
			})
		}
		group.Wait()
	}
}

func TestSizes(t *testing.T) {
	c := load(t, `name: demo
size: {request: 1KiB, args: {text: 10B, entry: 20B, list: 6B, number: 3B}}
input:
  type: object
  properties: {text: {type: string}, entry: {type: object}, list: {type: array}, number: {type: number}, free: {type: string}}
  additionalProperties: false
output: {type: object}
`)
	tooLarge := func(name, size, limit string) string {
		return "too_large: " + name + " is " + size + " bytes; at most " + limit + " bytes (" + limit + "B) are allowed"
	}
	for _, tc := range []struct{ name, args, want string }{
		{"text of N bytes", `{"text":"1234567890"}`, ""},
		{"text of N+1 bytes", `{"text":"12345678901"}`, tooLarge("text", "11", "10")},
		{"text counts UTF-8 bytes: N", `{"text":"ééééé"}`, ""},
		{"text counts UTF-8 bytes: N+1", `{"text":"日日日xx"}`, tooLarge("text", "11", "10")},
		{"escapes count as what they stand for", `{"text":"\u00e9\u00e9\u00e9\u00e9\u00e9"}`, ""},
		{"an object of N bytes as sent", `{"entry":{"a": "23456789012"}}`, ""},
		{"an object of N+1 bytes as sent", `{"entry":{"a":  "23456789012"}}`, tooLarge("entry", "21", "20")},
		{"escapes in an object count as sent", `{"entry":{"a":"\u00e9\u00e9"}}`, ""},
		{"escapes in an object count as sent, N+1", `{"entry":{"a":"\u00e9\u00e9x"}}`, tooLarge("entry", "21", "20")},
		{"an array of N", `{"list":[1, 2]}`, ""},
		{"an array of N+1", `{"list":[1, 22]}`, tooLarge("list", "7", "6")},
		{"a number of N", `{"number":1.5}`, ""},
		{"a number of N+1", `{"number":1.25}`, tooLarge("number", "4", "3")},
		{"no limit stated", `{"free":"` + strings.Repeat("x", 5000) + `"}`, ""},
		{"the schema comes first", `{"text":12345678901}`, "invalid: text must be a string, not the number 12345678901"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			_, err := c.Accept(tree(t, tc.args))
			got := ""
			if err != nil {
				got = err.Error()
			}
			if got != tc.want {
				t.Errorf("got  %s\nwant %s", got, tc.want)
			}
		})
	}
	e := contract.AsError(acceptError(c, tree(t, `{"text":"12345678901"}`)))
	if e.Details["field"] != "text" || e.Details["size"] != 11 || e.Details["max"] != 10 {
		t.Errorf("details = %v", e.Details)
	}
	// A tree made in Go has no original bytes; the bytes of its JSON count.
	made := jsontree.Obj(jsontree.Member{Key: "entry", Value: jsontree.Obj(jsontree.Member{Key: "a", Value: jsontree.Str("1234567890123456")})})
	if err := acceptError(c, made); err == nil || contract.AsError(err).Kind != contract.TooLarge {
		t.Errorf("an object made in Go slips through: %v", err)
	}
}

func acceptError(c *contract.Contract, args jsontree.Value) error {
	_, err := c.Accept(args)
	return err
}

// TestMemoryEntrySize: the limit of both editions is 10 KiB per entry, to the byte.
func TestMemoryEntrySize(t *testing.T) {
	c := load(t, `name: demo
size: {request: 256KiB, args: {entry: 10KiB}}
input: {type: object, properties: {entry: {type: string}}, required: [entry], additionalProperties: false}
output: {type: object}
`)
	for _, tc := range []struct {
		entry string
		want  contract.Kind
	}{
		{strings.Repeat("x", 10240), ""},
		{strings.Repeat("x", 10241), contract.TooLarge},
		{strings.Repeat("é", 5120), ""},
		{strings.Repeat("é", 5120) + "x", contract.TooLarge},
	} {
		_, err := c.Accept(jsontree.Obj(jsontree.Member{Key: "entry", Value: jsontree.Str(tc.entry)}))
		var got contract.Kind
		if err != nil {
			got = contract.AsError(err).Kind
		}
		if got != tc.want {
			t.Errorf("%d bytes: %q, want %q", len(tc.entry), got, tc.want)
		}
	}
}

func TestSchemaThatDoesNotCompile(t *testing.T) {
	c := withInput(t, `{type: objekt}`)
	for name, err := range map[string]error{
		"Accept": acceptError(c, jsontree.Obj()),
		"Conform": func() error {
			_, err := c.Conform(jsontree.Obj())
			return err
		}(),
	} {
		if err == nil || !strings.Contains(err.Error(), `compile contract demo/demo: schema: type: "objekt" is not a type`) {
			t.Errorf("%s = %v", name, err)
		}
		if contract.AsError(err).Kind != contract.Internal {
			t.Errorf("%s: a contract that does not compile is a fault of ours", name)
		}
	}
	args := tree(t, `{"a":"in clear"}`)
	if got := written(c.Redacted(&args)); strings.Contains(got, "clear") {
		t.Errorf("Redacted = %s", got)
	}
}
