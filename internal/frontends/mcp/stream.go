package mcp

import (
	"context"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// Limits of the events that are kept for clients that reconnect: of one stream, and of all streams.
const (
	maxEvents       = 64
	maxStreamBytes  = 128 << 10
	maxArchiveBytes = 64 << 20
)

const (
	keepAlive    = 15 * time.Second // between comments on a quiet stream
	writeTimeout = 30 * time.Second // the write timeout
	retryMillis  = 500              // how long a client waits before it reconnects
	// The minimum time between two checks of a client's credentials.
	recheckInterval = time.Second
)

// stream holds the events of one stream of a legacy client. It outlives connections: a client that
// reconnects gets the events that it missed.
type stream struct {
	number uint64
	all    *archive

	mu      sync.Mutex
	last    uint64   // number of the last event
	kept    []record // the latest events, in order
	size    int
	ended   bool          // no more events will come
	changed chan struct{} // closed when an event is added or the stream ends
	reader  *reader       // nil if there is none
	sent    uint64        // number of the last event that was sent to a reader

	dropped bool // no events are kept any more
}

// record is a kept event.
type record struct {
	number uint64
	text   []byte
}

// archive counts the kept events of all streams.
type archive struct {
	bytes atomic.Int64
	full  atomic.Bool // events should be dropped
}

func newStream(number uint64, all *archive) *stream {
	return &stream{number: number, all: all, changed: make(chan struct{})}
}

// add appends a message as the next event and returns its text. An event with a nil message only
// gives the client an event id.
func (s *stream) add(message []byte) []byte {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.last++
	text := appendEvent(nil, s.number, s.last, message)
	if s.dropped {
		return text
	}
	s.kept = append(s.kept, record{s.last, text})
	s.size += len(text)
	if s.all.bytes.Add(int64(len(text))) > maxArchiveBytes {
		s.all.full.Store(true)
	}
	for len(s.kept) > 1 && (len(s.kept) > maxEvents || s.size > maxStreamBytes) ||
		len(s.kept) > s.needed() && s.all.bytes.Load() > maxArchiveBytes {
		s.drop()
	}
	s.wake()
	return text
}

// needed returns how many events must be kept even if the total is over the limit: the one that a
// reader waits for. The caller must hold the lock.
func (s *stream) needed() int {
	if s.reader != nil {
		return 1
	}
	return 0
}

// drop removes the oldest event. The caller must hold the lock.
func (s *stream) drop() {
	size := len(s.kept[0].text)
	s.size -= size
	s.all.bytes.Add(-int64(size))
	s.kept[0] = record{}
	s.kept = s.kept[1:]
}

// forget removes all events. Later events are not kept either.
func (s *stream) forget() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.dropped = true
	for len(s.kept) > 0 {
		s.drop()
	}
}

// wake wakes the readers. The caller must hold the lock.
func (s *stream) wake() {
	close(s.changed)
	s.changed = make(chan struct{})
}

// end marks the stream as ended.
func (s *stream) end() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.ended {
		s.ended = true
		s.wake()
	}
}

// after returns the events after a number, whether the stream has ended, and a channel that is
// closed when there is more.
func (s *stream) after(number uint64) (texts [][]byte, last uint64, ended bool, more <-chan struct{}) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, r := range s.kept {
		if r.number > number {
			texts = append(texts, r.text)
		}
	}
	return texts, s.last, s.ended, s.changed
}

// reader is a connection that sends the stream.
type reader struct{ disconnect func() }

// attach makes a connection the reader of the stream and disconnects an earlier one.
func (s *stream) attach(disconnect func()) (detach func()) {
	mine := &reader{disconnect}
	s.mu.Lock()
	before := s.reader
	s.reader = mine
	s.mu.Unlock()
	if before != nil {
		before.disconnect()
	}
	return func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		if s.reader == mine {
			s.reader = nil
		}
	}
}

// attached reports whether the stream has a reader.
func (s *stream) attached() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.reader != nil
}

// hasEnded reports whether the stream has ended.
func (s *stream) hasEnded() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.ended
}

