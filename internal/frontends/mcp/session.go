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
	kept   *archive // of all sessions

	used      atomic.Int64 // when it was last used, in Unix seconds
	open      atomic.Int64 // requests and streams under way
	questions questions
	inflight  inflight
	ended     context.Context
	end       context.CancelFunc

	mu       sync.Mutex
	streams  map[uint64]*stream // of requests
	order    []uint64           // their numbers, the oldest first
	lastNo   uint64
	standing *stream       // what belongs to no request; number 0
	changes  *subscription // what it is told of; nil until it listens
}

// keptStreams is how many streams of a session are kept for clients that come back.
const keptStreams = 16

func newSession(s *Server, from client, now time.Time, kept *archive) *session {
	from.logs = new(atomic.Int32)
	from.logs.Store(int32(engine.Info))
	from.connection = rand.Text() // not the id, which is a secret
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
	if n.ended.Err() != nil {
		s.forget() // nobody can come back to a session that has ended
	}
	n.forgetOver(keptStreams)
	return s
}

// forgetOver forgets the oldest streams that are over and that nobody reads, until
// no more than most are left; calls that run are not many, nor are readers. It is
// called with the lock held.
func (n *session) forgetOver(most int) {
	n.order = slices.DeleteFunc(n.order, func(number uint64) bool {
		s := n.streams[number]
		if len(n.streams) <= most || !s.isOver() || s.attached() {
			return false
		}
		s.forget()
		delete(n.streams, number)
		return true
	})
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

// makeRoom gives up what clients might come back for, for the good of others.
func (n *session) makeRoom() {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.forgetOver(0)
}

// told gives what the session is told of.
func (n *session) told() *subscription {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.changes == nil {
		n.changes = newSubscription(n.server, n.from.Principal, nil)
		n.changes.watchLists(true, true, false) // that of the resources once it was asked for
		if n.ended.Err() != nil {
			n.changes.close()
		}
	}
	return n.changes
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
	n.mu.Unlock()
	if changes != nil {
		changes.close()
	}
	if cancel {
		n.inflight.cancelAll()
	}
}
