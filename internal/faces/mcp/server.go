// Package mcp speaks the Model Context Protocol: JSON-RPC in, engine calls out,
// and back. It knows the protocol and no tool.
package mcp

import (
	"context"
	"slices"
	"strings"
	"sync"

	"remit/internal/contract/jsontree"
	"remit/internal/engine"
)

// The protocol versions that are spoken, the newest first.
var versions = []string{"2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"}

// Server answers for one endpoint. One Server may serve many connections.
type Server struct {
	Engine       *engine.Engine
	Principal    string // who the caller on a local connection is
	Version      string // of the program
	Instructions string // what a client's model is told

	listOnce sync.Once
	listBody []byte // the result of tools/list, made once
}

// toolList gives the ready-made result of tools/list.
func (s *Server) toolList() []byte {
	s.listOnce.Do(func() { s.listBody = appendToolList(nil, s.Engine.Tools()) })
	return s.listBody
}

// appendToolList writes the definitions of the tools as clients expect them.
func appendToolList(b []byte, tools []*engine.Tool) []byte {
	b = append(b, `{"tools":[`...)
	for i, t := range tools {
		if i > 0 {
			b = append(b, ',')
		}
		b = appendTool(b, t)
	}
	return append(b, `]}`...)
}

func appendTool(b []byte, t *engine.Tool) []byte {
	hints := jsontree.Obj(
		jsontree.M("title", jsontree.Str(t.Title)),
		jsontree.M("readOnlyHint", jsontree.Boolean(t.Hints.ReadOnly)),
		jsontree.M("destructiveHint", jsontree.Boolean(t.Hints.Destructive)),
		jsontree.M("idempotentHint", jsontree.Boolean(t.Hints.Idempotent)),
		jsontree.M("openWorldHint", jsontree.Boolean(t.Hints.OpenWorld)),
	)
	meta := jsontree.Obj(
		jsontree.M("io.remit/toolset", jsontree.Str(t.Set)),
		jsontree.M("io.remit/version", jsontree.Str(t.Version.String())),
		jsontree.M("io.remit/digest", jsontree.Str(t.Digest)),
	)
	definition := jsontree.Obj(
		jsontree.M("name", jsontree.Str(t.Name)),
		jsontree.M("title", jsontree.Str(t.Title)),
		jsontree.M("description", jsontree.Str(t.Description)),
		jsontree.M("inputSchema", t.PublicInput()),
		jsontree.M("outputSchema", t.PublicOutput()),
		jsontree.M("annotations", hints),
		jsontree.M("_meta", meta),
	)
	return definition.Append(b)
}

// initializeResult answers a client's greeting. A version that is not spoken
// gets the newest one that is, as the protocol asks.
func (s *Server) initializeResult(requested string) []byte {
	version := versions[0]
	if slices.Contains(versions, requested) {
		version = requested
	}
	body := jsontree.Obj(
		jsontree.M("protocolVersion", jsontree.Str(version)),
		jsontree.M("capabilities", jsontree.Obj(jsontree.M("tools", jsontree.Obj()))),
		jsontree.M("serverInfo", jsontree.Obj(
			jsontree.M("name", jsontree.Str("remit")),
			jsontree.M("title", jsontree.Str("Remit")),
			jsontree.M("version", jsontree.Str(s.Version)),
		)),
		jsontree.M("instructions", jsontree.Str(s.Instructions)),
	)
	return body.Append(nil)
}

// caller is what a connection knows of its client after initialize.
type caller struct {
	client string
	canAsk bool // it declared form elicitation
}

func callerFrom(params *jsontree.Value) caller {
	info := params.Field("clientInfo")
	name, version := info.Field("name"), info.Field("version")
	capabilities := params.Field("capabilities")
	elicitation, declared := capabilities.Get("elicitation")
	_, form := elicitation.Get("form")
	return caller{
		client: brief(name.Text) + "/" + brief(version.Text),
		// An empty declaration is the old way to say that forms are shown.
		canAsk: declared && elicitation.Kind == jsontree.Object && (form || len(elicitation.Members) == 0),
	}
}

// brief cuts what a client says of itself: it goes into every audit record.
func brief(text string) string {
	const most = 100
	if len(text) <= most {
		return strings.Clone(text)
	}
	return strings.ToValidUTF8(text[:most], "")
}

// call runs a tool for a connection.
func (s *Server) call(ctx context.Context, name string, args jsontree.Value, from caller, ask asker) (engine.Result, error) {
	call := engine.Call{Tool: name, Args: args, Principal: s.Principal, Face: "stdio", Client: from.client}
	if from.canAsk {
		call.Peer = ask
	}
	return s.Engine.Call(ctx, call)
}
