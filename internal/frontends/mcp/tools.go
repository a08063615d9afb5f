package mcp

import (
	"context"
	"errors"
	"strconv"
	"time"

	"remit/internal/contract"
	"remit/internal/contract/jsontree"
	"remit/internal/engine"
	"remit/internal/engine/idempotency"
	"remit/internal/engine/jobs"
)

// callTool runs a tool. In the modern era a call may take several rounds, or continue as a task.
func (q *request) callTool(ctx context.Context) ([]byte, error) {
	tool, err := q.tool()
	if err != nil {
		q.refusedTool(ctx)
		return nil, err
	}
	key, err := q.idempotencyKey()
	if err != nil {
		return nil, err
	}
	peer, err := q.peer(ctx, tool)
	if err != nil {
		return nil, err
	}
	call := engine.Call{
		Tool: tool.Name, Args: q.params.Field("arguments"), Key: key,
		Principal: q.from.Principal, Grant: q.from.Grant, Frontend: q.from.frontend, Client: q.from.name, Connection: q.from.connection,
		Peer: peer, Continuation: q.continuation.before, Trace: q.from.trace, Dialogue: q.dialogue(),
	}
	if tool.Approval.Required {
		if call.Reason, err = q.callerReason(); err != nil {
			return nil, err
		}
	}
	result, err := q.server.Engine.Call(ctx, call)
	switch {
	case err != nil:
		return nil, err
	case result.Suspended != nil && result.Suspended.Task:
		call.Continuation = result.Suspended.Next
		return q.startTask(ctx, call)
	case result.Suspended != nil:
		return q.ask(result.Suspended, tool.Digest)
	}
	if result.Err != nil {
		q.recordDenial(result.Err)
	}
	if fault := protocolFault(result.Err, q.from.era); fault != nil {
		return nil, fault
	}
	// Quotes take two bytes in a JSON string.
	b := q.begin(2*len(result.Body) + len(result.Body)/4 + len(result.Content) + 128)
	b = appendOutcome(b, result.Body, result.Structured, result.Content)
	return q.endWithMeta(b, metaOfResult(&result)), nil
}

// refusedTool records a call of a tool that does not exist.
func (q *request) refusedTool(ctx context.Context) {
	name := q.params.Field("name")
	q.server.Engine.Refused(ctx, engine.UnknownTool, q.requester(nil), name.Text)
}

// dialogue reports whether an answer of the client counts as the decision of a person: over stdio,
// because a person started the client, unless the operator switched that off; over HTTP only if a
// person at a terminal made the token of the client for that.
func (q *request) dialogue() bool {
	if q.from.frontend == "stdio" {
		return q.server.Dialogues
	}
	return q.from.Grant != nil && q.from.Grant.Elicits
}

func (q *request) tool() (*engine.Tool, error) {
	name := q.params.Field("name")
	if name.Kind != jsontree.String {
		return nil, rpcErrorf(codeInvalidParams, "Invalid params: name must be the name of a tool")
	}
	return q.server.Engine.Find(name.Text)
}

// protocolFault returns the errors that are protocol errors and not results of the tool. A person
// who could not be asked is no error: the call is pending.
func protocolFault(failure *contract.Error, e era) error {
	if failure == nil || failure.Kind == contract.Pending {
		return nil
	}
	if own, ok := errors.AsType[*engine.ProtocolError](failure); ok {
		return own
	}
	if missing, ok := errors.AsType[*engine.MissingCapabilityError](failure); ok && e == modern {
		return missing
	}
	return nil
}

// appendOutcome appends the result of a tool: the JSON as text and, on success, as structured
// content. An error has no structured content, because clients would check it against the output
// schema.
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

// metaPrefix is the prefix of Remit's own keys in _meta.
const metaPrefix = "io.remit/"

// Keys of _meta that make a call safe to repeat, and that mark a replayed result.
const (
	metaKey      = metaPrefix + "idempotencyKey"
	metaReplayed = metaPrefix + "replayed"
)

// metaReason is the key of _meta that says why a client wants a call, for the person who approves
// it.
const metaReason = metaPrefix + "reason"

// Keys of _meta that mark a truncated result, and give the total number of elements, if it is
// known.
const (
	metaTruncated = metaPrefix + "truncated"
	metaTotal     = metaPrefix + "total"
)

// idempotencyKey returns the key of a call, or "" if the client sent none.
func (q *request) idempotencyKey() (string, error) {
	meta := q.params.Field("_meta")
	key, given := meta.Get(metaKey)
	if !given {
		return "", nil
	}
	if key.Kind != jsontree.String {
		return "", rpcErrorf(codeInvalidParams, "Invalid params: _meta[%q] must be a string, not %s", metaKey, key.Kind)
	}
	if err := idempotency.CheckKey(key.Text); err != nil {
		return "", rpcErrorf(codeInvalidParams, "Invalid params: _meta[%q]: %s", metaKey, contract.AsError(err).Message)
	}
	return key.Text, nil
}

// callerReason returns why the client wants the call, or "" if it does not say.
func (q *request) callerReason() (string, error) {
	meta := q.params.Field("_meta")
	reason, given := meta.Get(metaReason)
	if given && reason.Kind != jsontree.String {
		return "", rpcErrorf(codeInvalidParams, "Invalid params: _meta[%q] must be a string, not %s", metaReason, reason.Kind)
	}
	return reason.Text, nil
}

