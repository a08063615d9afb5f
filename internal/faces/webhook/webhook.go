// Package webhook tells a server of new approval requests, in words that it can check
// the sender of.
package webhook

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"net/url"
	"slices"
	"sync"
	"time"

	"remit/internal/engine/approval"
)

const (
	mostWaiting = 256              // messages that wait at once; nobody reads more
	attemptTime = 10 * time.Second // for one attempt, from the name of the host to the status
	farewell    = 2 * time.Second  // how long Close waits for what was never tried
	longest     = 10 * time.Minute // from the request to the last attempt
)

// pauseAfter is how long to wait after so many failed attempts; false to give up.
func pauseAfter(attempts int) (time.Duration, bool) {
	pauses := [...]time.Duration{time.Second, 5 * time.Second, 30 * time.Second, 2 * time.Minute, 5 * time.Minute}
	if attempts > len(pauses) {
		return 0, false
	}
	return pauses[attempts-1], true
}

// Sender tells one server, by the rules of Standard Webhooks. Fields do not change
// once it sends. Nothing runs before the first request; whoever owns it closes it.
type Sender struct {
	URL    string                 // it may hold a secret, and is never logged
	Secret []byte                 // what messages are signed with; see ParseSecret
	Link   func(id string) string // the page on which a person decides; nil if there is none
	Client *http.Client           // nil is one of its own; redirects are never followed
	Log    *slog.Logger
	Now    func() time.Time

	mu      sync.Mutex
	pending []*message
	client  *http.Client
	wake    chan struct{} // something is pending, or Close was called
	ended   chan struct{} // closed when the goroutine has ended; nil before it began
	cancel  context.CancelFunc
	closing bool
	gone    bool // the server wants to hear no more
}

// message is what one request is told with, as often as it takes.
type message struct {
	id       string
	body     []byte
	attempts int
	due      time.Time // of the next attempt
	until    time.Time // no attempt but the first is made later
}

// Requested tells the server of a new request, soon: it never waits. A message that
// there is no room for is given up, as the log then says.
func (s *Sender) Requested(r approval.Request) {
	m := s.compose(r)
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.gone:
		return // which was said when it became known
	case s.closing:
		s.giveUp(m, errors.New("the program ends"))
		return
	case len(s.pending) >= mostWaiting:
		s.giveUp(m, errors.New("too many messages wait already"))
		return
	}
	if s.ended == nil {
		s.start()
	}
	s.pending = append(s.pending, m)
	s.poke()
}

// start begins to send. The mutex is held.
func (s *Sender) start() {
	s.client = &http.Client{Transport: http.DefaultTransport.(*http.Transport).Clone()}
	if s.Client != nil {
		*s.client = *s.Client
	}
	// Who is redirected could be led anywhere, with a signed message.
	s.client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	s.wake, s.ended = make(chan struct{}, 1), make(chan struct{})
	ctx, cancel := context.WithCancel(context.Background())
	s.cancel = cancel
	go s.run(ctx)
}

// poke tells the goroutine to look again.
func (s *Sender) poke() {
	select {
	case s.wake <- struct{}{}:
	default: // it was told already
	}
}

// Close lets what was never tried be tried once, for a moment, and ends the sending.
func (s *Sender) Close() {
	s.mu.Lock()
	s.closing = true
	started := s.ended != nil
	s.mu.Unlock()
	if !started {
		return
	}
	s.poke()
	enough := time.AfterFunc(farewell, s.cancel)
	<-s.ended
	enough.Stop()
	s.cancel()
	s.client.CloseIdleConnections()
}

// run sends what is due until Close, one message after the other.
func (s *Sender) run(ctx context.Context) {
	defer close(s.ended)
	for {
		m, wait, over := s.next()
		switch {
		case over:
			return
		case m != nil:
			s.attempt(ctx, m)
			continue
		}
		timer := time.NewTimer(wait)
		select {
		case <-s.wake:
		case <-timer.C:
		}
		timer.Stop()
	}
}

// next takes the message that is due, or tells how long to wait for one. It is over
// when the sender closes and nothing is left that was never tried.
func (s *Sender) next() (m *message, wait time.Duration, over bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.dropTried()
	first := -1
	for i, m := range s.pending {
		if first < 0 || m.due.Before(s.pending[first].due) {
			first = i
		}
	}
	if first < 0 {
		return nil, longest, s.closing
	}
	m = s.pending[first]
	if wait := m.due.Sub(s.Now()); wait > 0 {
		return nil, wait, false
	}
	s.pending = append(s.pending[:first], s.pending[first+1:]...)
	return m, 0, false
}

// dropTried gives up what there is no time to try again. The mutex is held.
func (s *Sender) dropTried() {
	now := s.Now()
	s.pending = slices.DeleteFunc(s.pending, func(m *message) bool {
		switch {
		case m.attempts == 0:
			return false
		case s.closing:
			s.giveUp(m, errors.New("the program ends"))
		case now.After(m.until):
			s.giveUp(m, errors.New("others took the time for another attempt"))
		default:
			return false
		}
		return true
	})
}

// errGone is the answer of a server that wants to hear no more.
var errGone = errors.New("the server answered 410: it wants to hear no more")

// attempt sends a message, and sees to what comes next if that fails.
func (s *Sender) attempt(ctx context.Context, m *message) {
	m.attempts++
	err := s.post(ctx, m)
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case err == nil:
		s.Log.Debug("a webhook was sent", "request", m.id, "host", s.host(), "attempts", m.attempts)
		return
	case errors.Is(err, errGone):
		s.gone = true
		s.giveUp(m, err)
		for _, other := range s.pending {
			s.giveUp(other, err)
		}
		s.pending = nil
		return
	}
	pause, again := pauseAfter(m.attempts)
	m.due = s.Now().Add(pause)
	if !again || s.closing || m.due.After(m.until) {
		s.giveUp(m, err)
		return
	}
	s.Log.Warn("a webhook failed; it is tried again", "request", m.id, "host", s.host(), "pause", pause, "error", err)
	s.pending = append(s.pending, m)
}

// giveUp says so, but nothing of what the message says.
func (s *Sender) giveUp(m *message, err error) {
	s.Log.Error("a webhook was given up; the request waits all the same", "request", m.id, "host", s.host(), "attempts", m.attempts, "error", err)
}

// host is as much of the address as a log may show.
func (s *Sender) host() string {
	u, err := url.Parse(s.URL)
	if err != nil {
		return "?"
	}
	return u.Host
}
