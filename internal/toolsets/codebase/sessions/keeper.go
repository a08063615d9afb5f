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
	// Idle is after how much time without a call a session is over.
	Idle = 30 * time.Minute

	mostWaiting = 1000   // of clients whose doings are not written yet
	mostKnown   = 10_000 // of clients whose session is known by heart
)

// Keeper is the witness of what clients do. It writes it down a moment later, so that no call waits for it.
type Keeper struct {
	open    func(ctx context.Context) (Store, error)
	now     func() time.Time
	writer  *batchwriter.Writer[doings]
	changes atomic.Uint64 // counts what was seen

	mu      sync.Mutex         // never held while somebody waits
	clients map[string]*client // by key
	told    time.Time          // until when Tell has told of sessions
	due     time.Time          // when it is to look again
}

// client is one that is at work.
type client struct {
	caller  engine.Caller
	started time.Time
	last    time.Time
	id      string // of its session, once that is written
	worked  bool   // it did something that is kept
}

var _ engine.Witness = (*Keeper)(nil)

// NewKeeper makes a keeper. Nothing is opened before a client has done something that is worth keeping.
func NewKeeper(open func(ctx context.Context) (Store, error), log *slog.Logger, now func() time.Time) *Keeper {
	k := &Keeper{open: open, now: now, clients: map[string]*client{}}
	k.writer = batchwriter.New(batchwriter.Options[doings]{
		Write: k.write, Max: mostKnown, Key: func(d doings) string { return d.Key }, Merge: mergeDoings,
		Log: log, Failure: "what clients do cannot be kept for now",
	})
	return k
}

// typed is the face of people who call tools from the command line.
const typed = "cli"

// keyOf tells clients apart: by their connection or, where none lasts, by who they are.
func keyOf(c engine.Caller) string {
	if c.Connection != "" {
		return c.Connection
	}
	return c.Principal + "\x00" + c.Face + "\x00" + c.Client
}

// Saw keeps the promise of engine.Witness.
func (k *Keeper) Saw(s engine.Seen) {
	d := doingOf(&s)
	if s.Caller.Face == typed {
		return // whoever types a command is not at work with an agent
	}
	if d == (doing{}) && s.Caller.Connection == "" {
		return // whoever has no connection begins with something worth keeping
	}
	if k.writer.Closed() {
		return
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	c := k.client(&s)
	if d == (doing{}) || c == nil {
		return
	}
	k.changes.Add(1)
	c.worked = true
	k.writer.Add(c.did(d, s.At))
}

// client finds who did something; nil if there are too many to remember. It is called with the lock held.
func (k *Keeper) client(s *engine.Seen) *client {
	key := keyOf(s.Caller)
	c := k.clients[key]
	switch {
	case c == nil && (len(k.clients) >= mostKnown && !k.forgetIdle(s.At) || k.writer.Len() >= mostWaiting):
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

// forgetIdle makes room by forgetting who has been idle for long; false if nobody has.
func (k *Keeper) forgetIdle(now time.Time) bool {
	before := len(k.clients)
	for key, c := range k.clients {
		if now.Sub(c.last) > Idle {
			delete(k.clients, key)
		}
	}
	return len(k.clients) < before
}

// Left keeps the promise of engine.Witness.
func (k *Keeper) Left(connection string) {
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

// Close writes what is left, within batchwriter.CloseTimeout and as long as ctx lasts. Sessions whose client has not left end by being idle.
func (k *Keeper) Close(ctx context.Context) { k.writer.Close(ctx) }

// write writes down what clients did. What cannot be written now is to be retried.
func (k *Keeper) write(ctx context.Context, all []doings) (retry []doings, err error) {
	store, err := k.open(ctx)
	for i := range all {
		if err == nil {
			err = k.writeOne(ctx, store, &all[i])
		}
		if err != nil {
			return all[i:], fmt.Errorf("keep sessions: %w", err)
		}
	}
	return nil, nil
}

// writeOne writes what one client did, which is empty then, and that it left.
func (k *Keeper) writeOne(ctx context.Context, store Store, d *doings) error {
	if len(d.Files)+len(d.Searches)+len(d.Tasks) > 0 {
		d.NewID = newID()
		session, err := store.Note(ctx, d.Noted)
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

func (k *Keeper) learn(key, id string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if c := k.clients[key]; c != nil {
		c.id = id
	}
}

// newID makes a random UUID.
func newID() string {
	var b [16]byte
	rand.Read(b[:]) // it never fails
	b[6], b[8] = b[6]&0x0f|0x40, b[8]&0x3f|0x80
	return fmt.Sprintf("%x-%x-%x-%x-%x", b[:4], b[4:6], b[6:8], b[8:10], b[10:])
}
