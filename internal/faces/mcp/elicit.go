package mcp

import (
	"context"
	"errors"
	"strconv"
	"sync"

	"remit/internal/contract/jsontree"
	"remit/internal/engine"
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

// asker asks the person at a connection's client.
type asker struct {
	conn  *stdio
	forms bool
}

func (asker) Progress(float64, float64, string)        {}
func (asker) Log(engine.Level, string, jsontree.Value) {}
func (asker) Can(engine.Capability) bool               { return false }
func (asker) Background() error                        { return nil }
func (asker) Release()                                 {}

// Ask shows a question. While the person thinks, the call gives up its slot, so
// that other calls, and the answer itself, can be read.
func (a asker) Ask(ctx context.Context, questions []engine.Question) (map[string]jsontree.Value, error) {
	<-a.conn.slots
	defer func() { a.conn.slots <- struct{}{} }()
	answers := map[string]jsontree.Value{}
	for _, q := range questions {
		if q.Needs != engine.Forms || !a.forms {
			return nil, &engine.Incapable{Needs: q.Needs}
		}
		m, err := a.conn.questions.put(ctx, "elicitation/create", q.Params.Append(nil))
		if err != nil {
			return nil, err
		}
		answers[q.Key] = m.result
	}
	return answers, nil
}
