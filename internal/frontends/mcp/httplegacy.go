package mcp

import (
	"bytes"
	"cmp"
	"context"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"remit/internal/engine/identity"
)

// session returns the session that a request names, or nil if there is none or it belongs to
// another caller or endpoint.
func (e *endpoint) session(r *http.Request) *session {
	values := r.Header[headerSession]
	if len(values) != 1 {
		return nil
	}
	found, ok := e.sessions.Load(values[0])
	if !ok {
		return nil
	}
	n := found.(*session)
	if n.server != e.server || n.from.Owner() != e.who(r).Owner() {
		return nil
	}
	return n
}

// legacy answers messages of the legacy era.
func (e *endpoint) legacy(x *exchange, n *session, all []message, batch bool) {
	if !batch && all[0].method == "initialize" && len(x.r.Header[headerSession]) == 0 {
		e.initialize(x, &all[0])
		return
	}
	if !x.admit(n, all[0].id) {
		return
	}
	x.session = n
	n.enter(e.now())
	defer func() { n.leave(e.now()) }()
	var requests []message
	for i := range all {
		switch m := &all[i]; {
		case m.isAnswer():
			n.questions.answer(m)
		case m.isNotification():
			n.inflight.cancel(cancelled(m))
		default:
			requests = append(requests, *m)
		}
	}
	switch {
	case len(requests) == 0:
		x.w.WriteHeader(http.StatusAccepted)
	case batch:
		e.runAll(x, n, requests)
	default:
		// The call continues if the connection is lost: the client may reconnect for the result,
		// and cancels the call if it does not want the result.
		q, answer := e.answer(x, n, &requests[0])
		x.finish(answer, x.challenge(q))
	}
}

// admit rejects a request without a session or with an unsupported version.
func (x *exchange) admit(n *session, id []byte) bool {
	switch version := x.r.Header.Get(headerVersion); {
	case n == nil && len(x.r.Header[headerSession]) == 0:
		x.refuse(http.StatusBadRequest, rpcErrorf(codeInvalid,
			"Invalid request: the header %s is missing; send initialize first, or use version 2026-07-28, which has no sessions", headerSession,
		).about(id), legacy)
	case n == nil:
		x.refuse(http.StatusNotFound,
			rpcErrorf(codeInvalid, "There is no such session, or it has ended; send initialize again").about(id), legacy)
	case version != "" && !slices.Contains(allVersions, strings.Trim(version, " \t")):
		x.refuse(http.StatusBadRequest, rpcErrorf(codeInvalid,
			"Unsupported protocol version %q; use one of %s", version, strings.Join(allVersions, ", ")).about(id), legacy)
	default:
		return true
	}
	return false
}

// initialize opens a session.
func (e *endpoint) initialize(x *exchange, m *message) {
	if m.isNotification() {
		x.refuse(http.StatusBadRequest, rpcErrorf(codeInvalid, "Invalid request: initialize needs an id"), legacy)
		return
	}
	if who := e.who(x.r); e.Challenge != nil && who.Principal == "" {
		unnamed := identity.AnonymousError(who.Grant, "This server")
		x.refuse(cmp.Or(e.Challenge(x.w, x.r, unnamed), http.StatusServiceUnavailable), toRPCError(unnamed, legacy).about(m.id), legacy)
		return
	}
	if e.count.Add(1) > int64(e.limits.Sessions) && !e.evictIdle() {
		e.count.Add(-1)
		x.busy(legacy, "Too many sessions are open; try again later")
		return
	}
	n := newSession(e.server, legacyClient(m, client{Identity: e.who(x.r), frontend: "http"}), e.now(), &e.archive)
	e.sessions.Store(n.id, n)
	if e.ending.Err() != nil {
		n.close(false) // the server is shutting down
	}
	q := &request{
		server: e.server, id: m.id, method: m.method, params: m.params,
		from: n.from, out: x, conn: n, questions: &n.questions, status: http.StatusOK,
	}
	x.w.Header()[headerSession] = []string{n.id}
	x.finish(q.answer(x.r.Context()), q.status)
}

// answer runs one request of a session. It returns nil if the client canceled it.
func (e *endpoint) answer(x *exchange, n *session, m *message) (*request, []byte) {
	ctx, cancel := context.WithCancel(context.WithoutCancel(x.r.Context()))
	defer cancel()
	call := &running{cancel}
	id := bytes.Clone(m.id)
	q := &request{
		server: e.server, id: id, method: m.method, params: m.params,
		from: n.from, out: x, conn: n, questions: &n.questions, status: http.StatusOK,
	}
	// A renewed token may have fewer rights.
	q.from.Identity, q.from.trace = e.who(x.r), requestTrace(x.r, m)
	if !n.inflight.begin(id, call) {
		return q, q.fail(rpcErrorf(codeInvalid, "Invalid request: a request with this id is still running"))
	}
	q.trim(x.size)
	answer := q.answer(ctx)
	if e.archive.full.Load() {
		e.evictArchive()
	}
	if !n.inflight.finish(id, call) {
		return q, nil
	}
	return q, answer
}

