package mcp

import (
	"context"
	"errors"
	"strconv"
	"sync"

	"remit/internal/contract/jsontree"
)

// questions are the requests that we sent to a client of the legacy era and that
// wait for an answer.
type questions struct {
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
func (q *questions) put(ctx context.Context, send func([]byte) error, method string, params []byte) (message, error) {
	id, answer, err := q.open()
	if err != nil {
		return message{}, err
	}
	if err := send(question(id, method, params)); err != nil {
		q.forget(id)
		return message{}, err
	}
	select {
	case m, open := <-answer:
		if !open {
			return m, errNobody
		}
		return m, nil
	case <-ctx.Done():
		q.forget(id)
		withdrawn := jsontree.Obj(jsontree.M("requestId", jsontree.Str(id)))
		_ = send(notification("notifications/cancelled", withdrawn.Append(nil))) // who is gone needs no news
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
	id, err := strconv.Unquote(string(m.id))
	if err != nil {
		return // our ids are plain strings
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	if waiting, ok := q.waiting[id]; ok {
		delete(q.waiting, id)
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
