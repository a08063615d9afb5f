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

	"remit/internal/bodies"
	"remit/internal/engine"
	"remit/internal/engine/identity"
)

// Limits bounds the resources that clients can use. Zero fields have defaults.
type Limits struct {
	Body     int64         // bytes of one request
	Running  int           // concurrent requests
	Sessions int           // of the legacy era
	Streams  int           // concurrent streams
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

// HTTP serves MCP endpoints over streamable HTTP, both eras at one URL each.
type HTTP struct {
	// SessionEnded is called with the duration of each session of the legacy era that ends. It may
	// be nil.
	SessionEnded func(lasted time.Duration)
	// Log receives rejected requests, at debug level. It may be nil.
	Log *slog.Logger

	// Challenge sets the headers that tell the client how to authenticate if err means that the
	// caller is anonymous or that the token lacks a scope. It returns the status of the response,
	// or 0 for other errors. It is nil if every caller is known.
	Challenge func(w http.ResponseWriter, r *http.Request, err error) (status int)

	// Bodies bounds the memory of large requests, together with other front ends. If it is nil,
	// there is no bound.
	Bodies *bodies.Budget

	// StillAllowed reports whether the sender of a request would still be accepted. Open streams
	// check it regularly. It is nil if every caller is accepted.
	StillAllowed func(r *http.Request) bool

	who func(*http.Request) identity.Identity
	now func() time.Time

	limits   Limits
	sessions sync.Map // *session by id
	count    atomic.Int64
	streams  atomic.Int64
	running  atomic.Int64
	archive  archive // events kept for clients that reconnect
	ending   context.Context
	endAll   context.CancelFunc
	sweeper  *time.Timer
}

// NewHTTP returns a new HTTP. who returns the identity of the sender of a request.
func NewHTTP(who func(*http.Request) identity.Identity, limits Limits, now func() time.Time) *HTTP {
	h := &HTTP{who: who, now: now, limits: limits.orDefaults()}
	h.ending, h.endAll = context.WithCancel(context.Background())
	h.sweeper = time.AfterFunc(time.Hour, h.sweep)
	h.sweeper.Reset(sweepInterval) // after the assignment, because sweep uses the field
	return h
}

// Sessions returns the number of sessions.
func (h *HTTP) Sessions() int { return int(h.count.Load()) }

// Streams returns the number of open streams.
func (h *HTTP) Streams() int { return int(h.streams.Load()) }

// EndStreams ends all open streams and sessions. Requests in progress continue, and requests that
// arrive still find their session.
func (h *HTTP) EndStreams() {
	h.sweeper.Stop()
	h.endAll()
	h.sessions.Range(func(_, found any) bool {
		found.(*session).close(false)
		return true
	})
}

// Admit counts a request in progress. It returns false if there are too many. Other HTTP handlers
// beside the endpoints use it too.
func (h *HTTP) Admit() (leave func(), ok bool) {
	if h.running.Add(1) > int64(h.limits.Running) {
		h.running.Add(-1)
		return nil, false
	}
	return h.leave, true
}

func (h *HTTP) leave() { h.running.Add(-1) }

// Endpoint returns the handler of one endpoint.
func (h *HTTP) Endpoint(s *Server) http.Handler { return &endpoint{h, s} }

// endpoint is the handler of one URL.
type endpoint struct {
	*HTTP
	server *Server
}

// ServeHTTP implements http.Handler.
func (e *endpoint) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	x := &exchange{http: e.HTTP, w: w, r: r, control: *http.NewResponseController(w)}
	defer x.detach()
	switch r.Method {
	case http.MethodPost:
		e.post(x)
	case http.MethodGet:
		if r.ContentLength == 0 {
			x.clearReadDeadline()
		}
		e.get(x)
	case http.MethodDelete:
		e.delete(x)
	default:
		w.Header().Set("Allow", "POST, GET, DELETE")
		x.refuse(http.StatusMethodNotAllowed, rpcErrorf(codeInvalid, "The method %s is not allowed here; use POST", r.Method), legacy)
	}
}

// isModernHeader detects the era from the version header alone. Versions are dates; it ignores any
// other value.
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
	defer x.memory.Release()
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
		who := e.who(x.r)
		e.server.Engine.Refused(x.r.Context(), engine.NoCall, engine.Requester{
			Principal: who.Principal, Grant: who.Grant, Frontend: "http",
		}, fault.text)
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
		x.refuse(http.StatusBadRequest,
			rpcErrorf(codeInvalid, "Invalid request: send answers as inputResponses when you repeat the call"), modern)
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
		fault = e.checkMirroredHeaders(x.r, q)
	}
	if fault != nil {
		x.finish(fault.reply(m.id, modern), fault.status(modern))
		return
	}
	q.from.trace = requestTrace(x.r, m)
	if m.method == "subscriptions/listen" {
		e.listen(x, q)
		return
	}
	answer := q.answer(x.r.Context())
	x.finish(answer, x.challenge(q))
}

// challenge returns the status of a response. If the request lacked authorization, it also sets
// the headers that say how to get it.
func (x *exchange) challenge(q *request) int {
	if q.denied == nil || x.http.Challenge == nil || x.isStream() {
		return q.status
	}
	if status := x.http.Challenge(x.w, x.r, q.denied); status != 0 {
		return status
	}
	return q.status
}

// checkMirroredHeaders compares the arguments that are mirrored in headers.
func (e *endpoint) checkMirroredHeaders(r *http.Request, q *request) *rpcError {
	tool, _ := q.tool()
	if tool == nil {
		return nil // the call itself reports the error
	}
	args := q.params.Field("arguments")
	return checkMirrored(r.Header, tool, &args)
}

// listen keeps a stream open until the client closes it or the server shuts down.
func (e *endpoint) listen(x *exchange, q *request) {
	if !x.mayStream {
		x.refuse(http.StatusNotAcceptable, rpcErrorf(codeInvalid, "subscriptions/listen answers with text/event-stream; accept it"), modern)
		return
	}
	leave, ok := x.admitStream(modern)
	if !ok {
		return
	}
	defer leave()
	sub, acknowledgement, err := q.listen(x.r.Context())
	if err != nil {
		answer := q.fail(err)
		x.finish(answer, x.challenge(q))
		return
	}
	defer sub.close()
	defer x.pausing()()
	x.memory.Release()
	to := x.openSink()
	alive := time.NewTicker(keepAlive)
	defer alive.Stop()
	for ok := to.write(appendData(nil, acknowledgement)); ok; {
		select {
		case <-x.r.Context().Done():
			return
		case <-e.ending.Done():
			to.write(appendData(nil, q.listenResult()))
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
