package mcp

import (
	"bytes"
	"errors"
	"io"
	"mime"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"
)

// exchange is one HTTP request and its answer, which becomes a stream when there
// is something to say before the answer is there.
type exchange struct {
	http    *HTTP
	w       http.ResponseWriter
	r       *http.Request
	control http.ResponseController
	session *session // of the legacy era
	size    int      // of the body, in bytes

	giveLarge func() // of the memory for large requests; nil if it took none

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
	x.sink = x.openSink()
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
	case !streams && (x.detached || x.r.Context().Err() != nil):
		return // nobody can come back for it
	case !streams && answer == nil:
		x.write(http.StatusOK, faultf(codeCancelled, "Cancelled by the client").reply(nil, modern)) // without the id, which may be in use again
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

// isStream tells whether something was sent already.
func (x *exchange) isStream() bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.sink != nil || x.stream != nil
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
	if x.http.Log != nil {
		x.http.Log.Debug("refused", "path", x.r.URL.Path, "status", status, "why", fault.text)
	}
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
	_ = conn.SetWriteDeadline(time.Now().Add(writePatience)) // to take the connection over has lifted it
	_, _ = conn.Write([]byte("0\r\n\r\n"))                   // the end of the body; who is gone needs none
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
	x.mayJSON = json >= 0 || strings.Contains(all, "application/*")
	x.mayStream = stream >= 0 || strings.Contains(all, "text/*")
	x.likesStream = stream >= 0 && stream < json
}

// body reads the request.
func (x *exchange) body(guess era) (data []byte, ok bool) {
	h := x.http
	if x.r.ContentLength > h.limits.Body {
		x.refuse(http.StatusRequestEntityTooLarge, faultf(codeInvalid, "Invalid request: a message may have at most %d bytes", h.limits.Body), guess)
		return nil, false
	}
	if size := x.r.ContentLength; size > large || size < 0 {
		give, ok := h.AdmitLarge(max(size, h.limits.Body/8)) // what does not say its size may be large
		if !ok {
			x.busy(guess, "Too many large requests run at once; try again")
			return nil, false
		}
		x.giveLarge = give
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
	if x.giveLarge != nil {
		x.giveLarge()
		x.giveLarge = nil
	}
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
	if r.ContentLength <= startOfBody {
		data := make([]byte, r.ContentLength)
		_, err := io.ReadFull(r.Body, data)
		return data, err
	}
	data := bytes.NewBuffer(make([]byte, 0, startOfBody)) // it grows as bytes arrive, not as they are promised
	n, err := io.CopyN(data, r.Body, r.ContentLength)
	if err == nil && n < r.ContentLength {
		err = io.ErrUnexpectedEOF
	}
	return data.Bytes(), err
}

// startOfBody is how much room a body gets before any of it is there.
const startOfBody = 64 << 10
