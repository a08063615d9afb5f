package mcp

import (
	"cmp"
	"context"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"remit/internal/engine/identity"
)

// Limits bound what clients can make the server hold. What is zero has a default.
type Limits struct {
	Body     int64         // bytes of one request
	Running  int           // requests that run at once
	Sessions int           // of the legacy era
	Streams  int           // that stay open
	Idle     time.Duration // after which an unused session ends
	Upload   time.Duration // for a request to arrive
}

func (l Limits) orDefaults() Limits {
	return Limits{
		Body:     cmp.Or(l.Body, 32<<20),
		Running:  cmp.Or(l.Running, 1024),
		Sessions: cmp.Or(l.Sessions, 10_000),
		Streams:  cmp.Or(l.Streams, 5_000),
		Idle:     cmp.Or(l.Idle, 30*time.Minute),
		Upload:   cmp.Or(l.Upload, 30*time.Second),
	}
}

// HTTP serves endpoints over streamable HTTP: both eras, on one address each.
type HTTP struct {
	// SessionEnded is told how long a session of the legacy era lasted; nil if
	// nobody counts.
	SessionEnded func(lasted time.Duration)
	// Log is told of requests that are refused; nil if nobody wants to know.
	Log *slog.Logger

	// Challenge says in the headers of an answer how to be let in, if err is that nobody
	// calls or that a token lacks a scope, and gives the status; 0 if it is neither. nil
	// if everybody is known.
	Challenge func(w http.ResponseWriter, r *http.Request, err error) (status int)

	// Still tells whether the sender of a request would be let in now. What is said on a
	// stream depends on it, however long ago that was opened. nil if everybody is let in.
	Still func(r *http.Request) bool

	who func(*http.Request) identity.Identity
	now func() time.Time

	limits   Limits
	sessions sync.Map // of *session by id
	count    atomic.Int64
	streams  atomic.Int64
	running  atomic.Int64
	large    atomic.Int64 // bytes of large requests under way
	kept     archive      // for clients that come back
	ending   context.Context
	endAll   context.CancelFunc
	sweeper  *time.Timer
}

// NewHTTP prepares to serve. who tells who sends a request.
func NewHTTP(who func(*http.Request) identity.Identity, limits Limits, now func() time.Time) *HTTP {
	h := &HTTP{who: who, now: now, limits: limits.orDefaults()}
	h.ending, h.endAll = context.WithCancel(context.Background())
	h.sweeper = time.AfterFunc(time.Hour, h.sweep)
	h.sweeper.Reset(sweepEvery) // it is there when it is first used
	return h
}

// Sessions is how many sessions there are.
func (h *HTTP) Sessions() int { return int(h.count.Load()) }

// Streams is how many streams are open.
func (h *HTTP) Streams() int { return int(h.streams.Load()) }

// EndStreams ends what would stay open for ever. Requests under way go on, and
// those that are on their way still find their session.
func (h *HTTP) EndStreams() {
	h.sweeper.Stop()
	h.endAll()
	h.sessions.Range(func(_, found any) bool {
		found.(*session).close(false)
		return true
	})
}

// Admit counts a request that runs; false if there are too many. Whoever else
// serves HTTP beside the endpoints asks too.
func (h *HTTP) Admit() (leave func(), ok bool) {
	if h.running.Add(1) > int64(h.limits.Running) {
		h.running.Add(-1)
		return nil, false
	}
	return h.leave, true
}

func (h *HTTP) leave() { h.running.Add(-1) }

// AdmitLarge counts the bytes of a large request; false if there are too many.
func (h *HTTP) AdmitLarge(size int64) (leave func(), ok bool) {
	if h.large.Add(size) > largeInAll {
		h.large.Add(-size)
		return nil, false
	}
	return func() { h.large.Add(-size) }, true
}

// Endpoint serves one endpoint.
func (h *HTTP) Endpoint(s *Server) http.Handler { return &endpoint{h, s} }

// endpoint is one address.
type endpoint struct {
	*HTTP
	server *Server
}

// ServeHTTP answers one HTTP request.
func (e *endpoint) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	x := &exchange{http: e.HTTP, w: w, r: r, control: *http.NewResponseController(w)}
	defer x.detach()
	switch r.Method {
	case http.MethodPost:
		e.post(x)
	case http.MethodGet:
		if r.ContentLength == 0 {
			x.take()
		}
		e.get(x)
	case http.MethodDelete:
		e.delete(x)
	default:
		w.Header().Set("Allow", "POST, GET, DELETE")
		x.refuse(http.StatusMethodNotAllowed, faultf(codeInvalid, "The method %s has no meaning here; use POST", r.Method), legacy)
	}
}