// runAll runs the requests of a batch concurrently.
func (e *endpoint) runAll(x *exchange, n *session, requests []message) {
	answers := make([][]byte, len(requests))
	var all sync.WaitGroup
	for i := range requests {
		all.Go(func() {
			if requests[i].method == "initialize" {
				answers[i] = rpcErrorf(codeInvalid, "Invalid request: initialize cannot be part of a batch").reply(requests[i].id, legacy)
				return
			}
			_, answers[i] = e.answer(x, n, &requests[i])
		})
	}
	all.Wait()
	answers = slices.DeleteFunc(answers, func(a []byte) bool { return a == nil })
	if len(answers) == 0 {
		x.finish(nil, http.StatusOK)
		return
	}
	x.finish(slices.Concat([]byte{'['}, bytes.Join(answers, []byte{','}), []byte{']'}), http.StatusOK)
}

// get opens the stream of a session for messages that belong to no request, or resumes an earlier
// stream.
func (e *endpoint) get(x *exchange) {
	if isModernHeader(x.r) {
		x.w.Header().Set("Allow", "POST")
		x.refuse(http.StatusMethodNotAllowed,
			rpcErrorf(codeInvalid, "This version of the protocol has no GET; send subscriptions/listen"), modern)
		return
	}
	x.accept()
	if !x.mayStream {
		x.refuse(http.StatusNotAcceptable, rpcErrorf(codeInvalid, "GET answers with text/event-stream; accept it"), legacy)
		return
	}
	n := e.session(x.r)
	if !x.admit(n, nil) {
		return
	}
	s, from, ok := x.resumeStream(n)
	if !ok {
		return
	}
	leave, ok := x.admitStream(legacy)
	if !ok {
		return
	}
	defer leave()
	n.enter(e.now())
	defer func() { n.leave(e.now()) }()
	e.serveStream(x, n, s, from)
}

// resumeStream returns the stream that a client resumes.
func (x *exchange) resumeStream(n *session) (s *stream, from uint64, ok bool) {
	last := x.r.Header.Get("Last-Event-Id")
	if last == "" {
		return n.general, n.general.seen(), true
	}
	number, from, ok := eventID(last)
	if ok {
		s = n.stream(number)
	}
	if s == nil || !s.has(from) {
		x.refuseResume()
		return nil, 0, false
	}
	return s, from, true
}

// refuseResume rejects a client that resumes a stream that is no longer kept.
func (x *exchange) refuseResume() {
	x.refuse(http.StatusBadRequest, rpcErrorf(codeInvalid,
		"There is no stream with the event %q, or it is no longer kept; send the request again", x.r.Header.Get("Last-Event-Id")), legacy)
}

// serveStream sends a stream until it ends, the client disconnects, the session ends or the server
// shuts down.
func (e *endpoint) serveStream(x *exchange, n *session, s *stream, from uint64) {
	ctx, cancel := context.WithCancel(x.r.Context())
	defer cancel()
	defer context.AfterFunc(e.ending, cancel)()
	defer context.AfterFunc(n.ended, cancel)()
	defer s.attach(cancel)()
	if s != n.general && !s.has(from) {
		x.refuseResume() // it was dropped just before it had a reader
		return
	}
	// Before the client gets a response, so that no change is missed in between.
	notifications := n.notifications()
	to := x.openSink()
	to.write([]byte(": \n\n")) // send the headers at once
	if s != n.general {
		s.pump(ctx, to, from, nil, nil)
		return
	}
	s.pump(ctx, to, from, notifications.wake, func() {
		for _, line := range notifications.next(ctx) {
			s.add(line)
		}
	})
}

// delete ends a session at the client's request.
func (e *endpoint) delete(x *exchange) {
	if isModernHeader(x.r) {
		x.w.Header().Set("Allow", "POST")
		x.refuse(http.StatusMethodNotAllowed, rpcErrorf(codeInvalid, "This version of the protocol has no sessions"), modern)
		return
	}
	n := e.session(x.r)
	if !x.admit(n, nil) {
		return
	}
	e.drop(n, true)
	x.w.WriteHeader(http.StatusNoContent)
}

// drop ends a session. Only the first call has an effect.
func (h *HTTP) drop(n *session, cancel bool) {
	if _, was := h.sessions.LoadAndDelete(n.id); was {
		h.count.Add(-1)
		n.close(cancel)
		n.server.Engine.ConnectionClosed(n.from.connection)
		if h.SessionEnded != nil {
			h.SessionEnded(h.now().Sub(n.began))
		}
	}
}

// How often idle sessions are removed, and the minimum idle time of sessions that are removed early
// to make room.
const (
	sweepInterval    = time.Minute
	minEvictableIdle = 5 * time.Minute
)

// sweep ends idle sessions.
func (h *HTTP) sweep() {
	h.dropIdle(h.now().Add(-h.limits.Idle))
	if h.ending.Err() == nil {
		h.sweeper.Reset(sweepInterval)
	}
}

func (h *HTTP) dropIdle(since time.Time) {
	h.sessions.Range(func(_, found any) bool {
		if n := found.(*session); n.idle(since) {
			h.drop(n, true)
		}
		return true
	})
}

// evictArchive drops kept events of all sessions. Otherwise the first clients would use the
// whole budget.
func (h *HTTP) evictArchive() {
	if !h.archive.full.CompareAndSwap(true, false) {
		return // another goroutine is doing it
	}
	h.sessions.Range(func(_, found any) bool {
		found.(*session).dropAllEnded()
		return true
	})
}

// evictIdle ends sessions that have been idle for a while, when there are too many.
func (h *HTTP) evictIdle() bool {
	h.dropIdle(h.now().Add(-minEvictableIdle))
	return h.count.Load() <= int64(h.limits.Sessions)
}
