package contract

import "remit/internal/contract/jsontree"

// Body is the part of an answer that texts, HTTP and the command line give, out of the
// JSON that Conform's answer is written as: all of it, or the list of a contract that
// says bare. It is a part of the same memory.
func (c *Contract) Body(written []byte) []byte {
	if c.Bare == "" {
		return written
	}
	before := len(jsontree.AppendString(nil, c.Bare)) + len("{:")
	return written[before : len(written)-len("}")]
}

// BodySchema is the schema of the bodies of answers. Like the output schema it is null
// for a tool that answers with content.
func (c *Contract) BodySchema() jsontree.Value {
	if list := c.Output.Member("properties", c.Bare); c.Bare != "" && list != nil {
		return public(list)
	}
	return c.PublicOutput()
}

// whole is the answer that a body belongs to.
func (c *Contract) whole(body jsontree.Value) jsontree.Value {
	if c.Bare == "" {
		return body
	}
	return jsontree.Obj(jsontree.M(c.Bare, body))
}

// bare checks that nothing but the list is left out of the body.
func (l *linter) bare(c *Contract) {
	if c.Bare == "" {
		return
	}
	list := c.output.prop(c.Bare)
	isList := list != nil && len(list.types) == 1 && list.types[0] == "array"
	l.need(isList && !c.Content, "bare", "%q is not an array of the answer", c.Bare)
	l.need(len(c.output.props) == 1 && c.output.closed, "bare", "%q must be all that there is in the answer", c.Bare)
	l.need(c.output.requires(c.Bare), "bare", "%q must be required", c.Bare)
	l.need(c.Shape != Envelope, "bare", "an envelope holds an object")
	l.need(c.Task == "", "bare", "what a task came to has its fields; leave out one of the two")
}
