package contract

import (
	"testing"

	"pgregory.net/rapid"

	"remit/internal/contract/jsontree"
)

// TestKeepsAll: keepsAll is true only if project leaves the value unchanged.
func TestKeepsAll(t *testing.T) {
	kept, changed := 0, 0
	rapid.Check(t, func(t *rapid.T) {
		document := drawDocument(t, 3)
		surplus := rapid.Bool().Draw(t, "surplus")
		if surplus { // rarely drawn, but the usual reason for a change
			document = parse(t, `{"type":"object","properties":{"a":{}},"additionalProperties":false}`)
			document.Member("properties").Members[0].Value = drawSchema(drawer{T: t}, 2)
		}
		s, err := compileSchema(&document)
		if err != nil {
			t.Skip("the schema does not compile")
		}
		v := drawFor(values{t, &document}, &document, 4)
		if surplus && v.Kind == jsontree.Object {
			v.Members = append(v.Members, jsontree.M("surplus", jsontree.Int(1)))
		}
		before := string(v.Append(nil))
		projected := s.project(v)
		same := string(projected.Append(nil)) == before
		switch {
		case s.keepsAll(&v) && !same:
			t.Fatalf("%s leaves %s, which should be %s", document.Append(nil), before, projected.Append(nil))
		case same:
			kept++
		default:
			changed++
		}
	})
	if kept == 0 || changed == 0 {
		t.Errorf("the generator does not cover both cases: %d kept, %d changed", kept, changed)
	}
	for _, c := range []struct {
		schema, value string
		want          bool
	}{
		{`{"type":"object","properties":{"a":{"type":"integer"},"b":{"type":"integer"}},"additionalProperties":false}`, `{"a":1,"b":2}`, true},
		{`{"type":"object","properties":{"a":{"type":"integer"},"b":{"type":"integer"}},"additionalProperties":false}`, `{"b":2}`, true},
		{`{"type":"object","properties":{"a":{"type":"integer"},"b":{"type":"integer"}},"additionalProperties":false}`, `{"b":2,"a":1}`, false},
		{`{"type":"object","properties":{"a":{"type":"integer"}},"additionalProperties":false}`, `{"a":1,"c":3}`, false},
		{`{"type":"array","items":{"type":"object","properties":{},"additionalProperties":false}}`, `[{},{"c":3}]`, false},
		{`{"type":"object","properties":{"a":{"type":"object","properties":{},"additionalProperties":false}},"additionalProperties":true}`, `{"x":1,"a":{"c":3}}`, false},
	} {
		value := parse(t, c.value)
		if got := compile(t, c.schema).keepsAll(&value); got != c.want {
			t.Errorf("%s of %s: %t", c.schema, c.value, got)
		}
	}
}
