package export

import (
	"remit/internal/contract"
	"remit/internal/contract/jsontree"
)

// Tool is the definition of a tool as clients of MCP expect it.
func Tool(c *contract.Contract) jsontree.Value {
	hints := jsontree.Obj(
		jsontree.M("title", jsontree.Str(c.Title)),
		jsontree.M("readOnlyHint", jsontree.Boolean(c.Hints.ReadOnly)),
		jsontree.M("destructiveHint", jsontree.Boolean(c.Hints.Destructive)),
		jsontree.M("idempotentHint", jsontree.Boolean(c.Hints.Idempotent)),
		jsontree.M("openWorldHint", jsontree.Boolean(c.Hints.OpenWorld)),
	)
	meta := jsontree.Obj(
		jsontree.M("io.remit/toolset", jsontree.Str(c.Set)),
		jsontree.M("io.remit/version", jsontree.Str(c.Version.String())),
		jsontree.M("io.remit/digest", jsontree.Str(c.Digest)),
	)
	definition := jsontree.Obj(
		jsontree.M("name", jsontree.Str(c.Name)),
		jsontree.M("title", jsontree.Str(c.Title)),
		jsontree.M("description", jsontree.Str(c.Description)),
		jsontree.M("inputSchema", c.PublicInput()),
	)
	if !c.Content {
		definition.Members = append(definition.Members, jsontree.M("outputSchema", c.PublicOutput()))
	}
	definition.Members = append(definition.Members, jsontree.M("annotations", hints), jsontree.M("_meta", meta))
	return definition
}
