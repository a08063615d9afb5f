package mcp

import (
	"context"
	"strconv"
	"time"

	"remit/internal/contract"
	"remit/internal/contract/jsontree"
	"remit/internal/engine"
	"remit/internal/engine/background"
)

// startTask lets a call go on in the background.
func (q *request) startTask(ctx context.Context, call engine.Call, r *round) ([]byte, error) {
	task, err := q.server.Tasks.Start(ctx, call, r.answers, q.from.can)
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
func appendTask(b []byte, t *background.Task) []byte {
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
func appendWholeTask(b []byte, t *background.Task) []byte {
	b = appendTask(b, t)
	switch {
	case t.Status == background.InputRequired:
		open := jsontree.Obj()
		for _, question := range t.Questions {
			open.Members = append(open.Members, jsontree.M(question.Key, questionValue(&question)))
		}
		return open.Append(append(b, `,"inputRequests":`...))
	case t.Status == background.Completed:
		structured := t.Body // lint keeps bare answers from tasks
		if t.IsError {
			structured = nil
		}
		b = append(b, `,"result":{`...)
		return append(appendOutcome(b, t.Body, structured, t.Content), `,"resultType":"complete"}`...)
	case t.Status == background.Failed && t.Fault != nil:
		b = strconv.AppendInt(append(b, `,"error":{"code":`...), int64(t.Fault.Code), 10)
		return append(jsontree.AppendString(append(b, `,"message":`...), t.Fault.Message), '}')
	default:
		return b
	}
}
