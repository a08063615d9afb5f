package contract_test

import (
	"slices"
	"strings"
	"testing"
	"unicode"

	"remit/internal/contract"
	"remit/internal/contract/jsontree"
)

const textual = `
  type: object
  properties:
    title: {type: string, minLength: 1, maxLength: 3, x-trim: true}
    id: {type: string, pattern: "^-?[0-9]{1,20}$", x-accepts: integer}
    both: {type: string, maxLength: 3, x-trim: true, x-accepts: integer, default: " d "}
    plain: {type: string}
    part: {type: object, properties: {title: {type: string}}, additionalProperties: true}
  additionalProperties: false
`

func TestAcceptText(t *testing.T) {
	for _, tc := range []struct{ name, args, want string }{
		{"white space around is dropped", `{"title":" a b\n","both":"x"}`, `{"title":"a b","both":"x"}`},
		{"of every kind that Unicode knows", `{"title":"\u00a0\u2003\u3000\u0085\u2028a\t","both":""}`, `{"title":"a","both":""}`},
		{"before the length is counted", `{"title":"   abc   ","both":"x"}`, `{"title":"abc","both":"x"}`},
		{"so that a blank is empty", `{"title":" \t "}`, `invalid: title must not be empty`},
		{"nothing else is dropped", `{"title":"\u200ba","both":"x"}`, `{"title":"` + "\u200b" + `a","both":"x"}`},
		{"other text stays as it is", `{"plain":" a ","both":"x"}`, `{"plain":" a ","both":"x"}`},
		{"a default stays as it is", `{}`, `{"both":" d "}`},
		{"an integer is its digits", `{"id":123,"both":"x"}`, `{"id":"123","both":"x"}`},
		{"however great", `{"id":12345678901234567890,"both":-7}`, `{"id":"12345678901234567890","both":"-7"}`},
		{"zero is one", `{"id":0,"both":"x"}`, `{"id":"0","both":"x"}`},
		{"text stays text", `{"id":"007","both":" 7 "}`, `{"id":"007","both":"7"}`},
		{"a power is no digits", `{"id":1e3}`, `invalid: id must be a string, not the number 1e3`},
		{"a fraction is no integer", `{"id":2.0}`, `invalid: id must be a string, not the number 2.0`},
		{"a boolean is no integer", `{"id":true}`, `invalid: id must be a string, not the boolean true`},
		{"the digits have to fit", `{"both":1234}`, `invalid: both must have at most 3 characters, not 4`},
		{"nobody else takes a number", `{"plain":7}`, `invalid: plain must be a string, not the number 7`},
		{"a list is no text", `{"title":[" a "]}`, `invalid: title must be a string, not an array`},
		{"a null is as if it were absent", `{"title":null,"id":null,"both":"x"}`, `{"both":"x"}`},
		{"further down nothing is dropped", `{"part":{"title":" a "},"both":"x"}`, `{"part":{"title":" a "},"both":"x"}`},
	} {
		t.Run(tc.name, func(t *testing.T) {
			args := tree(t, tc.args)
			sent := args.Clone()
			accepted, err := withInput(t, textual).Accept(args)
			got := written(accepted)
			if err != nil {
				got = err.Error()
			}
			if got != tc.want {
				t.Errorf("got  %s\nwant %s", got, tc.want)
			}
			if written(args) != written(sent) {
				t.Errorf("the caller's arguments became %s", written(args))
			}
		})
	}
}

// TestTextSizes: the size of an argument is the size of the text that the handler gets.
func TestTextSizes(t *testing.T) {
	c := load(t, `name: demo
size: {request: 1KiB, args: {a: 3B}}
input: {type: object, properties: {a: {type: string, x-trim: true, x-accepts: integer}}, additionalProperties: false}
output: {type: object}
`)
	for args, fits := range map[string]bool{`{"a":"  abc  "}`: true, `{"a":"  abcd  "}`: false, `{"a":123}`: true, `{"a":1234}`: false} {
		if err := acceptError(c, tree(t, args)); (err == nil) != fits {
			t.Errorf("%s: %v", args, err)
		}
	}
}

// TestPublicText: clients see a plain string, without Remit's keywords.
func TestPublicText(t *testing.T) {
	c := withInput(t, `{type: object, properties: {a: {type: string, x-trim: true, x-accepts: integer, x-code: {type: c}, x-message: {type: m}}}, additionalProperties: false}`)
	if got, want := written(c.PublicInput()), `{"type":"object","properties":{"a":{"type":"string"}},"additionalProperties":false}`; got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

// FuzzAcceptText: text arrives without white space around it, an integer as the digits that were
// sent, and anything else unchanged. The caller's own arguments do not change.
func FuzzAcceptText(f *testing.F) {
	c := withInput(f, `{type: object, properties: {trim: {type: string, x-trim: true}, id: {type: string, x-accepts: integer}, both: {type: string, x-trim: true, x-accepts: integer}, plain: {type: string}}, additionalProperties: false}`)
	for _, seed := range []string{`" a "`, `"\u3000a\u00a0b\u2029"`, `"\u0085"`, `""`, `7`, `-0`, `1e3`, `2.0`, `123456789012345678901234567890`, `true`, `[" a "]`, `{"a":1}`, `"\ud800 "`} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		v, err := jsontree.Parse(data)
		if err != nil || v.Kind == jsontree.Null {
			return
		}
		for _, name := range []string{"trim", "id", "both", "plain"} {
			args := jsontree.Obj(jsontree.M(name, v))
			before := written(args)
			accepted, err := c.Accept(args)
			if written(args) != before {
				t.Fatalf("the caller's %s became %s", before, written(args))
			}
			checkText(t, name, &v, accepted, err)
		}
	})
}

// checkText computes the expected result rune by rune.
func checkText(t *testing.T, name string, sent *jsontree.Value, accepted jsontree.Value, err error) {
	t.Helper()
	trims, converts := name == "trim" || name == "both", name == "id" || name == "both"
	digits := strings.TrimPrefix(string(sent.Append(nil)), "-")
	isInteger := digits != "" && !slices.ContainsFunc([]byte(digits), func(b byte) bool { return b < '0' || b > '9' })
	if taken := sent.Kind == jsontree.String || converts && isInteger; taken != (err == nil) {
		t.Fatalf("%s of %s: %v", name, sent.Append(nil), err)
	}
	if err != nil {
		if contract.AsError(err).Kind != contract.Invalid {
			t.Fatalf("%s of %s: %v", name, sent.Append(nil), err)
		}
		return
	}
	want := []rune(sent.Text)
	for trims && len(want) > 0 && unicode.IsSpace(want[0]) {
		want = want[1:]
	}
	for trims && len(want) > 0 && unicode.IsSpace(want[len(want)-1]) {
		want = want[:len(want)-1]
	}
	if got := accepted.Field(name); got.Kind != jsontree.String || !slices.Equal([]rune(got.Text), want) {
		t.Fatalf("%s of %s became %s", name, sent.Append(nil), got.Append(nil))
	}
}
