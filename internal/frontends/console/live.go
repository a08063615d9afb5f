package console

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"net/http"
	"sync"
	"time"

	"remit/internal/contract"
	"remit/internal/engine/approval"
)

// Limits and intervals of the event streams that keep open pages up to date.
const (
	pollInterval = 500 * time.Millisecond // while any page listens
	// Between signs of life: a page that hears nothing for three seconds says that there is no
	// connection.
	beatInterval    = 2 * time.Second
	sessionInterval = 15 * time.Second // between checks of the session
	eventTimeout    = 30 * time.Second // to write one event to the browser
	maxListeners    = 200
	maxPerSession   = 20 // so that one session cannot use all of maxListeners
)

// waiting returns at most limit requests that wait for a person, newest first.
func (c *Console) waiting(ctx context.Context, limit int) ([]approval.Request, error) {
	store, err := c.openApprovals(ctx)
	if err != nil {
		return nil, err
	}
	return store.List(ctx, approval.ListOptions{Limit: limit, Now: c.Now()})
}

func (c *Console) openApprovals(ctx context.Context) (approval.Store, error) {
	store, err := c.Approvals(ctx)
	if err != nil {
		return nil, fmt.Errorf("open approval store: %w", err)
	}
	return store, nil
}

// hub polls the state in one goroutine for all open pages.
type hub struct {
	mu        sync.Mutex
	listeners map[chan struct{}]string // channel that wakes the listener -> its session
	now       state
	signOuts  int    // number of sign-outs so far; after each, listeners check their own session
	ended     bool   // the server is shutting down
	stop      func() // stops the polling goroutine and waits for it; nil if none runs
}

// subscribe adds a listener of a session. The first listener starts the polling.
func (h *hub) subscribe(session string, read func(ctx context.Context, last state) state) (chan struct{}, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	switch {
	case h.ended:
		return nil, contract.Errorf(contract.Unavailable, "The server is shutting down")
	case len(h.listeners) >= maxListeners:
		return nil, tooManyStreams(maxListeners, "pages")
	case h.countOf(session) >= maxPerSession:
		return nil, tooManyStreams(maxPerSession, "of your pages")
	}
	if h.listeners == nil {
		h.listeners = map[chan struct{}]string{}
	}
	wake := make(chan struct{}, 1)
	h.listeners[wake] = session
	if h.stop == nil {
		ctx, cancel := context.WithCancel(context.Background())
		done := make(chan struct{})
		h.stop = func() { cancel(); <-done }
		go func() {
			defer close(done)
			h.poll(ctx, read)
		}()
	}
	return wake, nil
}

func tooManyStreams(limit int, pages string) error {
	return contract.Errorf(contract.Limited, "%d %s already receive live updates, which is the limit; close some",
		limit, pages).With("retry_after", 10)
}

// countOf returns the number of listeners of a session. The caller holds the mutex.
func (h *hub) countOf(session string) (n int) {
	for _, s := range h.listeners {
		if s == session {
			n++
		}
	}
	return n
}

// unsubscribe removes a listener. The last one stops the polling.
func (h *hub) unsubscribe(wake chan struct{}) {
	h.mu.Lock()
	delete(h.listeners, wake)
	var stop func()
	if len(h.listeners) == 0 {
		stop, h.stop = h.stop, nil
	}
	h.mu.Unlock()
	if stop != nil {
		stop()
	}
}

