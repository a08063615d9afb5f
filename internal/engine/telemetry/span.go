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

// Call is one call of a tool, reading of a resource or start of a prompt that has
// ended. Arguments and messages, which may quote them, are not part of it.
type Call struct {
	Method     string // of MCP, whichever face it came in by: tools/call, resources/read, prompts/get
	Tool       string // set/name of a tool, or the name of a prompt; "" for a resource
	Outcome    string // ok, asked, replayed, or the kind of failure
	Version    string // of the contract
	Caller     string // who called
	Face       string // the face it came in by
	Client     string // how the client names itself
	Connection string // tells the connection from others; never the id of a session, which is a secret
	Err        string // the code of the error in the words of its set, if there is one
	Started    time.Time
	Took       time.Duration
	Bytes      int // of the answer
}

// Operation is what the conventions of OpenTelemetry for MCP tell operations apart by. Empty parts
// are left out.
type Operation struct{ Method, Name, Tool, Error string }

// toolsCall is the method that calls a tool, whichever face it came in by.
const toolsCall = "tools/call"

// operationOf maps what was counted, a tool as set/name or a method, and its outcome to an
// operation. Every failure of a tool is a tool_error in the conventions.
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

// IsMethod tells the methods that are counted beside tools from set/name.
func IsMethod(counted string) bool { return counted == "resources/read" || counted == "prompts/get" }

// SplitTool splits set/name; what has no name is in no set.
func SplitTool(id string) (set, name string) {
	set, name, found := strings.Cut(id, "/")
	if !found {
		return "", id
	}
	return set, name
}

// Operations sums up lines that the conventions do not tell apart, in the order they come.
func Operations(lines []stats.Line) (order []Operation, took map[Operation]stats.Distribution) {
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

// operation returns what the call counts as.
func (c *Call) operation() Operation {
	if c.Method == toolsCall {
		return operationOf(c.Tool, c.Outcome)
	}
	return operationOf(c.Method, c.Outcome)
}

// end names the span of the call by the conventions and ends it.
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

// attributes are those of the conventions, and ours for what they have no names for.
func (c *Call) attributes(o Operation) []attribute.KeyValue {
	list := append(make(attributes, 0, 20), attribute.Int("remit.result.bytes", c.Bytes))
	list.addOperation(o)
	list.add("mcp.session.id", c.Connection)
	switch c.Face {
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
	list.add("remit.face", c.Face)
	list.add("remit.error.code", c.Err)
	return list
}

// attributes collects those that have a value.
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

// valid replaces what is not UTF-8: protobuf refuses a batch with such a text in it.
func valid(text string) string { return strings.ToValidUTF8(text, "\uFFFD") }
