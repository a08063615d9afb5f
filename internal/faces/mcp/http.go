package mcp

import (
	"context"
	"errors"
	"io"
	"mime"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"remit/internal/contract/jsontree"
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
		Body:     orDefault(l.Body, 32<<20),
		Running:  orDefault(l.Running, 1024),
		Sessions: orDefault(l.Sessions, 10_000),
		Streams:  orDefault(l.Streams, 5_000),
		Idle:     orDefault(l.Idle, 30*time.Minute),
		Upload:   orDefault(l.Upload, 30*time.Second),
	}
}

func orDefault[T int | int64 | time.Duration](value, fallback T) T {
	if value > 0 {
		return value
	}
	return fallback
}

// HTTP serves endpoints over streamable HTTP: both eras, on one address each.
type HTTP struct {
	// SessionEnded is told how long a session of the legacy era lasted; nil if
	// nobody counts.
	SessionEnded func(lasted time.Duration)

	principal func(*http.Request) string
	now       func() time.Time

	limits   Limits
	sessions sync.Map // of *session by id
	count    atomic.Int64
	streams  atomic.Int64
	running  atomic.Int64
	large    atomic.Int64 // bytes of large requests under way
	kept     atomic.Int64 // bytes kept for clients that come back
	ending   context.Context
	endAll   context.CancelFunc
	sweeper  *time.Timer
}

// NewHTTP prepares to serve. principal tells who sends a request; "" is nobody.
func NewHTTP(principal func(*http.Request) string, limits Limits, now func() time.Time) *HTTP {
	h := &HTTP{principal: principal, now: now, limits: limits.orDefaults()}
	h.ending, h.endAll = context.WithCancel(context.Background())
	h.sweeper = time.AfterFunc(time.Hour, h.sweep)
	h.sweeper.Reset(sweepEvery) // it is there when it is first used
	return h
}

// Sessions is how many sessions there are, Streams how many streams are open.
func (h *HTTP) Sessions() int { return int(h.count.Load()) }

// Streams is how many streams are open.
func (h *HTTP) Streams() int { return int(h.streams.Load()) }

