// Package webhook notifies a server of new approval requests. Messages in JSON are signed as
// Standard Webhooks specifies, so the receiver can verify the sender; Slack and ntfy get messages
// that they show as they are. The package does not accept decisions.
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
	maxQueued = 256 // the capacity of the queue
	// The timeout of one attempt, from the DNS lookup to the status.
	attemptTimeout = 10 * time.Second
	maxRetryTime   = 10 * time.Minute // the maximum time from the request to the last attempt
)

// pauseAfter returns how long to wait after a number of failed attempts, and false if the sender
// must give up.
func pauseAfter(attempts int) (time.Duration, bool) {
	pauses := [...]time.Duration{time.Second, 5 * time.Second, 30 * time.Second, 2 * time.Minute, 5 * time.Minute}
	if attempts > len(pauses) {
		return 0, false
	}
	return pauses[attempts-1], true
}

// Sender notifies one server. Its fields must not change after the first call. It starts no
// goroutine before the first request; its owner must call Close.
type Sender struct {
	URL    string // may contain a secret, so it is never logged
	Format Format // the zero Format is JSON
	Secret []byte // the signing key, if the format is signed; see ParseSecret
	// About returns the title of a tool, by its id, and whether its calls are destructive. Slack
	// and Ntfy need it.
	About func(tool string) (title string, destructive bool)
	Link  func(id string) string // returns the URL of the approval page; nil if there is none
	// Nil for a client with default settings; redirects are never followed.
	Client *http.Client
	Log    *slog.Logger
	Now    func() time.Time

	once    sync.Once
	client  *http.Client
	writer  *batchwriter.Writer[*message]
	closing atomic.Bool
	gone    atomic.Bool // the server answered 410
}

// message is the notification of one approval request.
type message struct {
	id       string
	header   http.Header
	body     []byte
	attempts int
	due      time.Time // the time of the next attempt
	until    time.Time // after this time only a first attempt is made
}

// Requested queues the notification of a new approval request. It never blocks: if the queue is
// full, it drops the message and logs that.
func (s *Sender) Requested(r approval.Request, shown approval.Shown) {
	s.once.Do(s.start)
	if s.gone.Load() {
		return // logged when the server answered 410
	}
	m := s.compose(r, shown)
	switch {
	case s.writer.Add(m):
	case s.closing.Load():
		s.giveUp(m, errShutdown)
	default:
		s.giveUp(m, errors.New("the queue is full"))
	}
}

// start creates the client and the writer.
func (s *Sender) start() {
	s.client = &http.Client{Transport: http.DefaultTransport.(*http.Transport).Clone()}
	if s.Client != nil {
		*s.client = *s.Client
	}
	// A redirect could send a signed message to any server.
	s.client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	s.writer = batchwriter.New(batchwriter.Options[*message]{
		Write: s.send, Max: maxQueued, Due: func(m *message) time.Time { return m.due }, Timeout: attemptTimeout,
	})
}

// Close gives every message that was never sent one attempt, within a short time, and stops the
// sender.
func (s *Sender) Close() {
	s.once.Do(s.start)
	s.closing.Store(true)
	for _, m := range s.writer.Close(context.Background()) {
		s.giveUp(m, errShutdown)
	}
	s.client.CloseIdleConnections()
}

var (
	errShutdown = errors.New("the server is shutting down")
	// errGone means that the server accepts no more messages.
	errGone = errors.New("the server answered 410: no more messages are sent")
)

// send sends the one message of a batch and schedules a retry if that fails.
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
		s.Log.Debug("webhook sent", "request", m.id, "host", s.host(), "attempts", m.attempts)
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
	s.Log.Warn("webhook failed; will retry", "request", m.id, "host", s.host(), "pause", pause, "error", err)
	return batch, nil
}

// tooLate returns why a message must not be sent any more, or nil.
func (s *Sender) tooLate(m *message) error {
	switch {
	case s.gone.Load():
		return errGone
	case m.attempts == 0:
		return nil
	case s.closing.Load():
		return errShutdown
	case s.Now().After(m.until):
		return errors.New("the time for retries has passed")
	}
	return nil
}

// giveUp logs that a message was dropped, without its content.
func (s *Sender) giveUp(m *message, err error) {
	s.Log.Error("webhook dropped; the approval request still waits",
		"request", m.id, "host", s.host(), "attempts", m.attempts, "error", err)
}

// host returns the part of the URL that may be logged.
func (s *Sender) host() string {
	u, err := url.Parse(s.URL)
	if err != nil {
		return "?"
	}
	return u.Host
}
