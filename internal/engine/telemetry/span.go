package telemetry

import (
	"log/slog"
	"strings"
	"time"
	"unicode/utf8"

	"remit/internal/engine/audit"
	"remit/internal/engine/stats"
)

// Span is a call in its trace, by the conventions of OpenTelemetry for MCP. It is
// always that of a server.
type Span struct {
	Trace      TraceID
	ID, Parent SpanID // Parent is zero at the root
	State      string // W3C tracestate
	Flags      byte   // of W3C
	Name       string
	Start, End time.Time
	Attrs      []slog.Attr // of text, whole numbers, fractions and truth values alone
	Failed     bool
}

// Operation is what the conventions tell operations apart by. Empty parts are not told.
type Operation struct{ Method, Name, Tool, Error string }

// toolsCall is the method that calls a tool, whichever face it came in by.
const toolsCall = "tools/call"

// OperationOf words what was counted, a tool as set/name or a method, and its outcome.
// Every failure of a tool is a tool_error in the conventions.
func OperationOf(counted, outcome string) Operation {
	failed := outcome != "ok" && outcome != "asked" && outcome != "replayed"
	if IsMethod(counted) {
		o := Operation{Method: counted}
		if failed {
			o.Error = outcome
		}
		return o
	}
	_, tool := SplitTool(counted)
	o := Operation{Method: toolsCall, Name: "execute_tool", Tool: tool}
	if failed {
		o.Error = "tool_error"
	}
	return o
}

// IsMethod tells the methods that are counted beside tools from set/name.
func IsMethod(counted string) bool { return counted == "resources/read" || counted == "prompts/get" }

// SplitTool parts set/name; what has no name is in no set.
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
		o := OperationOf(l.Tool, l.Outcome)
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

// operation is what the call counts as.
func (c *Call) operation() Operation {
	if c.Method == toolsCall {
		return OperationOf(c.Tool, c.Outcome)
	}
	return OperationOf(c.Method, c.Outcome)
}

func (t *Telemetry) spansOf(calls []ended) []Span {
	spans := make([]Span, len(calls))
	for i := range calls {
		spans[i] = t.spanOf(&calls[i])
	}
	return spans
}

func (t *Telemetry) spanOf(e *ended) Span {
	operation := e.operation()
	name := operation.Method
	if target := e.target(); target != "" {
		name += " " + target
	}
	s := Span{
		Trace: e.place.trace, ID: e.place.span, Parent: e.place.parent, State: e.place.state, Flags: e.place.w3cFlags(),
		Name: name, Start: e.Started, End: e.Started.Add(max(e.Took, 0)), Failed: operation.Error != "",
	}
	s.Attrs = append(e.protocolAttrs(operation), e.ownAttrs()...)
	for i := range s.Attrs {
		s.Attrs[i] = t.cut(s.Attrs[i])
	}
	return s
}

// target is the name of the tool or prompt; resources have none that few share.
func (c *Call) target() string {
	switch c.Method {
	case toolsCall:
		_, tool := SplitTool(c.Tool)
		return tool
	case "prompts/get":
		return c.Tool
	default:
		return ""
	}
}

// protocolAttrs are those of the conventions.
func (c *Call) protocolAttrs(o Operation) []slog.Attr {
	attrs := make([]slog.Attr, 0, 20)
	attrs = append(attrs, slog.String("mcp.method.name", o.Method))
	attrs = appendText(attrs, "gen_ai.operation.name", o.Name)
	attrs = appendText(attrs, "gen_ai.tool.name", o.Tool)
	if c.Method == "prompts/get" {
		attrs = appendText(attrs, "gen_ai.prompt.name", c.Tool)
	}
	attrs = appendText(attrs, "error.type", o.Error)
	attrs = appendText(attrs, "mcp.session.id", c.Connection)
	switch c.Face {
	case "stdio":
		attrs = append(attrs, slog.String("network.transport", "pipe"))
	case "http", "console":
		attrs = append(attrs, slog.String("network.transport", "tcp"), slog.String("network.protocol.name", "http"))
	}
	return attrs
}

// ownAttrs are what the conventions have no names for.
func (c *Call) ownAttrs() []slog.Attr {
	attrs := []slog.Attr{slog.String("remit.outcome", c.Outcome), slog.Int("remit.result.bytes", c.Bytes)}
	if c.Method == toolsCall {
		set, _ := SplitTool(c.Tool)
		attrs = appendText(attrs, "remit.toolset", set)
	}
	attrs = appendText(attrs, "remit.contract.version", c.Version)
	attrs = appendText(attrs, "remit.caller", c.Caller)
	attrs = appendText(attrs, "remit.client", audit.Mask(c.Client, masked)) // which it says itself
	attrs = appendText(attrs, "remit.face", c.Face)
	return appendText(attrs, "remit.error.code", c.Err)
}

func appendText(attrs []slog.Attr, key, value string) []slog.Attr {
	if value == "" {
		return attrs
	}
	return append(attrs, slog.String(key, value))
}

// cut shortens a text to the limit that the environment sets, in characters.
func (t *Telemetry) cut(a slog.Attr) slog.Attr {
	if t.limit == 0 || a.Value.Kind() != slog.KindString || utf8.RuneCountInString(a.Value.String()) <= t.limit {
		return a
	}
	return slog.String(a.Key, string([]rune(a.Value.String())[:t.limit]))
}