// metaOfResult returns the members of a result's _meta, as JSON without the braces.
func metaOfResult(result *engine.Result) []byte {
	var meta []byte
	switch notes := result.Truncation; {
	case result.Replayed:
		meta = []byte(`"` + metaReplayed + `":true`)
	case notes.Truncated && notes.Total >= 0:
		meta = strconv.AppendInt([]byte(`"`+metaTruncated+`":true,"`+metaTotal+`":`), notes.Total, 10)
	case notes.Truncated:
		meta = []byte(`"` + metaTruncated + `":true`)
	}
	for _, remark := range result.Metadata.Members {
		if meta != nil {
			meta = append(meta, ',')
		}
		meta = append(jsontree.AppendString(meta, metaPrefix+remark.Key), ':')
		meta = remark.Value.Append(meta)
	}
	return meta
}

// endWithMeta appends the end of a result with members in its _meta.
func (q *request) endWithMeta(b, meta []byte) []byte {
	if meta == nil {
		return q.end(b)
	}
	if q.from.era == legacy {
		b = append(separate(b), `"_meta":{`...)
	} else {
		modernResultEnd := q.server.modernResultEnd() // ends with _meta
		b = append(separate(b), modernResultEnd[:len(modernResultEnd)-1]...)
		b = append(b, ',')
	}
	return append(append(b, meta...), `}}}`...)
}

// startTask continues a call as a task.
func (q *request) startTask(ctx context.Context, call engine.Call) ([]byte, error) {
	task, err := q.server.Tasks.Start(ctx, call, q.continuation.answers, q.from.can)
	if err != nil {
		return nil, err
	}
	return q.endAs(appendTask(q.begin(256), &task), "task"), nil
}

// task answers the methods of the tasks extension.
func (q *request) task(ctx context.Context) ([]byte, error) {
	if q.server.Tasks == nil {
		return nil, rpcErrorf(codeNoMethod, "Method not found: %s", q.method)
	}
	if !q.from.tasks {
		return nil, &engine.MissingCapabilityError{Needs: engine.Tasks}
	}
	id := q.params.Field("taskId")
	if id.Kind != jsontree.String {
		return nil, rpcErrorf(codeInvalidParams, "Invalid params: taskId must be the id of a task")
	}
	var err error
	switch q.method {
	case "tasks/get":
		return q.getTask(ctx, id.Text)
	case "tasks/cancel":
		err = q.server.Tasks.Cancel(ctx, q.from.Owner(), id.Text)
	default:
		err = q.updateTask(ctx, id.Text)
	}
	if err != nil {
		return nil, taskNotFound(err)
	}
	return q.end(q.begin(0)), nil
}

func (q *request) getTask(ctx context.Context, id string) ([]byte, error) {
	task, err := q.server.Tasks.Get(ctx, q.from.Owner(), id)
	if err != nil {
		return nil, taskNotFound(err)
	}
	return q.end(appendWholeTask(q.begin(1024), &task)), nil
}

func (q *request) updateTask(ctx context.Context, id string) error {
	given := q.params.Field("inputResponses")
	if given.Kind != jsontree.Object {
		return rpcErrorf(codeInvalidParams, "Invalid params: inputResponses must be an object, not %s", given.Kind)
	}
	answers := make(map[string]jsontree.Value, len(given.Members))
	for _, m := range given.Members {
		if m.Value.Kind == jsontree.Object { // anything else is not an answer
			answers[m.Key] = m.Value.Clone()
		}
	}
	return q.server.Tasks.Update(ctx, q.from.Owner(), id, answers)
}

func taskNotFound(err error) error {
	if failure := contract.AsError(err); failure.Kind == contract.NotFound {
		return rpcErrorf(codeInvalidParams, "%s", failure.Message)
	}
	return err
}

// appendTask appends the members that every form of a task has.
func appendTask(b []byte, t *jobs.Task) []byte {
	b = jsontree.AppendString(append(b, `"taskId":`...), t.ID)
	b = jsontree.AppendString(append(b, `,"status":`...), string(t.Status))
	if t.Message != "" {
		b = jsontree.AppendString(append(b, `,"statusMessage":`...), t.Message)
	}
	b = jsontree.AppendString(append(b, `,"createdAt":`...), t.CreatedAt.UTC().Format(time.RFC3339Nano))
	b = jsontree.AppendString(append(b, `,"lastUpdatedAt":`...), t.UpdatedAt.UTC().Format(time.RFC3339Nano))
	b = strconv.AppendInt(append(b, `,"ttlMs":`...), t.TTL.Milliseconds(), 10)
	return strconv.AppendInt(append(b, `,"pollIntervalMs":`...), max(t.Poll.Milliseconds(), 1), 10)
}

// appendWholeTask appends a task with its questions or its result.
func appendWholeTask(b []byte, t *jobs.Task) []byte {
	b = appendTask(b, t)
	switch {
	case t.Status == jobs.InputRequired:
		return appendQuestions(append(b, `,"inputRequests":`...), t.Questions)
	case t.Status == jobs.Completed:
		structured := t.Body // lint rejects bare results for tasks
		if t.IsError {
			structured = nil
		}
		b = append(b, `,"result":{`...)
		return append(appendOutcome(b, t.Body, structured, t.Content), `,"resultType":"complete"}`...)
	case t.Status == jobs.Failed && t.Fault != nil:
		b = strconv.AppendInt(append(b, `,"error":{"code":`...), int64(t.Fault.Code), 10)
		return append(jsontree.AppendString(append(b, `,"message":`...), t.Fault.Message), '}')
	default:
		return b
	}
}
