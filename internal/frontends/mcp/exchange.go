package mcp

import (
	"errors"
	"mime"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	"remit/internal/bodies"
)

// exchange is one HTTP request and its response. The response becomes a stream when a message must
// be sent before the result.
type exchange struct {
	http    *HTTP
	w       http.ResponseWriter
	r       *http.Request
	control http.ResponseController
	session *session // of the legacy era
	size    int      // of the body, in bytes

	memory bodies.Memory // of the body, if it is large

	mayJSON       bool
	mayStream     bool
	prefersStream bool // prefers a stream to JSON

	mu       sync.Mutex
	sink     *sink   // set once the response is a stream
	stream   *stream // of the session; set once the response is a stream
	detached bool    // the connection no longer belongs to this exchange
	waiting  int     // open questions
	alive    *time.Timer
}

var errNoStream = errors.New("the client does not accept a stream")

// send sends a message before the result.
func (x *exchange) send(message []byte) error {
	x.mu.Lock()
	defer x.mu.Unlock()
	if !x.mayStream {
		if x.session == nil || !x.session.general.attached() {
			return errNoStream
		}
		x.session.general.add(message)
		return nil
	}
	if x.sink == nil && x.stream == nil {
		x.openStream()
	}
	x.sendEvent(message)
	return nil
}

// openStream turns the response into a stream. The caller must hold the lock.
func (x *exchange) openStream() {
	if x.session != nil {
		x.stream = x.session.newStream()
	}
	if x.detached {
		return
	}
	x.sink = x.openSink()
	if x.session != nil && hasPriming(x.session.from.version) {
		x.sink.write(x.stream.add(nil))
	}
	x.alive = time.AfterFunc(keepAlive, x.sendKeepAlive)
}

// sendKeepAlive sends a comment, which keeps a quiet stream open.
func (x *exchange) sendKeepAlive() {
	x.mu.Lock()
	defer x.mu.Unlock()
	if !x.detached && x.sink.write([]byte(": \n\n")) {
		x.alive.Reset(keepAlive)
	}
}

// sendEvent sends a message on the stream. The caller must hold the lock.
func (x *exchange) sendEvent(message []byte) {
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

// finish sends the response, as the end of the stream or by itself. A nil answer means that the
// client canceled the request.
func (x *exchange) finish(answer []byte, status int) {
	x.mu.Lock()
	defer x.mu.Unlock()
	streams := x.sink != nil || x.stream != nil
	switch {
	case !streams && (x.detached || x.r.Context().Err() != nil):
		return // the client cannot fetch it later
	case !streams && answer == nil:
		// The response has no id, because the id may be in use again.
		x.write(http.StatusOK, rpcErrorf(codeCancelled, "Cancelled by the client").reply(nil, modern))
		return
	case !streams && (x.mayJSON && !x.prefersStream || status != http.StatusOK):
		x.write(status, answer)
		return
	case !streams:
		x.openStream()
	}
	if answer != nil {
		x.sendEvent(answer)
	}
	if x.stream != nil {
		x.stream.end()
	}
}

// isStream reports whether a stream was opened.
func (x *exchange) isStream() bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.sink != nil || x.stream != nil
}

// write sends a response that is not a stream.
func (x *exchange) write(status int, body []byte) {
	h := x.w.Header()
	h["Content-Type"] = jsonType
	h["Content-Length"] = []string{strconv.Itoa(len(body))}
	x.w.WriteHeader(status)
	_, _ = x.w.Write(body) //nolint:gosec // JSON is not rendered as a page; a client that has disconnected gets no response
}

// refuse answers a request with an error.
func (x *exchange) refuse(status int, fault *rpcError, e era) {
	if x.http.Log != nil {
		x.http.Log.Debug("request rejected", "path", x.r.URL.Path, "status", status, "why", fault.text)
	}
	x.write(status, fault.reply(fault.id, e))
}

// busy answers that the client must retry later.
func (x *exchange) busy(e era, reason string) {
	x.w.Header().Set("Retry-After", "1")
	x.refuse(http.StatusServiceUnavailable, rpcErrorf(codeBusy, "%s", reason), e)
}

