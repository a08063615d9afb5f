package telemetry

import (
	"strings"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace"

	"remit/internal/engine/audit"
	"remit/internal/engine/stats"
)

// Call is a finished call of a tool, read of a resource or start of a prompt. It does not contain
// arguments, nor messages, which may quote them.
type Call struct {
	// Method is that of MCP, whichever front end was used: tools/call, resources/read, prompts/get.
	Method     string
	Tool       string // set/name of a tool, or the name of a prompt; "" for a resource
	Outcome    string // ok, asked, replayed, or the kind of failure
	Version    string // of the contract
	Caller     string // who called
	Frontend   string // the front end that received it
	Client     string // the client's own name
	Connection string // identifies the connection; never the id of a session, which is a secret
	Err        string // the error code in the vocabulary of the set, if there is an error
	Started    time.Time
	Took       time.Duration
	Bytes      int // of the answer
}

// Operation holds the properties by which the OpenTelemetry conventions for MCP distinguish
// operations. Empty fields are left out.
type Operation struct{ Method, Name, Tool, Error string }

// toolsCall is the method that calls a tool, whichever front end was used.
const toolsCall = "tools/call"

// operationOf returns the operation for a counted tool (set/name) or method and its outcome. In the
// conventions every failure of a tool is a tool_error.
func operationOf(counted, outcome string) Operation {
	o := Operation{Method: counted, Error: outcome}
	if !IsMethod(counted) {
		_, tool := SplitTool(counted)
		o = Operation{Method: toolsCall, Name: "execute_tool", Tool: tool, Error: "tool_error"}
	}
	if outcome == "ok" || outcome == "asked" || outcome == "replayed" {
		o.Error = ""
	}
	return o
}

// IsMethod reports whether a counted name is a method instead of set/name.
func IsMethod(counted string) bool { return counted == "resources/read" || counted == "prompts/get" }

// SplitTool splits set/name. A name without a slash has no set.
func SplitTool(id string) (set, name string) {
	set, name, found := strings.Cut(id, "/")
	if !found {
		return "", id
	}
	return set, name
}

// Operations sums up lines that the conventions do not distinguish. order is that of the lines.
func Operations(lines []stats.Series) (order []Operation, took map[Operation]stats.Distribution) {
	took = map[Operation]stats.Distribution{}
	for _, l := range lines {
		o := operationOf(l.Tool, l.Outcome)
		sum, known := took[o]
		if known {
			sum.Add(l.Took)
		} else {
			order = append(order, o)
			sum = l.Took
		}
		took[o] = sum
	}
	return order, took
}

// operation returns the operation of the call.
func (c *Call) operation() Operation {
	if c.Method == toolsCall {
		return operationOf(c.Tool, c.Outcome)
	}
	return operationOf(c.Method, c.Outcome)
}

// end sets the name and attributes of the span according to the conventions, and ends it.
func (c *Call) end(span trace.Span, o Operation) {
	name := o.Method
	if c.Method == "prompts/get" && c.Tool != "" {
		name += " " + c.Tool
	} else if o.Tool != "" {
		name += " " + o.Tool
	}
	span.SetName(valid(name))
	span.SetAttributes(c.attributes(o)...)
	if o.Error != "" {
		span.SetStatus(codes.Error, "")
	}
	span.End(trace.WithTimestamp(c.Started.Add(max(c.Took, 0))))
}

// attributes returns those of the conventions, and our own where the conventions have none.
func (c *Call) attributes(o Operation) []attribute.KeyValue {
	list := append(make(attributes, 0, 20), attribute.Int("remit.result.bytes", c.Bytes))
	list.addOperation(o)
	list.add("mcp.session.id", c.Connection)
	switch c.Frontend {
	case "stdio":
		list.add("network.transport", "pipe")
	case "http", "console":
		list.add("network.transport", "tcp")
		list.add("network.protocol.name", "http")
	}
	switch c.Method {
	case toolsCall:
		set, _ := SplitTool(c.Tool)
		list.add("remit.toolset", set)
	case "prompts/get":
		list.add("gen_ai.prompt.name", c.Tool)
	}
	list.add("remit.outcome", c.Outcome)
	list.add("remit.contract.version", c.Version)
	list.add("remit.caller", c.Caller)
	list.add("remit.client", audit.Mask(c.Client, masked)) // the client chooses it
	list.add("remit.face", c.Frontend)
	list.add("remit.error.code", c.Err)
	return list
}

// attributes collects attributes that have a value.
type attributes []attribute.KeyValue

func (a *attributes) add(key attribute.Key, value string) {
	if value != "" {
		*a = append(*a, key.String(valid(value)))
	}
}

func (a *attributes) addOperation(o Operation) {
	a.add("mcp.method.name", o.Method)
	a.add("gen_ai.operation.name", o.Name)
	a.add("gen_ai.tool.name", o.Tool)
	a.add("error.type", o.Error)
}

// valid replaces bytes that are not UTF-8, because protobuf rejects a batch that contains them.
func valid(text string) string { return strings.ToValidUTF8(text, "\uFFFD") }
