package contract

import (
	"slices"
	"strings"

	"remit/internal/contract/jsontree"
)

// PublicInput is the input schema as clients get it: without the x- keywords
// that only Remit reads.
func (c *Contract) PublicInput() jsontree.Value { return public(&c.Input) }

// PublicOutput is the output schema as clients get it.
func (c *Contract) PublicOutput() jsontree.Value { return public(&c.Output) }

func public(v *jsontree.Value) jsontree.Value {
	out := *v
	out.Members = slices.DeleteFunc(slices.Clone(v.Members), func(m jsontree.Member) bool {
		return v.Kind == jsontree.Object && strings.HasPrefix(m.Key, "x-")
	})
	for i := range out.Members {
		out.Members[i].Value = public(&out.Members[i].Value)
	}
	return out
}
