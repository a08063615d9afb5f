package mcp

import (
	"context"
	"crypto/rand"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"remit/internal/engine"
)

// session is a client of the legacy era over HTTP, from initialize on.
type session struct {
	id     string
	server *Server
	from   client
	began  time.Time
	kept   *atomic.Int64 // bytes of all streams of all sessions

	used      atomic.Int64 // when it was last used, in Unix seconds
	open      atomic.Int64 // requests and streams under way
	questions questions
	ended     context.Context
	end       context.CancelFunc

	mu       sync.Mutex
	running  map[string]*running
	streams  map[uint64]*stream // of requests
	order    []uint64           // their numbers, the oldest first
	lastNo   uint64
	standing *stream       // what belongs to no request; number 0
	changes  *subscription // what it is told of; nil until it listens
}

// keptStreams is how many streams of a session are kept for clients that come back.
const keptStreams = 16

func newSession(s *Server, from client, now time.Time, kept *atomic.Int64) *session {
	from.logs = new(atomic.Int32)
	from.logs.Store(int32(engine.Info))
	n := &session{id: rand.Text(), server: s, from: from, began: now, standing: newStream(0, kept), kept: kept}
	n.ended, n.end = context.WithCancel(context.Background())
	n.used.Store(now.Unix())
	return n
}

// enter notes that the session is in use; leave that a use is over.
func (n *session) enter(now time.Time) {
	n.open.Add(1)
	n.used.Store(now.Unix())
}

func (n *session) leave(now time.Time) {
	n.used.Store(now.Unix())
	n.open.Add(-1)
}

// idle tells whether nobody has used the session since then.
func (n *session) idle(since time.Time) bool {
	return n.open.Load() == 0 && n.used.Load() < since.Unix()
}

// begin enters a request; false if one with this id is still running.
func (n *session) begin(id []byte, call *running) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	if _, taken := n.running[string(id)]; taken {
		return false
	}
	if n.running == nil {
		n.running = map[string]*running{}
	}
	n.running[string(id)] = call
	return true
}

// finish tells whether the request was still wanted.
func (n *session) finish(id []byte, call *running) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.running[string(id)] != call {
		return false
	}
	delete(n.running, string(id))
	return true
}

// cancel takes a request back, as its client asks.
func (n *session) cancel(id []byte) {
	n.mu.Lock()
	call := n.running[string(id)]
	delete(n.running, string(id))
	n.mu.Unlock()
	if call != nil {
		call.cancel()
	}
}

// newStream opens a stream for a request and forgets the oldest one that is over.
func (n *session) newStream() *stream {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.streams == nil {
		n.streams = map[uint64]*stream{}
	}
	n.lastNo++
	s := newStream(n.lastNo, n.kept)
	n.streams[s.number] = s
	n.order = append(n.order, s.number)
	if len(n.order) > keptStreams {
		n.forgetOne()
	}
	return s
}

// forgetOne forgets the oldest stream that is over. Calls that run are not many.
func (n *session) forgetOne() {
	for i, number := range n.order {
		if s := n.streams[number]; s.isOver() {
			s.forget()
			delete(n.streams, number)
			n.order = slices.Delete(n.order, i, i+1)
			return
		}
	}
}

// stream finds a stream by number; nil if it is not kept any more.
func (n *session) stream(number uint64) *stream {
	if number == 0 {
		return n.standing
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.streams[number]
}

// told gives what the session is told of.
func (n *session) told() *subscription {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.changes == nil {
		n.changes = newSubscription(n.server, n.from.principal, nil)
		n.changes.watchLists(true, true, false) // that of the resources once it was asked for
		if n.ended.Err() != nil {
			n.changes.close()
		}
	}
	return n.changes
}

func (n *session) subscribe(uri string) error { return n.told().watch(uri) }
func (n *session) unsubscribe(uri string)     { n.told().unwatch(uri) }
func (n *session) listed()                    { n.told().watchLists(true, true, true) }

func (n *session) put(ctx context.Context, send func([]byte) error, method string, params []byte) (message, error) {
	return n.questions.put(ctx, send, method, params)
}

// close ends everything that belongs to the session. Requests under way are
// cancelled if the client gave it up, and finished if the server ends.
func (n *session) close(cancel bool) {
	n.end()
	n.questions.close()
	n.standing.end()
	n.standing.forget()
	n.mu.Lock()
	changes := n.changes
	for _, s := range n.streams {
		s.forget()
	}
	var calls []*running
	for _, call := range n.running {
		calls = append(calls, call)
	}
	n.mu.Unlock()
	if changes != nil {
		changes.close()
	}
	if cancel {
		for _, call := range calls {
			call.cancel()
		}
	}
}