// poll reads the state at intervals and wakes the listeners when it changed.
func (h *hub) poll(ctx context.Context, read func(ctx context.Context, last state) state) {
	tick := time.NewTicker(pollInterval)
	defer tick.Stop()
	for {
		last, _, _ := h.read()
		now := read(ctx, last)
		if ctx.Err() != nil {
			return
		}
		h.update(func() bool { changed := h.now != now; h.now = now; return changed })
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

// update applies a change to the hub, and wakes every listener if apply returns true.
func (h *hub) update(apply func() bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if !apply() {
		return
	}
	for wake := range h.listeners {
		select {
		case wake <- struct{}{}:
		default: // it is already awake and has not read the state yet
		}
	}
}

// read returns what a listener needs after it was woken.
func (h *hub) read() (now state, signOuts int, ended bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.now, h.signOuts, h.ended
}

// shared returns the state that was polled last; false if nothing polls it or it could not be read.
func (h *hub) shared() (state, bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.now, h.stop != nil && h.now.Approvals != ""
}

// EndStreams ends all event streams, which would otherwise keep a server from shutting down.
func (c *Console) EndStreams() {
	c.live.update(func() bool { c.live.ended = true; return true })
}

const (
	eventsPath  = "/console/events"
	eventStream = "text/event-stream"
	endEvent    = "event: end\ndata: signed out\n\n" // the session has ended
	// A comment would not reach the script of the page.
	beatEvent = "event: beat\ndata: 1\n\n"
)

// wantsEvents reports whether a page requests the event stream. Such a page has to be answered with
// an event: after any other response it would reconnect for ever.
func (v *visit) wantsEvents() bool {
	return v.r.URL.Path == eventsPath && v.r.Header.Get("Accept") == eventStream
}

// events sends events to a page when the state changes, for as long as the session is valid.
func (v *visit) events() error {
	secret, _ := v.cookie(v.r)
	wake, err := v.live.subscribe(secret, v.nextState)
	if err != nil {
		return err
	}
	defer v.live.unsubscribe(wake)
	v.w.Header().Set("Content-Type", eventStream)
	v.w.Header().Set("X-Accel-Buffering", "no") // nginx would buffer the events otherwise
	stream := stream{w: v.w, control: http.NewResponseController(v.w)}
	_, signOuts, _ := v.live.read()
	stream.send(v.nextState(v.r.Context(), state{}), true)
	beat, session := time.NewTicker(beatInterval), time.NewTicker(sessionInterval)
	defer beat.Stop()
	defer session.Stop()
	for stream.err == nil {
		check := false
		select {
		case <-v.clientCtx.Done():
			return nil
		case <-beat.C:
			stream.write(beatEvent)
			continue
		case <-session.C:
			check = true
		case <-wake:
		}
		now, outs, ended := v.live.read()
		if ended {
			return nil
		}
		if check || outs != signOuts {
			signOuts = outs
			if !v.stillSignedIn() {
				stream.write(endEvent)
				return nil
			}
		}
		stream.send(now, false)
	}
	return nil // the browser has disconnected
}

// stillSignedIn checks the session again. Only an ended session ends a stream: a store that fails
// for a moment does not.
func (v *visit) stillSignedIn() bool {
	_, err := v.currentPerson(v.r.WithContext(v.clientCtx))
	return err == nil || contract.AsError(err).Kind == contract.Unavailable
}

// stream writes server-sent events until a write fails.
type stream struct {
	w       io.Writer
	control *http.ResponseController
	sent    state
	err     error
}

// send writes the events for what changed since the last call, or all of them. It leaves out the
// waiting requests if they could not be read.
func (s *stream) send(now state, all bool) {
	last := s.sent.events()
	for i, event := range now.events() {
		if event == last[i] && !all || event[1] == "" {
			continue
		}
		data := fmt.Sprintf("{\"mark\":%q", event[1])
		if event[0] == "approvals" {
			data += fmt.Sprintf(",\"count\":%q,\"newest\":%s", now.Count(), cmp.Or(now.Notices, "[]"))
		}
		s.write("event: " + event[0] + "\ndata: " + data + "}\n\n")
	}
	s.sent = now
}

func (s *stream) write(text string) {
	if s.err != nil {
		return
	}
	// Writers without deadlines, as in tests, do not block.
	_ = s.control.SetWriteDeadline(time.Now().Add(eventTimeout))
	if _, s.err = io.WriteString(s.w, text); s.err == nil {
		s.err = s.control.Flush()
	}
}
