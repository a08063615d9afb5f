package sessions

import (
	"context"
	"crypto/rand"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"remit/internal/batchwriter"
	"remit/internal/engine"
)

const (
	// Idle is the time without a call after which a session ends.
	Idle = 30 * time.Minute

	maxWaiting = 1000   // clients with unwritten notes
	maxClients = 10_000 // clients kept in memory
)

// Recorder records what clients do. It writes in the background, so that no call waits for it.
type Recorder struct {
	open    func(ctx context.Context) (Store, error)
	now     func() time.Time
	writer  *batchwriter.Writer[pendingNote]
	changes atomic.Uint64 // number of recorded activities

	mu       sync.Mutex         // never held while waiting
	clients  map[string]*client // by key
	reported time.Time          // up to which activity Report has reported sessions
	due      time.Time          // when Report checks again
}

// client is a client of this process.
type client struct {
	caller  engine.Caller
	started time.Time
	last    time.Time
	id      string // of its session, once that is written
	worked  bool   // whether it did anything that is recorded
}

var _ engine.ActivityRecorder = (*Recorder)(nil)

// NewRecorder returns a recorder. It opens the store only when a client has done something that is
// recorded.
func NewRecorder(open func(ctx context.Context) (Store, error), log *slog.Logger, now func() time.Time) *Recorder {
	k := &Recorder{open: open, now: now, clients: map[string]*client{}}
	k.writer = batchwriter.New(batchwriter.Options[pendingNote]{
		Write: k.write, Max: maxClients, Key: func(d pendingNote) string { return d.Key }, Merge: mergeNotes,
		Log: log, Failure: "sessions cannot be stored for now",
	})
	return k
}

// cliFrontend is the front end of people who call tools from the command line.
const cliFrontend = "cli"

// keyOf identifies a client: by its connection or, if it has none that lasts, by who it is.
func keyOf(c engine.Caller) string {
	if c.Connection != "" {
		return c.Connection
	}
	return c.Principal + "\x00" + c.Frontend + "\x00" + c.Client
}

// Record implements engine.ActivityRecorder.
func (k *Recorder) Record(s engine.Activity) {
	d := activityOf(&s)
	if s.Caller.Frontend == cliFrontend {
		return // a person at the command line has no session
	}
	if d == (activity{}) && s.Caller.Connection == "" {
		return // a client without a connection starts with a recorded activity
	}
	if k.writer.Closed() {
		return
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	c := k.client(&s)
	if d == (activity{}) || c == nil {
		return
	}
	k.changes.Add(1)
	c.worked = true
	k.writer.Add(c.did(d, s.At))
}

// client returns the client of a call, or nil if there are too many. The caller must hold the lock.
func (k *Recorder) client(s *engine.Activity) *client {
	key := keyOf(s.Caller)
	c := k.clients[key]
	switch {
	case c == nil && (len(k.clients) >= maxClients && !k.forgetIdle(s.At) || k.writer.Len() >= maxWaiting):
		return nil
	case c == nil:
		c = &client{caller: s.Caller, started: s.At}
		k.clients[key] = c
	case s.At.Sub(c.last) > Idle:
		c.started, c.id = s.At, ""
	}
	if s.At.After(c.last) {
		c.last = s.At
	}
	return c
}

// forgetIdle removes clients that have been idle for long. It returns false if there are none.
func (k *Recorder) forgetIdle(now time.Time) bool {
	before := len(k.clients)
	for key, c := range k.clients {
		if now.Sub(c.last) > Idle {
			delete(k.clients, key)
		}
	}
	return len(k.clients) < before
}

// ConnectionClosed implements engine.ActivityRecorder.
func (k *Recorder) ConnectionClosed(connection string) {
	if k.writer.Closed() {
		return
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	c := k.clients[connection]
	if c == nil {
		return
	}
	if !c.worked {
		delete(k.clients, connection)
		return
	}
	left := c.noted()
	left.left = true
	k.writer.Add(left)
}

// Close writes what is left, limited by batchwriter.CloseTimeout and ctx. Sessions of clients that
// have not left end by being idle.
func (k *Recorder) Close(ctx context.Context) { k.writer.Close(ctx) }

// write writes notes. It returns those to be retried.
func (k *Recorder) write(ctx context.Context, all []pendingNote) (retry []pendingNote, err error) {
	store, err := k.open(ctx)
	for i := range all {
		if err == nil {
			err = k.writeOne(ctx, store, &all[i])
		}
		if err != nil {
			return all[i:], fmt.Errorf("store sessions: %w", err)
		}
	}
	return nil, nil
}

// writeOne writes what one client did, empties the note, and records that the client left.
func (k *Recorder) writeOne(ctx context.Context, store Store, d *pendingNote) error {
	if len(d.Files)+len(d.Searches)+len(d.Tasks) > 0 {
		d.NewID = newID()
		session, err := store.Note(ctx, d.Note)
		if err != nil {
			return err
		}
		d.Files, d.Searches, d.Tasks = nil, nil, nil
		k.learn(d.Key, session.ID)
	}
	if !d.left {
		return nil
	}
	if err := store.End(ctx, d.Key, k.now()); err != nil {
		return err
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	delete(k.clients, d.Key)
	return nil
}

func (k *Recorder) learn(key, id string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if c := k.clients[key]; c != nil {
		c.id = id
	}
}

// newID returns a random UUID.
func newID() string {
	var b [16]byte
	rand.Read(b[:]) // never fails
	b[6], b[8] = b[6]&0x0f|0x40, b[8]&0x3f|0x80
	return fmt.Sprintf("%x-%x-%x-%x-%x", b[:4], b[4:6], b[6:8], b[8:10], b[10:])
}
