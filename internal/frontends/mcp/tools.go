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
	peer, err := q.peer(ctx, tool)
	if err != nil {
		return nil, err
	}
	call := engine.Call{
		Tool: tool.Name, Args: q.params.Field("arguments"), Key: key,
		Principal: q.from.Principal, Grant: q.from.Grant, Face: q.from.face, Client: q.from.name, Connection: q.from.connection,
		Peer: peer, Round: q.round.before, Trace: q.from.trace,
	}
	result, err := q.server.Engine.Call(ctx, call)
	switch {
	case err != nil:
		return nil, err
	case result.Need != nil && result.Need.Task:
		call.Round = result.Need.Next
		return q.startTask(ctx, call)
	case result.Need != nil:
		return q.ask(result.Need, tool.Digest)
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

// metaPrefix begins every key of _meta that is ours.
const metaPrefix = "io.remit/"

// The keys of _meta that make a call safe to repeat, and say that it was a repeat.
const (
	metaKey      = metaPrefix + "idempotencyKey"
	metaReplayed = metaPrefix + "replayed"
)

// The keys of _meta that tell of an answer with less than there is: that it is cut, and
// how many elements there are, if that is known.
const (
	metaTruncated = metaPrefix + "truncated"
	metaTotal     = metaPrefix + "total"
)

// idempotencyKey reads the key of a call; "" if the client sent none.
func (q *request) idempotencyKey() (string, error) {
	meta := q.params.Field("_meta")
	key, given := meta.Get(metaKey)
	if !given {
		return "", nil
	}
	if key.Kind != jsontree.String {
		return "", faultf(codeInvalidParams, "Invalid params: _meta[%q] must be a string, not %s", metaKey, key.Kind)
	}
	if err := idempotency.CheckKey(key.Text); err != nil {
		return "", faultf(codeInvalidParams, "Invalid params: _meta[%q]: %s", metaKey, contract.AsError(err).Message)
	}
	return key.Text, nil
}

// marksOf are the members of _meta that a result carries, as JSON without the braces.
func marksOf(result *engine.Result) []byte {
	var marks []byte
	switch notes := result.Notes; {
	case result.Replayed:
		marks = []byte(`"` + metaReplayed + `":true`)
	case notes.Truncated && notes.Total >= 0:
		marks = strconv.AppendInt([]byte(`"`+metaTruncated+`":true,"`+metaTotal+`":`), notes.Total, 10)
	case notes.Truncated:
		marks = []byte(`"` + metaTruncated + `":true`)
	}
	for _, remark := range result.Remarks.Members {
		if marks != nil {
			marks = append(marks, ',')
		}
		marks = append(jsontree.AppendString(marks, metaPrefix+remark.Key), ':')
		marks = remark.Value.Append(marks)
	}
	return marks
}

// endNoted closes a result with marks in its _meta.
func (q *request) endNoted(b, marks []byte) []byte {
	if marks == nil {
		return q.end(b)
	}
	if q.from.era == legacy {
		b = append(separate(b), `"_meta":{`...)
	} else {
		signature := q.server.signature() // it ends with _meta
		b = append(separate(b), signature[:len(signature)-1]...)
		b = append(b, ',')
	}
	return append(append(b, marks...), `}}}`...)
}

// startTask lets a call go on in the background.
func (q *request) startTask(ctx context.Context, call engine.Call) ([]byte, error) {
	task, err := q.server.Tasks.Start(ctx, call, q.round.answers, q.from.can)
	if err != nil {
		return nil, err
	}
	return q.endAs(appendTask(q.begin(256), &task), "task"), nil
}

// task answers the methods of the tasks extension, for clients that know it.
func (q *request) task(ctx context.Context) ([]byte, error) {
	if q.server.Tasks == nil {
		return nil, faultf(codeNoMethod, "Method not found: %s", q.method)
	}
	if !q.from.tasks {
		return nil, &engine.IncapableError{Needs: engine.Tasks}
	}
	id := q.params.Field("taskId")
	if id.Kind != jsontree.String {
		return nil, faultf(codeInvalidParams, "Invalid params: taskId must say which task")
	}
	var err error
	switch q.method {
	case "tasks/get":
		return q.getTask(ctx, id.Text)
	case "tasks/cancel":
		err = q.server.Tasks.Cancel(ctx, q.from.Principal, id.Text)
	default:
		err = q.updateTask(ctx, id.Text)
	}
	if err != nil {
		return nil, noTask(err)
	}
	return q.end(q.begin(0)), nil
}

func (q *request) getTask(ctx context.Context, id string) ([]byte, error) {
	task, err := q.server.Tasks.Get(ctx, q.from.Principal, id)
	if err != nil {
		return nil, noTask(err)
	}
	return q.end(appendWholeTask(q.begin(1024), &task)), nil
}

func (q *request) updateTask(ctx context.Context, id string) error {
	given := q.params.Field("inputResponses")
	if given.Kind != jsontree.Object {
		return faultf(codeInvalidParams, "Invalid params: inputResponses must be an object, not %s", given.Kind)
	}
	answers := make(map[string]jsontree.Value, len(given.Members))
	for _, m := range given.Members {
		if m.Value.Kind == jsontree.Object { // nothing else answers a question
			answers[m.Key] = m.Value.Clone()
		}
	}
	return q.server.Tasks.Update(ctx, q.from.Principal, id, answers)
}

func noTask(err error) error {
	if failure := contract.AsError(err); failure.Kind == contract.NotFound {
		return faultf(codeInvalidParams, "%s", failure.Message)
	}
	return err
}

// appendTask writes the members that every form of a task has.
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

// appendWholeTask adds what the task asks, or what it came to.
func appendWholeTask(b []byte, t *jobs.Task) []byte {
	b = appendTask(b, t)
	switch {
	case t.Status == jobs.InputRequired:
		return appendQuestions(append(b, `,"inputRequests":`...), t.Questions)
	case t.Status == jobs.Completed:
		structured := t.Body // lint keeps bare answers from tasks
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
