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
	return MapParts(&out, func(_, _ string, part *jsontree.Value) jsontree.Value { return public(part) })
}

// MapParts gives a schema with each schema directly within it replaced. The
// replacement is told the keyword that holds the part and, for a keyword that names
// its parts, the name.
func MapParts(schema *jsontree.Value, replace func(keyword, name string, part *jsontree.Value) jsontree.Value) jsontree.Value {
	out := *schema
	out.Members = slices.Clone(schema.Members)
	for i := range out.Members {
		switch m := &out.Members[i]; {
		case holdsSchema(m.Key) && m.Value.Kind == jsontree.Object:
			m.Value = replace(m.Key, "", &m.Value)
		case holdsSchemas(m.Key):
			m.Value.Members = slices.Clone(m.Value.Members)
			for j := range m.Value.Members {
				part := &m.Value.Members[j]
				part.Value = replace(m.Key, part.Key, &part.Value)
			}
		}
	}
	return out
}
