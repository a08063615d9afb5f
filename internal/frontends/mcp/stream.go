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

// How much is kept for clients that lost their connection: of one stream, and of
// all together.
const (
	keptEvents = 64
	keptBytes  = 128 << 10
	keptInAll  = 64 << 20
)

const (
	keepAlive     = 15 * time.Second // between signs of life on a quiet stream
	writePatience = 30 * time.Second // for a client to take what it is sent
	retryMillis   = 500              // how long a client waits before it comes back
	lookEvery     = time.Second      // how often it is looked at most whether a client may hear more
)

// stream is what a client of the legacy era is sent on one of its streams. It
// outlives connections: a client that comes back gets what it missed.
type stream struct {
	number uint64
	all    *archive

	mu      sync.Mutex
	last    uint64   // number of the last event
	kept    []record // the latest events, in order
	size    int
	over    bool          // nothing more will come
	changed chan struct{} // closed when an event comes or the stream is over
	reader  *reader       // nil if there is none
	sent    uint64        // number of the last event that some reader was sent

	forgotten bool // nothing is kept any more
}

// record is an event that is kept.
type record struct {
	number uint64
	text   []byte
}

// archive is what is kept of all streams together.
type archive struct {
	bytes atomic.Int64
	full  atomic.Bool // somebody should make room
}

func newStream(number uint64, all *archive) *stream {
	return &stream{number: number, all: all, changed: make(chan struct{})}
}

// add keeps a message as the next event and returns its text. A nil message only
// tells the client where it is.
func (s *stream) add(message []byte) []byte {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.last++
	text := appendEvent(nil, s.number, s.last, message)
	if s.forgotten {
		return text
	}
	s.kept = append(s.kept, record{s.last, text})
	s.size += len(text)
	if s.all.bytes.Add(int64(len(text))) > keptInAll {
		s.all.full.Store(true)
	}
	for len(s.kept) > 1 && (len(s.kept) > keptEvents || s.size > keptBytes) || len(s.kept) > s.needed() && s.all.bytes.Load() > keptInAll {
		s.drop()
	}
	s.wake()
	return text
}

// needed is how many events are kept even if there is too much of all streams: the
// one that a reader waits for. It is called with the lock held.
func (s *stream) needed() int {
	if s.reader != nil {
		return 1
	}
	return 0
}

// drop forgets the oldest event. It is called with the lock held.
func (s *stream) drop() {
	size := len(s.kept[0].text)
	s.size -= size
	s.all.bytes.Add(-int64(size))
	s.kept[0] = record{}
	s.kept = s.kept[1:]
}

// forget keeps nothing any more, also of what is yet to come.
func (s *stream) forget() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.forgotten = true
	for len(s.kept) > 0 {
		s.drop()
	}
}

// wake is called with the lock held.
func (s *stream) wake() {
	close(s.changed)
	s.changed = make(chan struct{})
}

// end says that nothing more will come.
func (s *stream) end() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.over {
		s.over = true
		s.wake()
	}
}

// after gives the events after a number, whether the stream is over, and what
// tells of more.
func (s *stream) after(number uint64) (texts [][]byte, last uint64, over bool, more <-chan struct{}) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, r := range s.kept {
		if r.number > number {
			texts = append(texts, r.text)
		}
	}
	return texts, s.last, s.over, s.changed
}

// reader is a connection that carries the stream.
type reader struct{ sendAway func() }

// attach makes a connection the reader of the stream; an earlier one is sent away.
func (s *stream) attach(sendAway func()) (detach func()) {
	mine := &reader{sendAway}
	s.mu.Lock()
	before := s.reader
	s.reader = mine
	s.mu.Unlock()
	if before != nil {
		before.sendAway()
	}
	return func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		if s.reader == mine {
			s.reader = nil
		}
	}
}

// attached tells whether somebody reads the stream.
func (s *stream) attached() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.reader != nil
}

// isOver tells whether nothing more will come.
func (s *stream) isOver() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.over
}

// has tells whether all that came after an event is kept; 0 is before the first.
func (s *stream) has(number uint64) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if number >= s.last {
		return number == s.last
	}
	return len(s.kept) > 0 && s.kept[0].number <= number+1
}

// mark notes how far the events were sent.
func (s *stream) mark(number uint64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.sent = max(s.sent, number)
}

// seen is how far the events were sent.
func (s *stream) seen() uint64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.sent
}

// appendEvent writes an event as the stream carries it.
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

// eventID takes the id of an event apart.
func eventID(id string) (stream, number uint64, ok bool) {
	left, right, found := strings.Cut(id, "-")
	stream, err := strconv.ParseUint(left, 10, 64)
	number, err2 := strconv.ParseUint(right, 10, 64)
	return stream, number, found && err == nil && err2 == nil
}

// sink is a connection that carries a stream.
type sink struct {
	w       http.ResponseWriter
	control *http.ResponseController
	failed  bool
	still   func() bool // whether the client may hear more
	looked  time.Time   // when that was last found out
}

// openSink answers a request with a stream.
func (x *exchange) openSink() *sink {
	h := x.w.Header()
	h["Content-Type"] = streamType
	h["Cache-Control"] = noCache
	h["X-Accel-Buffering"] = unbuffered
	x.w.WriteHeader(http.StatusOK)
	return &sink{w: x.w, control: &x.control, still: x.still, looked: time.Now()}
}

// still tells whether the client would be let in now.
func (x *exchange) still() bool { return x.http.Still == nil || x.http.Still(x.r) }

var (
	streamType = []string{"text/event-stream"}
	jsonType   = []string{"application/json"}
	noCache    = []string{"no-cache, no-transform"}
	unbuffered = []string{"no"}
)

// write sends a text at once; false if the client is gone, does not read, or may not
// hear more.
func (s *sink) write(text []byte) bool {
	if s.failed = s.failed || !s.mayHear(); s.failed {
		return false
	}
	_ = s.control.SetWriteDeadline(time.Now().Add(writePatience)) // a connection that cannot have one has its own
	_, err := s.w.Write(text)
	if err == nil {
		err = s.control.Flush()
	}
	s.failed = err != nil
	return !s.failed
}

// mayHear looks at the credentials of the client again: a stream outlives a token that
// is revoked. Signs of life see to it that a quiet one is looked at too.
func (s *sink) mayHear() bool {
	now := time.Now()
	if now.Sub(s.looked) < lookEvery {
		return true
	}
	s.looked = now
	return s.still()
}

// pump sends the events of a stream from a number on, until the stream is over,
// ctx ends or the client is gone. due gives messages that other events have made
// due, if there are such.
func (s *stream) pump(ctx context.Context, to *sink, from uint64, due <-chan struct{}, fetch func()) {
	alive := time.NewTicker(keepAlive)
	defer alive.Stop()
	for {
		texts, last, over, more := s.after(from)
		for _, text := range texts {
			if !to.write(text) {
				return
			}
		}
		from = last
		s.mark(last)
		if over {
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
