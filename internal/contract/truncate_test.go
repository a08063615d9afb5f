package contract_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"remit/internal/contract"
	"remit/internal/contract/jsontree"
)

// listing returns an answer with notes of these lengths.
func listing(c *contract.Contract, lengths []int) jsontree.Value {
	notes := make([]jsontree.Value, len(lengths))
	for i, n := range lengths {
		notes[i] = jsontree.Obj(jsontree.M("id", jsontree.Int(int64(i))), jsontree.M("text", jsontree.Str(strings.Repeat("é\n", n))))
	}
	return c.Wrap(jsontree.Obj(jsontree.M("notes", jsontree.Arr(notes...)), jsontree.M("total", jsontree.Int(int64(len(lengths))))))
}

// cursorMember is the longest cursor that has room.
var cursorMember = `,"nextCursor":"` + strings.Repeat("c", 256-len(`,"nextCursor":""`)) + `"`

// TestFit: keep is the largest number of elements that fit together with a cursor.
func TestFit(t *testing.T) {
	flat := load(t, swap(t, swap(t, envelopeYAML, "{success: true, data: {notes: [{id: 1, text: null}], total: 1}}", "{notes: [{id: 1, text: null}], total: 1}"),
		`varies: ["data.notes[].id", data.total]`, "varies: [total]"))
	if findings := flat.Lint(); len(findings) != 0 {
		t.Fatalf("findings in a good contract: %v", findings)
	}
	for name, c := range map[string]*contract.Contract{"envelope": enveloped(t), "flat": flat} {
		for _, length := range []int{0, 3, 17, 39} {
			for n := range 60 {
				even := slices.Repeat([]int{length}, n)
				checkFit(t, c, name, even)
				checkFit(t, c, name, append([]int{900}, even...))
				checkFit(t, c, name, append(even, 900))
			}
		}
	}
}

func checkFit(t *testing.T, c *contract.Contract, name string, lengths []int) {
	t.Helper()
	size := func(n int) int {
		answer := listing(c, lengths[:n])
		return len(answer.Append(nil)) - len(fmt.Sprint(n)) + len(fmt.Sprint(len(lengths)))
	}
	answer := listing(c, lengths)
	before := written(answer)
	keep, fits := c.Fit(&answer)
	budget := int(c.Truncate.Budget)
	switch whole := len(lengths) <= 1 || size(len(lengths)) <= budget; {
	case written(answer) != before:
		t.Fatalf("%s: the answer was changed", name)
	case fits != whole:
		t.Fatalf("%s: fits = %t, but %d bytes of %d", name, fits, size(len(lengths)), budget)
	case fits && keep != len(lengths):
		t.Fatalf("%s: keeps %d of %d that fit", name, keep, len(lengths))
	case fits:
	case keep < 1 || keep >= len(lengths):
		t.Fatalf("%s: keeps %d of %d", name, keep, len(lengths))
	case keep > 1 && size(keep)+len(cursorMember) > budget:
		t.Fatalf("%s: %d elements are %d bytes, and a cursor comes on top", name, keep, size(keep))
	case keep+1 < len(lengths) && size(keep+1)+len(cursorMember) <= budget:
		t.Fatalf("%s: keeps %d, but %d would fit", name, keep, keep+1)
	}
}

// TestFitOfOthers: without a truncation rule nothing is cut.
func TestFitOfOthers(t *testing.T) {
	c := withOutput(t, `{type: object, properties: {"": {type: array, items: {type: string}}}}`)
	answer := tree(t, `{"":["a","b"]}`)
	if _, fits := c.Fit(&answer); !fits {
		t.Error("an answer without a truncation rule is cut")
	}
	odd := tree(t, `[]`)
	if _, fits := enveloped(t).Fit(&odd); !fits {
		t.Error("an answer without the list is cut")
	}
}
