package contracttest

import (
	"testing"

	"remit/internal/contract"
	"remit/internal/contract/jsontree"
)

func TestVarying(t *testing.T) {
	for _, tc := range []struct {
		name, answer string
		varies       []string
		want         string
	}{
		{"nothing", `{"a":1}`, nil, `{"a":1}`},
		{"a field", `{"b":"x","a":1}`, []string{"b"}, `{"b":null,"a":1}`},
		{"a whole object", `{"b":{"c":[1]},"a":1}`, []string{"b"}, `{"b":null,"a":1}`},
		{"a field further down", `{"data":{"id":7,"title":"x"},"id":1}`, []string{"data.id"}, `{"data":{"id":null,"title":"x"},"id":1}`},
		{"a field of every element", `{"data":{"list":[{"id":1,"n":"a"},{"id":2,"n":"b"}]}}`, []string{"data.list[].id"}, `{"data":{"list":[{"id":null,"n":"a"},{"id":null,"n":"b"}]}}`},
		{"every element", `{"list":[1,2]}`, []string{"list[]"}, `{"list":[null,null]}`},
		{"lists in lists", `{"a":[{"b":[{"c":1},{"c":2}]},{"b":[]}]}`, []string{"a[].b[].c"}, `{"a":[{"b":[{"c":null},{"c":null}]},{"b":[]}]}`},
		{"several", `{"a":1,"b":{"c":2,"d":3}}`, []string{"a", "b.c"}, `{"a":null,"b":{"c":null,"d":3}}`},
		{"what is missing stays missing", `{"a":{"x":1}}`, []string{"b", "a.b", "a.x.y"}, `{"a":{"x":1}}`},
		{"a list is no object", `{"a":[{"b":1}]}`, []string{"a.b"}, `{"a":[{"b":1}]}`},
		{"an object is no list", `{"a":{"b":1}}`, []string{"a[].b"}, `{"a":{"b":1}}`},
		{"no object at all", `[1]`, []string{"a"}, `[1]`},
	} {
		t.Run(tc.name, func(t *testing.T) {
			answer, err := jsontree.Parse([]byte(tc.answer))
			if err != nil {
				t.Fatal(err)
			}
			written := func(v jsontree.Value) string { return string(v.Append(nil)) }
			got := Varying(&contract.Example{Varies: tc.varies}, answer)
			if written(got) != tc.want {
				t.Errorf("got  %s\nwant %s", written(got), tc.want)
			}
			if string(got.Source()) != tc.want {
				t.Errorf("its source is %s\nwant %s", got.Source(), tc.want)
			}
			if written(answer) != tc.answer {
				t.Errorf("the answer itself became %s", written(answer))
			}
		})
	}
}
