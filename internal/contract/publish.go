package contract

import (
	"slices"
	"strings"

	"remit/internal/contract/jsontree"
)

// PublicInput is the input schema as clients get it: without the x- keywords
// that only Remit reads. They read x-mcp-header, so that one stays.
func (c *Contract) PublicInput() jsontree.Value { return public(&c.Input) }

// PublicOutput is the output schema as clients get it. It is null for a tool that
// answers with content, which has none to publish.
func (c *Contract) PublicOutput() jsontree.Value { return public(&c.Output) }

func public(schema *jsontree.Value) jsontree.Value {
	out := *schema
	out.Members = slices.DeleteFunc(slices.Clone(schema.Members), func(m jsontree.Member) bool {
		return strings.HasPrefix(m.Key, "x-") && m.Key != headerKeyword
	})
	for i := range out.Members {
		switch m := &out.Members[i]; {
		case holdsSchema(m.Key):
			m.Value = public(&m.Value)
		case holdsSchemas(m.Key): // whose keys are the contract's own names
			m.Value.Members = slices.Clone(m.Value.Members)
			for j := range m.Value.Members {
				m.Value.Members[j].Value = public(&m.Value.Members[j].Value)
			}
		}
	}
	return out
}
