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

// session is a client of the legacy era over HTTP, starting with initialize.
type session struct {
	id     string
	server *Server
	from   client
	began  time.Time
	kept   *archive // of all sessions

	used      atomic.Int64 // when it was last used, in Unix seconds
	open      atomic.Int64 // requests and streams in progress
	questions questions
	inflight  inflight
	ended     context.Context
	end       context.CancelFunc

	mu      sync.Mutex
	streams map[uint64]*stream // of requests
	order   []uint64           // their numbers, oldest first
	lastNo  uint64
	general *stream       // for messages that belong to no request; number 0
	changes *subscription // nil until the client listens
}

// maxKeptStreams is how many streams of a session are kept for clients that reconnect.
const maxKeptStreams = 16

func newSession(s *Server, from client, now time.Time, kept *archive) *session {
	from.logs = new(atomic.Int32)
	from.logs.Store(int32(engine.Info))
	from.connection = rand.Text() // not the session id, which is a secret
	n := &session{id: rand.Text(), server: s, from: from, began: now, general: newStream(0, kept), kept: kept}
	n.ended, n.end = context.WithCancel(context.Background())
	n.used.Store(now.Unix())
	return n
}

// enter records that a request or stream starts; leave that it ends.
func (n *session) enter(now time.Time) {
	n.open.Add(1)
	n.used.Store(now.Unix())
}

func (n *session) leave(now time.Time) {
	n.used.Store(now.Unix())
	n.open.Add(-1)
}

// idle reports whether the session has not been used since a time.
func (n *session) idle(since time.Time) bool {
	return n.open.Load() == 0 && n.used.Load() < since.Unix()
}

// newStream opens a stream for a request and drops old streams that have ended.
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
		s.forget() // nobody can resume a session that has ended
	}
	n.dropEnded(maxKeptStreams)
	return s
}

// dropEnded drops the oldest streams that have ended and have no reader, until at most limit are
// left. Running calls and readers are few, so more streams may remain. The caller must hold the
// lock.
func (n *session) dropEnded(limit int) {
	n.order = slices.DeleteFunc(n.order, func(number uint64) bool {
		s := n.streams[number]
		if len(n.streams) <= limit || !s.hasEnded() || s.attached() {
			return false
		}
		s.forget()
		delete(n.streams, number)
		return true
	})
}

// stream returns a stream by number, or nil if it is no longer kept.
func (n *session) stream(number uint64) *stream {
	if number == 0 {
		return n.general
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.streams[number]
}

// dropAllEnded drops all streams that have ended, to free memory for other sessions.
func (n *session) dropAllEnded() {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.dropEnded(0)
}

// notifications returns the subscription of the session.
func (n *session) notifications() *subscription {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.changes == nil {
		n.changes = newSubscription(n.server, n.from.Owner(), nil)
		// The list of resources is watched once the client has asked for it.
		n.changes.watchLists(true, true, false)
		if n.ended.Err() != nil {
			n.changes.close()
		}
	}
	return n.changes
}

// close ends everything that belongs to the session. Requests in progress are canceled if the
// client ended the session, and finished if the server is shutting down.
func (n *session) close(cancel bool) {
	n.end()
	n.questions.close()
	n.general.end()
	n.general.forget()
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
