package contract_test

import (
	"testing"

	"remit/internal/contract"
)

// TestWordingByKeyword: a table gives messages for some failures; the others get the default
// message.
func TestWordingByKeyword(t *testing.T) {
	const schema = `
  type: object
  properties:
    title: {type: string, minLength: 1, maxLength: 3, x-code: {minLength: empty, required: missing}, x-message: {minLength: Title cannot be empty, required: Give it a title}}
    kind: {type: string, enum: [a], x-code: bad_kind, x-message: Kind must be a}
    due: {anyOf: [{type: string, format: date, x-code: {format: own}}, {type: "null"}], x-code: {format: bad_date, type: bad_type}, x-message: {format: Not a date}}
    list: {type: array, items: {type: string, maxLength: 1, x-message: {maxLength: One letter each}}}
  required: [title, kind]
  additionalProperties: false
`
	const given = `"title":"x","kind":"a"`
	for _, tc := range []struct{ name, args, code, want string }{
		{"the keyword that has words", `{"kind":"a","title":""}`, "empty", "Title cannot be empty"},
		{"another keyword", `{"kind":"a","title":"long"}`, "", "title must have at most 3 characters, not 4"},
		{"another type", `{"kind":"a","title":5}`, "", "title must be a string, not the number 5"},
		{"a missing field with words", `{"kind":"a"}`, "missing", "Give it a title"},
		{"a code for all goes for a missing field, words for all do not", `{"title":"x"}`, "bad_kind", "kind is required"},
		{"words for all", `{"title":"x","kind":"b"}`, "bad_kind", "Kind must be a"},
		{"said of the whole, broken in an option", `{` + given + `,"due":"soon"}`, "own", "Not a date"},
		{"no option of the type", `{` + given + `,"due":5}`, "bad_type", "due must be a string or null, not the number 5"},
		{"an element", `{` + given + `,"list":["a","bc"]}`, "", "One letter each"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			e := contract.AsError(acceptError(withInput(t, schema), tree(t, tc.args)))
			if e.Kind != contract.Invalid || e.Code != tc.code || e.Message != tc.want {
				t.Errorf("got  %s %q: %s\nwant invalid %q: %s", e.Kind, e.Code, e.Message, tc.code, tc.want)
			}
		})
	}
}
