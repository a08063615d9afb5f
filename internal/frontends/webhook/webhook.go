// Package webhook tells a server of new approval requests, in words that it can check
// the sender of.
package webhook

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"net/url"
	"sync"
	"sync/atomic"
	"time"

	"remit/internal/batchwriter"
	"remit/internal/engine/approval"
)

const (
	mostWaiting = 256              // messages that wait at once; nobody reads more
	attemptTime = 10 * time.Second // for one attempt, from the name of the host to the status
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

	once    sync.Once
	client  *http.Client
	writer  *batchwriter.Writer[*message]
	closing atomic.Bool
	gone    atomic.Bool // the server wants to hear no more
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
	s.once.Do(s.start)
	if s.gone.Load() {
		return // which was said when it became known
	}
	m := s.compose(r)
	switch {
	case s.writer.Add(m):
	case s.closing.Load():
		s.giveUp(m, errEnd)
	default:
		s.giveUp(m, errors.New("too many messages wait already"))
	}
}

// start makes the client and the writer.
func (s *Sender) start() {
	s.client = &http.Client{Transport: http.DefaultTransport.(*http.Transport).Clone()}
	if s.Client != nil {
		*s.client = *s.Client
	}
	// Who is redirected could be led anywhere, with a signed message.
	s.client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	s.writer = batchwriter.New(batchwriter.Options[*message]{
		Write: s.send, Max: mostWaiting, Due: func(m *message) time.Time { return m.due }, Timeout: attemptTime,
	})
}

// Close lets what was never tried be tried once, for a moment, and ends the sending.
func (s *Sender) Close() {
	s.once.Do(s.start)
	s.closing.Store(true)
	for _, m := range s.writer.Close(context.Background()) {
		s.giveUp(m, errEnd)
	}
	s.client.CloseIdleConnections()
}

var (
	errEnd = errors.New("the program ends")
	// errGone is the answer of a server that wants to hear no more.
	errGone = errors.New("the server answered 410: it wants to hear no more")
)

// send sends the one message of a batch, and sees to what comes next if that fails.
func (s *Sender) send(ctx context.Context, batch []*message) (retry []*message, _ error) {
	m := batch[0]
	if err := s.tooLate(m); err != nil {
		s.giveUp(m, err)
		return nil, nil
	}
	m.attempts++
	err := s.post(ctx, m)
	switch {
	case err == nil:
		s.Log.Debug("a webhook was sent", "request", m.id, "host", s.host(), "attempts", m.attempts)
		return nil, nil
	case errors.Is(err, errGone):
		s.gone.Store(true)
		for _, m := range append(batch, s.writer.Drain()...) {
			s.giveUp(m, err)
		}
		return nil, nil
	}
	pause, again := pauseAfter(m.attempts)
	m.due = s.Now().Add(pause)
	if !again || s.closing.Load() || m.due.After(m.until) {
		s.giveUp(m, err)
		return nil, nil
	}
	s.Log.Warn("a webhook failed; it is tried again", "request", m.id, "host", s.host(), "pause", pause, "error", err)
	return batch, nil
}

// tooLate tells why a message is not sent any more; nil if it is.
func (s *Sender) tooLate(m *message) error {
	switch {
	case s.gone.Load():
		return errGone
	case m.attempts == 0:
		return nil
	case s.closing.Load():
		return errEnd
	case s.Now().After(m.until):
		return errors.New("others took the time for another attempt")
	}
	return nil
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
