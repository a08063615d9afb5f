package mcp

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"sync"

	"remit/internal/contract/jsontree"
	"remit/internal/engine/approval"
)

// questions are the requests that we sent to the client and that wait for an answer.
type questions struct {
	send    func(line []byte)
	mu      sync.Mutex
	last    int
	waiting map[string]chan message
	closed  bool
}

// maxQuestions is how many may be open at a client; no person reads more.
const maxQuestions = 256

var (
	errNobody  = errors.New("the client is gone")
	errTooMany = errors.New("too many questions are open at the client")
)

// put sends a request and waits for the client's answer to it.
func (q *questions) put(ctx context.Context, method string, params []byte) (message, error) {
	id, answer, err := q.open()
	if err != nil {
		return message{}, err
	}
	q.send(appendRequest(nil, id, method, params))
	select {
	case m, open := <-answer:
		if !open {
			return m, errNobody
		}
		return m, nil
	case <-ctx.Done():
		q.forget(id)
		withdrawn := jsontree.Obj(jsontree.M("requestId", jsontree.Str(id)))
		q.send(appendNotification(nil, "notifications/cancelled", withdrawn.Append(nil)))
		return message{}, ctx.Err()
	}
}

func (q *questions) open() (string, chan message, error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.closed {
		return "", nil, errNobody
	}
	if len(q.waiting) >= maxQuestions {
		return "", nil, errTooMany
	}
	if q.waiting == nil {
		q.waiting = map[string]chan message{}
	}
	q.last++
	id := "remit-" + strconv.Itoa(q.last)
	answer := make(chan message, 1)
	q.waiting[id] = answer
	return id, answer, nil
}

func (q *questions) forget(id string) {
	q.mu.Lock()
	defer q.mu.Unlock()
	delete(q.waiting, id)
}

// answer hands a response to whoever waits for it; one that nobody waits for is
// dropped.
func (q *questions) answer(m *message) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if waiting, ok := q.waiting[m.id.Text]; ok && m.id.Kind == jsontree.String {
		delete(q.waiting, m.id.Text)
		waiting <- *m
	}
}

// close tells everyone who waits that no answer will come.
func (q *questions) close() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.closed = true
	for id, waiting := range q.waiting {
		delete(q.waiting, id)
		close(waiting)
	}
}

// asker asks the person at a connection's client to approve.
type asker struct{ conn *stdio }

// ask shows exactly what is to be done. While the person thinks, the call gives
// up its slot, so that other calls, and the answer itself, can be read.
func (a asker) ask(ctx context.Context, r approval.Request) (approval.Answer, error) {
	<-a.conn.slots
	defer func() { a.conn.slots <- struct{}{} }()
	ctx, cancel := context.WithDeadline(ctx, r.ExpiresAt)
	defer cancel()
	params := jsontree.Obj(
		jsontree.M("message", jsontree.Str(wording(&r))),
		jsontree.M("requestedSchema", jsontree.Obj(
			jsontree.M("type", jsontree.Str("object")),
			jsontree.M("properties", jsontree.Obj()),
		)),
	)
	m, err := a.conn.questions.put(ctx, "elicitation/create", params.Append(nil))
	if err != nil {
		return approval.NotShown, fmt.Errorf("ask the client: %w", err)
	}
	action := m.result.Field("action")
	switch {
	case m.failed:
		return approval.NotShown, nil
	case action.Text == "accept":
		return approval.Accepted, nil
	case action.Text == "decline":
		return approval.Declined, nil
	default: // cancel: the dialog was closed without a choice
		return approval.NotShown, nil
	}
}

// wording says who wants to do what, argument by argument. What the caller wrote
// is quoted, so that it cannot pass for our own words.
func wording(r *approval.Request) string {
	return fmt.Sprintf("%s (%s, contract %s) asks for your approval.\n\n%s\nAccept to let it happen once; decline to refuse. (Request %s)",
		r.Summary, r.Tool, r.Version, r.Describe(), r.ID)
}
