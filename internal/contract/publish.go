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

func public(schema *jsontree.Value) jsontree.Value {
	out := *schema
	out.Members = slices.DeleteFunc(slices.Clone(schema.Members), func(m jsontree.Member) bool {
		return strings.HasPrefix(m.Key, "x-")
	})
	for i := range out.Members {
		m := &out.Members[i]
		switch m.Key {
		case "items", "additionalProperties":
			m.Value = public(&m.Value)
		case "properties", "anyOf": // whose keys are the contract's own names
			m.Value.Members = slices.Clone(m.Value.Members)
			for j := range m.Value.Members {
				m.Value.Members[j].Value = public(&m.Value.Members[j].Value)
			}
		}
	}
	return out
}