// detach returns the connection to net/http. After that, nothing may be written.
func (x *exchange) detach() {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.detached = true
	if x.alive != nil {
		x.alive.Stop()
	}
}

// release closes the connection so that the client can resume the stream later, if its version
// supports that. The call still runs in the handler of the request, so the connection is hijacked
// from net/http and closed here.
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
		return // HTTP/2 connections cannot be hijacked
	}
	x.detached = true
	x.alive.Stop()
	_ = conn.SetWriteDeadline(time.Now().Add(writeTimeout)) // hijacking removes the deadline
	// The end of the chunked body; errors do not matter.
	_, _ = conn.Write([]byte("0\r\n\r\n"))
	_ = conn.Close()
}

// pausing releases the slot of a request that waits for a person: that may take an hour, and a
// client that has disconnected may have left many questions open.
func (x *exchange) pausing() func() {
	x.wait(1)
	return func() { x.wait(-1) }
}

// wait counts the open questions of a request; a batch may have several.
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

// admitStream counts a stream that stays open. It returns false if there are too many.
func (x *exchange) admitStream(e era) (leave func(), ok bool) {
	if x.http.streams.Add(1) > int64(x.http.limits.Streams) {
		x.http.streams.Add(-1)
		x.busy(e, "Too many streams are open; try again later")
		return nil, false
	}
	return func() { x.http.streams.Add(-1) }, true
}

// negotiate checks Content-Type and Accept. A client without Accept accepts anything.
func (x *exchange) negotiate(guess era) bool {
	if kind := x.r.Header.Get("Content-Type"); kind != "application/json" {
		if kind, _, err := mime.ParseMediaType(kind); err != nil || kind != "application/json" {
			x.refuse(http.StatusUnsupportedMediaType, rpcErrorf(codeInvalid, "Invalid request: Content-Type must be application/json"), guess)
			return false
		}
	}
	x.accept()
	if !x.mayJSON && !x.mayStream {
		x.refuse(http.StatusNotAcceptable, rpcErrorf(codeInvalid, "Invalid request: accept application/json and text/event-stream"), guess)
		return false
	}
	return true
}

// accept parses Accept and which of the two types comes first.
func (x *exchange) accept() {
	all := strings.Join(x.r.Header["Accept"], ",")
	if all == "" || strings.Contains(all, "*/*") {
		x.mayJSON, x.mayStream = true, true
		return
	}
	json, stream := strings.Index(all, "application/json"), strings.Index(all, "text/event-stream")
	x.mayJSON = json >= 0 || strings.Contains(all, "application/*")
	x.mayStream = stream >= 0 || strings.Contains(all, "text/*")
	x.prefersStream = stream >= 0 && stream < json
}

// body reads the request.
func (x *exchange) body(guess era) (data []byte, ok bool) {
	h := x.http
	if size := x.r.ContentLength; size > large || size < 0 {
		// This has no effect on a connection without deadlines.
		_ = x.control.SetReadDeadline(time.Now().Add(h.limits.Upload))
	}
	data, memory, err := h.Bodies.Read(x.r, h.limits.Body)
	x.memory = memory
	var tooLarge *http.MaxBytesError
	switch {
	// Otherwise the deadline stays, because net/http reads the rest before it answers.
	case err == nil:
		x.clearReadDeadline()
		return data, true
	case errors.As(err, &tooLarge):
		x.refuse(http.StatusRequestEntityTooLarge,
			rpcErrorf(codeInvalid, "Invalid request: a message may have at most %d bytes", h.limits.Body), guess)
	case errors.Is(err, bodies.ErrBusy):
		x.busy(guess, "Too many large requests are in progress; try again")
	default:
		x.refuse(http.StatusRequestTimeout, rpcErrorf(codeParse, "Parse error: the request is incomplete"), guess)
	}
	return nil, false
}

// clearReadDeadline removes the read deadline after the request has arrived. Otherwise the deadline
// would end the request.
func (x *exchange) clearReadDeadline() { _ = x.control.SetReadDeadline(time.Time{}) }
