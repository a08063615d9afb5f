package mcp

import (
	"context"
	"errors"

	"remit/internal/contract"
	"remit/internal/contract/jsontree"
	"remit/internal/engine"
)

// callTool runs a tool. In the modern era that may take several rounds, or go on
// as a task.
func (q *request) callTool(ctx context.Context) ([]byte, error) {
	tool, err := q.tool()
	if err != nil {
		return nil, err
	}
	key, err := q.idempotencyKey()
	if err != nil {
		return nil, err
	}
	peer, r, err := q.peer(ctx, tool)
	if err != nil {
		return nil, err
	}
	call := engine.Call{
		Tool: tool.Name, Args: q.params.Field("arguments"), Key: key,
		Principal: q.from.Principal, Grant: q.from.Grant, Face: q.from.face, Client: q.from.name, Connection: q.from.connection,
		Peer: peer, Round: r.before, Trace: q.from.trace,
	}
	result, err := q.server.Engine.Call(ctx, call)
	switch {
	case err != nil:
		return nil, err
	case result.Need != nil && result.Need.Task:
		call.Round = result.Need.Next
		return q.startTask(ctx, call, r)
	case result.Need != nil:
		return q.ask(r, result.Need, tool.Digest)
	}
	if result.Err != nil {
		q.noteRefusal(result.Err)
	}
	if fault := protocolFault(result.Err, q.from.era); fault != nil {
		return nil, fault
	}
	b := q.begin(2*len(result.Body) + len(result.Body)/4 + len(result.Content) + 128) // quotes take two bytes in a text
	b = appendOutcome(b, result.Body, result.Structured, result.Content)
	return q.endNoted(b, marksOf(&result)), nil
}

func (q *request) tool() (*engine.Tool, error) {
	name := q.params.Field("name")
	if name.Kind != jsontree.String {
		return nil, faultf(codeInvalidParams, "Invalid params: name must say which tool to call")
	}
	return q.server.Engine.Find(name.Text)
}

// protocolFault tells the failures that are none of the tool's own. A person who
// could not be asked is no such failure: the call waits for them.
func protocolFault(failure *contract.Error, e era) error {
	if failure == nil || failure.Kind == contract.Pending {
		return nil
	}
	if own, ok := errors.AsType[*engine.ProtocolError](failure); ok {
		return own
	}
	if missing, ok := errors.AsType[*engine.IncapableError](failure); ok && e == modern {
		return missing
	}
	return nil
}

// appendOutcome writes the members of what a tool came to: the JSON as text and,
// on success, as structure too. A failure has no structure, because clients would
// check it against the output schema.
func appendOutcome(b, body, structured, content []byte) []byte {
	if content != nil {
		return append(append(b, `"content":`...), content...)
	}
	b = append(b, `"content":[{"type":"text","text":`...)
	b = jsontree.AppendText(b, body)
	b = append(b, `}]`...)
	if structured == nil {
		return append(b, `,"isError":true`...)
	}
	return append(append(b, `,"structuredContent":`...), structured...)
}
