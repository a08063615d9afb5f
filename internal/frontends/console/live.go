package console

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"net/http"
	"runtime/debug"
	"strconv"
	"sync"
	"time"

	"remit/internal/contract"
	"remit/internal/engine/approval"
)

// How pages are kept up to date.
const (
	lookEvery    = 500 * time.Millisecond // while anybody listens
	aliveEvery   = 15 * time.Second       // a sign of life, and a look at the session
	eventTimeout = 30 * time.Second       // for a browser to take an event in
	maxListeners = 200
	maxOfSession = 20  // so that nobody takes them all
	maxCounted   = 100 // waiting requests; more are not told apart
)

// state is what pages follow.
type state struct {
	Waiting   int    // requests for approval; no more than maxCounted
	Approvals string // tells one list of them from another; "" if they cannot be counted
	Calls     uint64 // grows with every call
}

// Count is how many requests wait, as pages show it.
func (s state) Count() string {
	switch {
	case s.Approvals == "":
		return "?"
	case s.Waiting >= maxCounted:
		return strconv.Itoa(maxCounted-1) + "+"
	}
	return strconv.Itoa(s.Waiting)
}

// lookNow finds out how things stand, whichever process changed them. No request waits for it that could fail instead, so whatever
// breaks must not end the server.
func (c *Console) lookNow(ctx context.Context) (now state) {
	defer func() {
		if p := recover(); p != nil {
			c.Log.Error("how things stand cannot be told", "panic", p, "stack", string(debug.Stack()))
		}
	}()
	if c.Calls != nil {
		if err := c.Calls.Refresh(ctx); err != nil {
			c.Log.Debug("the record of calls cannot be followed", "error", err)
		}
		now.Calls = c.Calls.Version()
	}
	waiting, err := c.waiting(ctx, maxCounted)
	if err != nil {
		c.Log.Debug("the waiting approvals cannot be counted", "error", err) // /health and the overview tell it too
		return now
	}
	h := sha256.New()
	for _, r := range waiting {
		_, _ = io.WriteString(h, r.ID+"\n")
	}
	now.Waiting, now.Approvals = len(waiting), hex.EncodeToString(h.Sum(nil)[:8])
	return now
}

// waiting are the requests that wait for a person, newest first.
func (c *Console) waiting(ctx context.Context, most int) ([]approval.Request, error) {
	store, err := c.openApprovals(ctx)
	if err != nil {
		return nil, err
	}
	return store.List(ctx, approval.ListOptions{Limit: most, Now: c.Now()})
}

func (c *Console) openApprovals(ctx context.Context) (approval.Store, error) {
	store, err := c.Approvals(ctx)
	if err != nil {
		return nil, fmt.Errorf("open the approvals: %w", err)
	}
	return store, nil
}

// hub lets one goroutine look for all pages that are open.
type hub struct {
	mu        sync.Mutex
	listeners map[chan struct{}]string // each is woken when something changed; the session it is of
	now       state
	signOuts  int    // how many there were: after each, listeners look at their own session
	ended     bool   // the server ends
	stop      func() // ends the one that looks and waits for it; nil if nobody does
}

// join adds a listener of a session. The first one starts the looking.
func (h *hub) join(session string, look func(context.Context) state) (chan struct{}, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	switch {
	case h.ended:
		return nil, contract.Errorf(contract.Unavailable, "The server ends")
	case len(h.listeners) >= maxListeners:
		return nil, crowded(maxListeners, "pages follow")
	case h.of(session) >= maxOfSession:
		return nil, crowded(maxOfSession, "pages of yours follow")
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
			h.watch(ctx, look)
		}()
	}
	return wake, nil
}

func crowded(most int, who string) error {
	return contract.Errorf(contract.Limited, "%d %s what happens already; close some", most, who).With("retry_after", 10)
}

