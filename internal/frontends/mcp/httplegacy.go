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

// session finds the session that a request names; nil if it names none that is
// its own.
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
	if n.server != e.server || n.from.Principal != e.who(r).Principal {
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
	default: // it goes on when the connection is lost: the client may come back for the answer, and says so if it does not want it
		q, answer := e.answer(x, n, &requests[0])
		x.finish(answer, x.challenged(q))
	}
}

// admit refuses a request without a session, and one whose version is not spoken.
func (x *exchange) admit(n *session, id []byte) bool {
	switch version := x.r.Header.Get(headerVersion); {
	case n == nil && len(x.r.Header[headerSession]) == 0:
		x.refuse(http.StatusBadRequest, faultf(codeInvalid, "Invalid request: the header %s is missing; send initialize first, or speak 2026-07-28, which has no sessions", headerSession).about(id), legacy)
	case n == nil:
		x.refuse(http.StatusNotFound, faultf(codeInvalid, "There is no such session, or it has ended; send initialize again").about(id), legacy)
	case version != "" && !slices.Contains(allVersions, strings.Trim(version, " \t")):
		x.refuse(http.StatusBadRequest, faultf(codeInvalid, "Unsupported protocol version %q; supported are %s", version, strings.Join(allVersions, ", ")).about(id), legacy)
	default:
		return true
	}
	return false
}

// initialize opens a session.
func (e *endpoint) initialize(x *exchange, m *message) {
	if m.isNotification() {
		x.refuse(http.StatusBadRequest, faultf(codeInvalid, "Invalid request: initialize needs an id"), legacy)
		return
	}
	if who := e.who(x.r); e.Challenge != nil && who.Principal == "" {
		unnamed := identity.Unnamed(who.Grant, "This server")
		x.refuse(cmp.Or(e.Challenge(x.w, x.r, unnamed), http.StatusServiceUnavailable), faultOf(unnamed, legacy).about(m.id), legacy)
		return
	}
	if e.count.Add(1) > int64(e.limits.Sessions) && !e.makeRoom() {
		e.count.Add(-1)
		x.busy(legacy, "Too many sessions are open; try again later")
		return
	}
	n := newSession(e.server, greet(m, client{Identity: e.who(x.r), face: "http"}), e.now(), &e.kept)
	e.sessions.Store(n.id, n)
	if e.ending.Err() != nil {
		n.close(false) // the server ends just now
	}
	q := &request{server: e.server, id: m.id, method: m.method, params: m.params, from: n.from, out: x, link: n, questions: &n.questions, status: http.StatusOK}
	x.w.Header()[headerSession] = []string{n.id}
	x.finish(q.answer(x.r.Context()), q.status)
}

// answer runs one request of a session; nil if the client took it back.
func (e *endpoint) answer(x *exchange, n *session, m *message) (*request, []byte) {
	ctx, cancel := context.WithCancel(context.WithoutCancel(x.r.Context()))
	defer cancel()
	call := &running{cancel}
	id := bytes.Clone(m.id)
	q := &request{
		server: e.server, id: id, method: m.method, params: m.params,
		from: n.from, out: x, link: n, questions: &n.questions, status: http.StatusOK,
	}
	q.from.Identity, q.from.trace = e.who(x.r), traceOf(x.r, m) // a token that was renewed may let its holder do less
	if !n.inflight.begin(id, call) {
		return q, q.fail(faultf(codeInvalid, "Invalid request: a request with this id is still running"))
	}
	q.slim(x.size)
	answer := q.answer(ctx)
	if e.kept.full.Load() {
		e.makeArchiveRoom()
	}
	if !n.inflight.finish(id, call) {
		return q, nil
	}
	return q, answer
}