// EndStreams ends what would stay open for ever. Requests under way go on.
func (h *HTTP) EndStreams() {
	h.sweeper.Stop()
	h.endAll()
	h.sessions.Range(func(_, found any) bool {
		h.drop(found.(*session), false)
		return true
	})
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

// isModernHeader tells the era by the version header alone.
func isModernHeader(r *http.Request) bool {
	values := r.Header[headerVersion]
	return len(values) > 0 && strings.Trim(values[0], " \t") >= modernVersions[len(modernVersions)-1]
}

func (e *endpoint) post(x *exchange) {
	guess := legacy
	if isModernHeader(x.r) {
		guess = modern
	}
	if !x.negotiate(guess) {
		return
	}
	if e.running.Add(1) > int64(e.limits.Running) {
		e.running.Add(-1)
		x.busy(guess, "Too many requests run at once; try again")
		return
	}
	defer e.running.Add(-1)
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

// body reads the request.
func (x *exchange) body(guess era) (data []byte, ok bool) {
	h := x.http
	if x.r.ContentLength > h.limits.Body {
		x.refuse(http.StatusRequestEntityTooLarge, faultf(codeInvalid, "Invalid request: a message may have at most %d bytes", h.limits.Body), guess)
		return nil, false
	}
	if size := x.r.ContentLength; size > large || size < 0 {
		size = max(size, h.limits.Body/8) // what does not say its size may be large
		if h.large.Add(size) > largeInAll {
			h.large.Add(-size)
			x.busy(guess, "Too many large requests run at once; try again")
			return nil, false
		}
		x.taken = size
	}
	if x.r.ContentLength > large || x.r.ContentLength < 0 {
		_ = x.control.SetReadDeadline(time.Now().Add(h.limits.Upload)) // a connection that cannot have one has its own
	}
	data, err := readBody(x.r, h.limits.Body)
	if err == nil { // else the deadline stays: net/http looks for the rest before it answers
		x.take()
		return data, true
	}
	var tooLarge *http.MaxBytesError
	if errors.As(err, &tooLarge) {
		x.refuse(http.StatusRequestEntityTooLarge, faultf(codeInvalid, "Invalid request: a message may have at most %d bytes", h.limits.Body), guess)
	} else {
		x.refuse(http.StatusRequestTimeout, faultf(codeParse, "Parse error: the request did not arrive whole"), guess)
	}
	return nil, false
}

// give returns what the request took of the memory for large ones.
func (x *exchange) give() {
	x.http.large.Add(-x.taken)
	x.taken = 0
}

// take lets a request take its time once it has arrived: the server's deadline for
// its arrival would end it.
func (x *exchange) take() { _ = x.control.SetReadDeadline(time.Time{}) }

// largeInAll is how many bytes the large requests under way may have together.
const largeInAll = 256 << 20

func readBody(r *http.Request, most int64) ([]byte, error) {
	if r.ContentLength < 0 {
		return io.ReadAll(http.MaxBytesReader(nil, r.Body, most))
	}
	data := make([]byte, r.ContentLength)
	_, err := io.ReadFull(r.Body, data)
	return data, err
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
	if q.from, fault = modernClient(m, e.principal(x.r), "http"); fault == nil {
		fault = checkHeaders(x.r.Header, m, &q.from)
	}
	if fault == nil && m.method == "tools/call" {
		fault = e.mirrored(x.r, q)
	}
	if fault != nil {
		x.finish(fault.reply(m.id, modern), fault.status(modern))
		return
	}
	if m.method == "subscriptions/listen" {
		e.listen(x, q)
		return
	}
	x.finish(q.answer(x.r.Context()), q.status)
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
		fault := faultOf(err, modern)
		x.finish(fault.reply(q.id, modern), fault.status(modern))
		return
	}
	defer sub.close()
	defer x.pausing()()
	x.give()
	to := openSink(x.w, &x.control)
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

// negotiate checks what the client sends and what it takes; a client that says
// nothing takes anything.
func (x *exchange) negotiate(guess era) bool {
	if kind := x.r.Header.Get("Content-Type"); kind != "application/json" {
		if kind, _, err := mime.ParseMediaType(kind); err != nil || kind != "application/json" {
			x.refuse(http.StatusUnsupportedMediaType, faultf(codeInvalid, "Invalid request: Content-Type must be application/json"), guess)
			return false
		}
	}
	x.accept()
	if !x.mayJSON && !x.mayStream {
		x.refuse(http.StatusNotAcceptable, faultf(codeInvalid, "Invalid request: accept application/json and text/event-stream"), guess)
		return false
	}
	return true
}

// accept reads what the client takes, and which of the two it names first.
func (x *exchange) accept() {
	all := strings.Join(x.r.Header["Accept"], ",")
	if all == "" || strings.Contains(all, "*/*") {
		x.mayJSON, x.mayStream = true, true
		return
	}
	json, stream := strings.Index(all, "application/json"), strings.Index(all, "text/event-stream")
	x.mayJSON, x.mayStream = json >= 0, stream >= 0
	x.likesStream = stream >= 0 && stream < json
}

// exchange is one HTTP request and its answer, which becomes a stream when there
// is something to say before the answer is there.
type exchange struct {
	http    *HTTP
	w       http.ResponseWriter
	r       *http.Request
	control http.ResponseController
	session *session // of the legacy era
	size    int      // of the body, in bytes
	taken   int64    // of the memory for large requests

	mayJSON     bool
	mayStream   bool
	likesStream bool // more than JSON

	mu       sync.Mutex
	sink     *sink   // once it is a stream
	stream   *stream // of the session, once it is a stream
	detached bool    // the connection is not ours any more
	waiting  int     // questions that are open
	alive    *time.Timer
}

var errNoStream = errors.New("the client takes no stream")

// send tells the client something before the answer.
func (x *exchange) send(message []byte) error {
	x.mu.Lock()
	defer x.mu.Unlock()
	if !x.mayStream {
		if x.session == nil || !x.session.standing.attached() {
			return errNoStream
		}
		x.session.standing.add(message)
		return nil
	}
	if x.sink == nil && x.stream == nil {
		x.openStream()
	}
	x.carry(message)
	return nil
}

// openStream turns the answer into a stream. It is called with the lock held.
func (x *exchange) openStream() {
	if x.session != nil {
		x.stream = x.session.newStream()
	}
	if x.detached {
		return
	}
	x.sink = openSink(x.w, &x.control)
	if x.session != nil && hasPriming(x.session.from.version) {
		x.sink.write(x.stream.add(nil))
	}
	x.alive = time.AfterFunc(keepAlive, x.stayAlive)
}

// stayAlive shows that a quiet stream is not dead.
func (x *exchange) stayAlive() {
	x.mu.Lock()
	defer x.mu.Unlock()
	if !x.detached && x.sink.write([]byte(": \n\n")) {
		x.alive.Reset(keepAlive)
	}
}

// carry puts a message on the stream. It is called with the lock held.
func (x *exchange) carry(message []byte) {
	var text []byte
	if x.stream != nil {
		text = x.stream.add(message)
	} else {
		text = appendData(nil, message)
	}
	if !x.detached {
		x.sink.write(text)
	}
}

// finish gives the answer: as the end of the stream, or by itself. A nil answer
// was taken back by the client.
func (x *exchange) finish(answer []byte, status int) {
	x.mu.Lock()
	defer x.mu.Unlock()
	streams := x.sink != nil || x.stream != nil
	switch {
	case !streams && (x.detached || gone(x.r.Context())):
		return // nobody can come back for it
	case !streams && answer == nil:
		x.write(http.StatusOK, faultf(codeCancelled, "Cancelled by the client").reply(nil, modern))
		return
	case !streams && (x.mayJSON && !x.likesStream || status != http.StatusOK):
		x.write(status, answer)
		return
	case !streams:
		x.openStream()
	}
	if answer != nil {
		x.carry(answer)
	}
	if x.stream != nil {
		x.stream.end()
	}
}

// write gives an answer that is no stream.
func (x *exchange) write(status int, body []byte) {
	h := x.w.Header()
	h["Content-Type"] = jsonType
	h["Content-Length"] = []string{strconv.Itoa(len(body))}
	x.w.WriteHeader(status)
	_, _ = x.w.Write(body) //nolint:gosec // JSON is no page; a client that is gone needs no answer
}

// refuse answers a request that is not carried out.
func (x *exchange) refuse(status int, fault *rpcError, e era) {
	x.write(status, fault.reply(fault.id, e))
}

// busy refuses for now.
func (x *exchange) busy(e era, why string) {
	x.w.Header().Set("Retry-After", "1")
	x.refuse(http.StatusServiceUnavailable, faultf(codeBusy, "%s", why), e)
}

// detach gives the connection back to net/http: nothing may be written any more.
func (x *exchange) detach() {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.detached = true
	if x.alive != nil {
		x.alive.Stop()
	}
}

// release lets the client come back for the answer, if it can: it has to know
// where it is on the stream. The call still runs in the handler of the request,
// so the connection is taken from net/http and closed here.
func (x *exchange) release() {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.detached || x.session == nil || !hasPriming(x.session.from.version) || !x.mayStream {
		return
	}
	if x.stream == nil {
		x.openStream()
	}
	conn, _, err := x.control.Hijack()
	if err != nil {
		return // HTTP/2 has no connection to let go
	}
	x.detached = true
	x.alive.Stop()
	_, _ = conn.Write([]byte("0\r\n\r\n")) // the end of the body; who is gone needs none
	_ = conn.Close()
}

// pausing gives up the place among the requests that run: a person may take an
// hour, and a client that is gone for ever may have left many questions open.
func (x *exchange) pausing() func() {
	x.wait(1)
	return func() { x.wait(-1) }
}

// wait counts the questions of a request; a batch may have many open.
func (x *exchange) wait(more int) {
	x.mu.Lock()
	defer x.mu.Unlock()
	before := x.waiting
	x.waiting += more
	switch {
	case before == 0:
		x.http.running.Add(-1)
	case x.waiting == 0:
		x.http.running.Add(1)
	}
}

// stays counts a stream that stays open; false if there are too many.
func (x *exchange) stays(e era) (leave func(), ok bool) {
	if x.http.streams.Add(1) > int64(x.http.limits.Streams) {
		x.http.streams.Add(-1)
		x.busy(e, "Too many streams are open; try again later")
		return nil, false
	}
	return func() { x.http.streams.Add(-1) }, true
}

// cancelled reads which request a client takes back.
func cancelled(m *message) []byte {
	if m.method != "notifications/cancelled" {
		return nil
	}
	id := m.params.Field("requestId")
	if id.Kind != jsontree.String && id.Kind != jsontree.Number {
		return nil
	}
	return plainID(&id)
}

// knows tells whether a version of the protocol is spoken.
func knows(version string) bool { return slices.Contains(allVersions, version) }