// of is how many listeners a session has. The mutex is held.
func (h *hub) of(session string) (n int) {
	for _, one := range h.listeners {
		if one == session {
			n++
		}
	}
	return n
}

// leave removes a listener. The last one ends the looking.
func (h *hub) leave(wake chan struct{}) {
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

// watch looks again and again, and wakes the listeners when something changed.
func (h *hub) watch(ctx context.Context, look func(context.Context) state) {
	tick := time.NewTicker(lookEvery)
	defer tick.Stop()
	for {
		now := look(ctx)
		if ctx.Err() != nil {
			return
		}
		h.change(func() bool { changed := h.now != now; h.now = now; return changed })
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

// change changes the hub and wakes every listener if that matters to them.
func (h *hub) change(apply func() bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if !apply() {
		return
	}
	for wake := range h.listeners {
		select {
		case wake <- struct{}{}:
		default: // it was woken, and has yet to look
		}
	}
}

// read is what a listener goes by.
func (h *hub) read() (now state, signOuts int, ended bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.now, h.signOuts, h.ended
}

// EndStreams ends what would go on for ever, for a server that ends.
func (c *Console) EndStreams() {
	c.live.change(func() bool { c.live.ended = true; return true })
}

const (
	eventsPath  = "/console/events"
	eventStream = "text/event-stream"
	endEvent    = "event: end\ndata: signed out\n\n" // the session is over
)

// follows tells whether the request is that of a page that follows what happens. All it
// can hear is an event: after any other status it would only ask again, for ever.
func (v *visit) follows() bool {
	return v.r.URL.Path == eventsPath && v.r.Header.Get("Accept") == eventStream
}

// events tells a page when something changed, for as long as the session lasts.
func (v *visit) events() error {
	secret, _ := v.cookie(v.r)
	wake, err := v.live.join(secret, v.lookNow)
	if err != nil {
		return err
	}
	defer v.live.leave(wake)
	v.w.Header().Set("Content-Type", eventStream)
	v.w.Header().Set("X-Accel-Buffering", "no") // a proxy that collects answers would hold events back
	stream := stream{w: v.w, control: http.NewResponseController(v.w)}
	_, signOuts, _ := v.live.read()
	stream.tell(v.lookNow(v.r.Context()), true)
	alive := time.NewTicker(aliveEvery)
	defer alive.Stop()
	for stream.err == nil {
		check := false
		select {
		case <-v.lasting.Done():
			return nil
		case <-alive.C:
			check = true
			stream.write(": still here\n\n")
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
		stream.tell(now, false)
	}
	return nil // the browser is gone
}

// stillSignedIn looks the session up again. Only a session that is over ends a stream:
// a store that fails for a moment does not.
func (v *visit) stillSignedIn() bool {
	_, err := v.signedIn(v.r.WithContext(v.lasting))
	return err == nil || contract.AsError(err).Kind == contract.Unavailable
}

// stream writes server-sent events until that fails.
type stream struct {
	w       io.Writer
	control *http.ResponseController
	sent    state
	err     error
}

// tell sends what changed since the last time, or everything; nothing of requests that
// cannot be counted.
func (s *stream) tell(now state, everything bool) {
	if now.Approvals != "" && (everything || now.Approvals != s.sent.Approvals) {
		s.write(fmt.Sprintf("event: approvals\ndata: {\"mark\":%q,\"count\":%q}\n\n", now.Approvals, now.Count()))
	}
	if everything || now.Calls != s.sent.Calls {
		s.write(fmt.Sprintf("event: calls\ndata: {\"mark\":\"%d\"}\n\n", now.Calls))
	}
	s.sent = now
}

func (s *stream) write(text string) {
	if s.err != nil {
		return
	}
	_ = s.control.SetWriteDeadline(time.Now().Add(eventTimeout)) // where there is no deadline to set, nobody waits
	if _, s.err = io.WriteString(s.w, text); s.err == nil {
		s.err = s.control.Flush()
	}
}