// runAll carries out the requests of a batch side by side.
func (e *endpoint) runAll(x *exchange, n *session, requests []message) {
	answers := make([][]byte, len(requests))
	var all sync.WaitGroup
	for i := range requests {
		all.Go(func() {
			if requests[i].method == "initialize" {
				answers[i] = faultf(codeInvalid, "Invalid request: initialize cannot be part of a batch").reply(requests[i].id, legacy)
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

// get opens the stream of a session for what belongs to no request, or takes an
// earlier stream up again.
func (e *endpoint) get(x *exchange) {
	if isModernHeader(x.r) {
		x.w.Header().Set("Allow", "POST")
		x.refuse(http.StatusMethodNotAllowed, faultf(codeInvalid, "This version of the protocol has no GET; send subscriptions/listen"), modern)
		return
	}
	x.accept()
	if !x.mayStream {
		x.refuse(http.StatusNotAcceptable, faultf(codeInvalid, "GET answers with text/event-stream; accept it"), legacy)
		return
	}
	n := e.session(x.r)
	if !x.admit(n, nil) {
		return
	}
	s, from, ok := x.resumed(n)
	if !ok {
		return
	}
	leave, ok := x.stays(legacy)
	if !ok {
		return
	}
	defer leave()
	n.enter(e.now())
	defer func() { n.leave(e.now()) }()
	e.carry(x, n, s, from)
}

// resumed finds the stream that a client comes back to.
func (x *exchange) resumed(n *session) (s *stream, from uint64, ok bool) {
	last := x.r.Header.Get("Last-Event-Id")
	if last == "" {
		return n.standing, n.standing.seen(), true
	}
	number, from, ok := eventID(last)
	if ok {
		s = n.stream(number)
	}
	if s == nil || !s.has(from) {
		x.notKept()
		return nil, 0, false
	}
	return s, from, true
}

// notKept refuses a client that comes back for what is gone.
func (x *exchange) notKept() {
	x.refuse(http.StatusBadRequest, faultf(codeInvalid, "There is no stream with the event %q, or it is not kept any more; send the request again", x.r.Header.Get("Last-Event-Id")), legacy)
}

// carry sends a stream until it is over, or one of the three goes: the client,
// its session, the server.
func (e *endpoint) carry(x *exchange, n *session, s *stream, from uint64) {
	ctx, cancel := context.WithCancel(x.r.Context())
	defer cancel()
	defer context.AfterFunc(e.ending, cancel)()
	defer context.AfterFunc(n.ended, cancel)()
	defer s.attach(cancel)()
	if s != n.standing && !s.has(from) {
		x.notKept() // forgotten just before it had a reader
		return
	}
	told := n.told() // before the client knows that it is heard: nothing is to fall in between
	to := x.openSink()
	to.write([]byte(": \n\n")) // the headers leave at once
	if s != n.standing {
		s.pump(ctx, to, from, nil, nil)
		return
	}
	s.pump(ctx, to, from, told.wake, func() {
		for _, line := range told.next(ctx) {
			s.add(line)
		}
	})
}

// delete ends a session, as its client asks.
func (e *endpoint) delete(x *exchange) {
	if isModernHeader(x.r) {
		x.w.Header().Set("Allow", "POST")
		x.refuse(http.StatusMethodNotAllowed, faultf(codeInvalid, "This version of the protocol has no sessions"), modern)
		return
	}
	n := e.session(x.r)
	if !x.admit(n, nil) {
		return
	}
	e.drop(n, true)
	x.w.WriteHeader(http.StatusNoContent)
}

// drop ends a session, once.
func (h *HTTP) drop(n *session, cancel bool) {
	if _, was := h.sessions.LoadAndDelete(n.id); was {
		h.count.Add(-1)
		n.close(cancel)
		n.server.Engine.Left(n.from.connection)
		if h.SessionEnded != nil {
			h.SessionEnded(h.now().Sub(n.began))
		}
	}
}

// How often idle sessions are looked for, and how idle one is at least that has to
// make room.
const (
	sweepEvery = time.Minute
	makesRoom  = 5 * time.Minute
)

// sweep ends the sessions that nobody uses.
func (h *HTTP) sweep() {
	h.dropIdle(h.now().Add(-h.limits.Idle))
	if h.ending.Err() == nil {
		h.sweeper.Reset(sweepEvery)
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

// makeArchiveRoom forgets what clients might come back for, of everybody: otherwise
// whoever came first would keep it all.
func (h *HTTP) makeArchiveRoom() {
	if !h.kept.full.CompareAndSwap(true, false) {
		return // somebody is at it
	}
	h.sessions.Range(func(_, found any) bool {
		found.(*session).makeRoom()
		return true
	})
}

// makeRoom ends sessions that were idle for a while, when there are too many.
func (h *HTTP) makeRoom() bool {
	h.dropIdle(h.now().Add(-makesRoom))
	return h.count.Load() <= int64(h.limits.Sessions)
}