// isModernHeader tells the era by the version header alone. Versions are dates;
// what is none tells nothing.
func isModernHeader(r *http.Request) bool {
	values := r.Header[headerVersion]
	if len(values) == 0 {
		return false
	}
	version := strings.Trim(values[0], " \t")
	return len(version) == len(time.DateOnly) && version[0] == '2' && version >= modernVersions[len(modernVersions)-1]
}

func (e *endpoint) post(x *exchange) {
	guess := legacy
	if isModernHeader(x.r) {
		guess = modern
	}
	if !x.negotiate(guess) {
		return
	}
	leave, ok := e.Admit()
	if !ok {
		x.busy(guess, "Too many requests are in progress; try again")
		return
	}
	defer leave()
	data, ok := x.body(guess)
	defer x.give()
	if !ok {
		return
	}
	x.size = len(data)
	var n *session
	if guess == legacy {
		n = e.session(x.r)
	}
	all, batch, fault := readMessages(data, n != nil && hasBatches(n.from.version))
	switch {
	case fault != nil:
		x.refuse(fault.status(guess), fault, guess)
	case guess == modern || len(x.r.Header[headerSession]) == 0 && isModern(&all[0]):
		e.modern(x, &all[0])
	default:
		e.legacy(x, n, all, batch)
	}
}

// modern answers a request of the modern era.
func (e *endpoint) modern(x *exchange, m *message) {
	switch {
	case m.isAnswer():
		x.refuse(http.StatusBadRequest, faultf(codeInvalid, "Invalid request: answers come with the next round of a call, not by themselves"), modern)
		return
	case m.isNotification():
		x.w.WriteHeader(http.StatusAccepted)
		return
	}
	q := &request{server: e.server, id: m.id, method: m.method, params: m.params, out: x, status: http.StatusOK}
	var fault *rpcError
	if q.from, fault = modernClient(m, e.who(x.r), "http"); fault == nil {
		fault = checkHeaders(x.r.Header, m, &q.from)
	}
	if fault == nil && m.method == "tools/call" {
		fault = e.mirrored(x.r, q)
	}
	if fault != nil {
		x.finish(fault.reply(m.id, modern), fault.status(modern))
		return
	}
	q.from.trace = traceOf(x.r, m)
	if m.method == "subscriptions/listen" {
		e.listen(x, q)
		return
	}
	answer := q.answer(x.r.Context())
	x.finish(answer, x.challenged(q))
}

// challenged gives the status of an answer, and says in its headers how to be let in if
// that is what it is about.
func (x *exchange) challenged(q *request) int {
	if q.refused == nil || x.http.Challenge == nil || x.isStream() {
		return q.status
	}
	if status := x.http.Challenge(x.w, x.r, q.refused); status != 0 {
		return status
	}
	return q.status
}

// mirrored compares the arguments that are mirrored in headers.
func (e *endpoint) mirrored(r *http.Request, q *request) *rpcError {
	tool, _ := q.tool()
	if tool == nil {
		return nil // the call itself will say so
	}
	args := q.params.Field("arguments")
	return checkMirrored(r.Header, tool, &args)
}

// listen keeps a stream open until the client closes it or the server ends.
func (e *endpoint) listen(x *exchange, q *request) {
	if !x.mayStream {
		x.refuse(http.StatusNotAcceptable, faultf(codeInvalid, "subscriptions/listen answers with text/event-stream; accept it"), modern)
		return
	}
	leave, ok := x.stays(modern)
	if !ok {
		return
	}
	defer leave()
	sub, acknowledgement, err := q.listen(x.r.Context())
	if err != nil {
		answer := q.fail(err)
		x.finish(answer, x.challenged(q))
		return
	}
	defer sub.close()
	defer x.pausing()()
	x.give()
	to := x.openSink()
	alive := time.NewTicker(keepAlive)
	defer alive.Stop()
	for ok := to.write(appendData(nil, acknowledgement)); ok; {
		select {
		case <-x.r.Context().Done():
			return
		case <-e.ending.Done():
			to.write(appendData(nil, q.listened()))
			return
		case <-alive.C:
			ok = to.write([]byte(": \n\n"))
		case <-sub.wake:
			for _, line := range sub.next(x.r.Context()) {
				ok = ok && to.write(appendData(nil, line))
			}
		}
	}
}
