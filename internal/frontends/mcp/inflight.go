package mcp

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strconv"
	"sync"

	"remit/internal/contract/jsontree"
)

// running is a request in progress. A client may reuse the id of a request that it canceled, so the
// id alone does not identify it.
type running struct{ cancel context.CancelFunc }

// inflight holds the requests of one client in progress, by id.
type inflight struct {
	mu    sync.Mutex
	calls map[string]*running
}

// begin adds a request. It returns false if one with this id is still running.
func (f *inflight) begin(id []byte, call *running) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	if _, taken := f.calls[string(id)]; taken {
		return false
	}
	if f.calls == nil {
		f.calls = map[string]*running{}
	}
	f.calls[string(id)] = call
	return true
}

// finish removes a request. It returns false if the client canceled it.
func (f *inflight) finish(id []byte, call *running) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.calls[string(id)] != call {
		return false
	}
	delete(f.calls, string(id))
	return true
}

// cancel cancels a request at the client's request.
func (f *inflight) cancel(id []byte) {
	f.mu.Lock()
	call := f.calls[string(id)]
	delete(f.calls, string(id))
	f.mu.Unlock()
	if call != nil {
		call.cancel()
	}
}

// cancelAll cancels every request. Each still sends its response.
func (f *inflight) cancelAll() {
	f.mu.Lock()
	calls := slices.Collect(maps.Values(f.calls))
	f.mu.Unlock()
	for _, call := range calls {
		call.cancel()
	}
}

// questions holds the requests that the server sent to a client of the legacy era and that wait for
// a response.
type questions struct {
	mu      sync.Mutex
	prefix  string // of the ids, after remit-
	last    int
	waiting map[string]chan message
	closed  bool
}

// maxQuestions is the maximum number of open questions for a client; no person reads more.
const maxQuestions = 256

var (
	errDisconnected = errors.New("the client has disconnected")
	errTooMany      = errors.New("too many questions are open at the client")
)

// put sends a request and waits for the client's response.
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
			return m, errDisconnected
		}
		return m, nil
	case <-ctx.Done():
		q.forget(id)
		withdrawn := jsontree.Obj(jsontree.M("requestId", jsontree.Str(id)))
		// The client may have disconnected.
		_ = send(notification("notifications/cancelled", withdrawn.Append(nil)))
		return message{}, ctx.Err()
	}
}

func (q *questions) open() (string, chan message, error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.closed {
		return "", nil, errDisconnected
	}
	if len(q.waiting) >= maxQuestions {
		return "", nil, errTooMany
	}
	if q.waiting == nil {
		q.waiting = map[string]chan message{}
	}
	q.last++
	id := "remit-" + q.prefix + strconv.Itoa(q.last)
	answer := make(chan message, 1)
	q.waiting[id] = answer
	return id, answer, nil
}

func (q *questions) forget(id string) {
	q.mu.Lock()
	defer q.mu.Unlock()
	delete(q.waiting, id)
}

// answer passes a response to the goroutine that waits for it. It drops a response that nothing
// waits for.
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

// close ends all waits: no more responses will come.
func (q *questions) close() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.closed = true
	for id, waiting := range q.waiting {
		delete(q.waiting, id)
		close(waiting)
	}
}