// has reports whether the stream still has all events after the event with this number. The first
// event has number 1.
func (s *stream) has(number uint64) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if number >= s.last {
		return number == s.last
	}
	return len(s.kept) > 0 && s.kept[0].number <= number+1
}

// mark records the number of the last event that was sent.
func (s *stream) mark(number uint64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.sent = max(s.sent, number)
}

// seen returns the number of the last event that was sent.
func (s *stream) seen() uint64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.sent
}

// appendEvent appends an event in the format of event streams.
func appendEvent(b []byte, stream, number uint64, message []byte) []byte {
	b = strconv.AppendUint(append(b, "id: "...), stream, 10)
	b = strconv.AppendUint(append(b, '-'), number, 10)
	if message == nil {
		b = strconv.AppendUint(append(b, "\nretry: "...), retryMillis, 10)
	}
	return appendData(append(b, '\n'), message)
}

func appendData(b, message []byte) []byte {
	b = append(append(b, "data: "...), message...)
	return append(b, '\n', '\n')
}

// eventID parses the id of an event.
func eventID(id string) (stream, number uint64, ok bool) {
	left, right, found := strings.Cut(id, "-")
	stream, err := strconv.ParseUint(left, 10, 64)
	number, err2 := strconv.ParseUint(right, 10, 64)
	return stream, number, found && err == nil && err2 == nil
}

// sink is a connection that sends a stream.
type sink struct {
	w            http.ResponseWriter
	control      *http.ResponseController
	failed       bool
	stillAllowed func() bool // reports whether the client is still accepted
	checkedAt    time.Time   // when that was last checked
}

// openSink starts a response that is a stream.
func (x *exchange) openSink() *sink {
	h := x.w.Header()
	h["Content-Type"] = streamType
	h["Cache-Control"] = noCache
	h["X-Accel-Buffering"] = unbuffered
	x.w.WriteHeader(http.StatusOK)
	return &sink{w: x.w, control: &x.control, stillAllowed: x.stillAllowed, checkedAt: time.Now()}
}

// stillAllowed reports whether the client would still be accepted.
func (x *exchange) stillAllowed() bool { return x.http.StillAllowed == nil || x.http.StillAllowed(x.r) }

var (
	streamType = []string{"text/event-stream"}
	jsonType   = []string{"application/json"}
	noCache    = []string{"no-cache, no-transform"}
	unbuffered = []string{"no"}
)

// write sends a text at once. It returns false if the client has disconnected, does not read or is
// no longer accepted.
func (s *sink) write(text []byte) bool {
	if s.failed = s.failed || !s.recheck(); s.failed {
		return false
	}
	// Ignored if the connection supports no deadlines.
	_ = s.control.SetWriteDeadline(time.Now().Add(writeTimeout))
	_, err := s.w.Write(text)
	if err == nil {
		err = s.control.Flush()
	}
	s.failed = err != nil
	return !s.failed
}

// recheck checks the client's credentials again, because a stream outlives a revoked token.
// Keep-alive comments cause checks of quiet streams too.
func (s *sink) recheck() bool {
	now := time.Now()
	if now.Sub(s.checkedAt) < recheckInterval {
		return true
	}
	s.checkedAt = now
	return s.stillAllowed()
}

// pump sends the events of a stream after a number, until the stream ends, ctx ends or the client
// disconnects. If due is not nil, each token on it causes a call of fetch, which adds events.
func (s *stream) pump(ctx context.Context, to *sink, from uint64, due <-chan struct{}, fetch func()) {
	alive := time.NewTicker(keepAlive)
	defer alive.Stop()
	for {
		texts, last, ended, more := s.after(from)
		for _, text := range texts {
			if !to.write(text) {
				return
			}
		}
		from = last
		s.mark(last)
		if ended {
			return
		}
		select {
		case <-ctx.Done():
			return
		case <-more:
		case <-due:
			fetch()
		case <-alive.C:
			if !to.write([]byte(": \n\n")) {
				return
			}
		}
	}
}
