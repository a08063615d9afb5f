package sessions

import (
	"context"
	"crypto/rand"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"remit/internal/engine"
)

const (
	// Idle is after how much time without a call a session is over.
	Idle = 30 * time.Minute

	keeperDelay  = 200 * time.Millisecond // what is seen within it is written together
	keeperWrite  = 5 * time.Second        // how long one write may take
	keeperFinish = time.Second            // how long the last may
	mostWaiting  = 1000                   // of clients whose doings are not written yet
	mostKnown    = 10_000                 // of clients whose session is known by heart
)

// Keeper is the witness of what clients do. It writes it down a moment later, so that no call waits for it.
type Keeper struct {
	open func(ctx context.Context) (Store, error)
	log  *slog.Logger
	now  func() time.Time

	mu      sync.Mutex
	clients map[string]*client // by key
	waiting []string           // keys of those with something to write, the one that waits longest first
	closed  bool
	running bool

	writing sync.Mutex    // held while something is written, so that it happens in order
	changes atomic.Uint64 // counts what was seen
	failing bool          // a failure was told of; held by writing
	fed     time.Time     // until when Changed has told of sessions; held by writing
	looked  time.Time     // when it last looked; held by writing

	wake   chan struct{}
	stop   chan struct{}
	done   chan struct{}
	ctx    context.Context // of writes; ends when the last of them has had its time
	cancel context.CancelFunc
}

// client is one that is at work.
type client struct {
	caller  engine.Caller
	started time.Time
	last    time.Time
	id      string // of its session, once that is written
	left    bool

	files, searches, tasks []Item // not written yet
}

var _ engine.Witness = (*Keeper)(nil)

// NewKeeper makes a keeper. Nothing is opened before a client has done something that is worth keeping.
func NewKeeper(open func(ctx context.Context) (Store, error), log *slog.Logger, now func() time.Time) *Keeper {
	ctx, cancel := context.WithCancel(context.Background())
	return &Keeper{
		open: open, log: log, now: now, clients: map[string]*client{},
		wake: make(chan struct{}, 1), stop: make(chan struct{}), done: make(chan struct{}), ctx: ctx, cancel: cancel,
	}
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
func (k *Keeper) Saw(s *engine.Seen) {
	d := doingOf(s)
	if s.Caller.Face == typed {
		return // whoever types a command is not at work with an agent
	}
	if d.kind == nothing && s.Caller.Connection == "" {
		return // whoever has no connection begins with something worth keeping
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.closed {
		return
	}
	c := k.client(s)
	if d.kind == nothing || c == nil {
		return
	}
	k.changes.Add(1)
	if len(c.files)+len(c.searches)+len(c.tasks) == 0 {
		k.waiting = append(k.waiting, keyOf(s.Caller))
	}
	c.add(d, s.At)
	k.rouse()
}

// client finds who did something; nil if there are too many to remember. It is called with the lock held.
func (k *Keeper) client(s *engine.Seen) *client {
	key := keyOf(s.Caller)
	c := k.clients[key]
	switch {
	case c == nil && (len(k.clients) >= mostKnown && !k.forgetIdle(s.At) || len(k.waiting) >= mostWaiting):
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
		if now.Sub(c.last) > Idle && !slices.Contains(k.waiting, key) {
			delete(k.clients, key)
		}
	}
	return len(k.clients) < before
}

// rouse lets the writer know. It is called with the lock held.
func (k *Keeper) rouse() {
	if !k.running {
		k.running = true
		go k.run()
	}
	select {
	case k.wake <- struct{}{}:
	default: // it is to wake already
	}
}

// Left keeps the promise of engine.Witness.
func (k *Keeper) Left(connection string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	c := k.clients[connection]
	if c == nil || k.closed {
		return
	}
	if c.id == "" && !slices.Contains(k.waiting, connection) { // it did nothing that was kept
		delete(k.clients, connection)
		return
	}
	c.left = true
	if !slices.Contains(k.waiting, connection) {
		k.waiting = append(k.waiting, connection)
	}
	k.rouse()
}

// run writes until it is stopped, and then once more.
func (k *Keeper) run() {
	defer close(k.done)
	for k.waits() {
		k.write(k.ctx, keeperWrite)
	}
	k.write(k.ctx, keeperFinish)
}

// waits for something to write and for more of it; false once stopped.
func (k *Keeper) waits() bool {
	select {
	case <-k.wake:
	case <-k.stop:
		return false
	}
	delay := time.NewTimer(keeperDelay)
	defer delay.Stop()
	select {
	case <-delay.C:
		return true
	case <-k.stop:
		return false
	}
}

// write writes down what waits. What cannot be written now waits again, but for the doings of those who left.
func (k *Keeper) write(ctx context.Context, most time.Duration) {
	k.writing.Lock()
	defer k.writing.Unlock()
	k.mu.Lock()
	keys := k.waiting
	k.waiting = nil
	k.mu.Unlock()
	if len(keys) == 0 {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, most)
	defer cancel()
	err := k.writeAll(ctx, keys)
	if err != nil && !k.failing {
		k.log.Log(ctx, k.severity(), "what clients do cannot be kept for now", "error", err)
	}
	k.failing = err != nil
}

// severity is how much it matters that something is not kept. At the end there is no time for what takes long, such as to
// make a new database, and nobody to mend it.
func (k *Keeper) severity() slog.Level {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.closed {
		return slog.LevelDebug
	}
	return slog.LevelWarn
}

func (k *Keeper) writeAll(ctx context.Context, keys []string) error {
	store, err := k.open(ctx)
	for i, key := range keys {
		if err == nil {
			err = k.writeOne(ctx, store, key)
		}
		if err != nil {
			k.waitAgain(keys[i:])
			return fmt.Errorf("keep sessions: %w", err)
		}
	}
	return nil
}

// waitAgain puts keys back before those that have come since.
func (k *Keeper) waitAgain(keys []string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	later := slices.DeleteFunc(k.waiting, func(key string) bool { return slices.Contains(keys, key) })
	k.waiting = append(slices.Clone(keys), later...)
}

// writeOne writes what one client did, and that it left.
func (k *Keeper) writeOne(ctx context.Context, store Store, key string) error {
	noted, left, ok := k.take(key)
	if !ok {
		return nil
	}
	if len(noted.Files)+len(noted.Searches)+len(noted.Tasks) > 0 {
		session, err := store.Note(ctx, noted)
		if err != nil {
			k.giveBack(key, &noted)
			return err
		}
		k.learn(key, session.ID)
	}
	if !left {
		return nil
	}
	if err := store.End(ctx, key, k.now()); err != nil {
		return err
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	delete(k.clients, key)
	return nil
}

// take empties what a client did.
func (k *Keeper) take(key string) (n Noted, left, ok bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	c := k.clients[key]
	if c == nil {
		return n, false, false
	}
	n = Noted{
		Key: key, NewID: newID(), Principal: c.caller.Principal, Client: c.caller.Client, Started: c.started, At: c.last, Idle: Idle,
		Files: c.files, Searches: c.searches, Tasks: c.tasks,
	}
	c.files, c.searches, c.tasks = nil, nil, nil
	return n, c.left, true
}

// giveBack lets what could not be written wait again, before what was done since.
func (k *Keeper) giveBack(key string, n *Noted) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if c := k.clients[key]; c != nil {
		c.files = append(n.Files, c.files...)
		c.searches = append(n.Searches, c.searches...)
		c.tasks = append(n.Tasks, c.tasks...)
	}
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

// Own names the session of a caller; "" if there is none yet. Whoever has no connection may be in one of another process.
func (k *Keeper) Own(ctx context.Context, caller engine.Caller) string {
	if id := k.known(keyOf(caller)); id != "" || caller.Connection != "" {
		return id
	}
	store, err := k.open(ctx)
	if err != nil {
		return ""
	}
	session, ok, err := store.Current(ctx, keyOf(caller), k.now(), Idle)
	if err != nil || !ok {
		return ""
	}
	k.learn(keyOf(caller), session.ID)
	return session.ID
}

func (k *Keeper) known(key string) string {
	k.mu.Lock()
	defer k.mu.Unlock()
	if c := k.clients[key]; c != nil {
		return c.id
	}
	return ""
}

// Stamp changes whenever a client of this process does something that is kept.
func (k *Keeper) Stamp() uint64 { return k.changes.Load() }

// Current gives the session of a caller with all that was seen so far; false if there is none.
func (k *Keeper) Current(ctx context.Context, caller engine.Caller) (Session, bool, error) {
	store, err := k.upToDate(ctx)
	if err != nil {
		return Session{}, false, err
	}
	return store.Current(ctx, keyOf(caller), k.now(), Idle)
}

// Recent gives the sessions that were active last, the last first.
func (k *Keeper) Recent(ctx context.Context, limit int) ([]Session, error) {
	store, err := k.upToDate(ctx)
	if err != nil {
		return nil, err
	}
	return store.Recent(ctx, limit)
}

// upToDate writes down what waits, and gives the store.
func (k *Keeper) upToDate(ctx context.Context) (Store, error) {
	k.write(ctx, keeperWrite)
	store, err := k.open(ctx)
	if err != nil {
		return nil, fmt.Errorf("open the sessions: %w", err)
	}
	return store, nil
}

const (
	mostChanged = 100              // sessions that Changed looks at
	lookEvery   = 10 * time.Second // how often it does
)

// Changed gives the sessions that were active since it was called before, the first time all that are kept. It is for those
// who ask again and again: nobody is told of a session more often than every few seconds.
func (k *Keeper) Changed(ctx context.Context) ([]Session, error) {
	if !k.dueToLook() {
		return nil, nil
	}
	recent, err := k.Recent(ctx, mostChanged)
	if err != nil {
		return nil, err
	}
	k.writing.Lock()
	defer k.writing.Unlock()
	known := k.fed
	if len(recent) > 0 {
		k.fed = recent[0].Last
	}
	return slices.DeleteFunc(recent, func(s Session) bool { return s.Last.Before(known) }), nil
}

func (k *Keeper) dueToLook() bool {
	k.writing.Lock()
	defer k.writing.Unlock()
	now := k.now()
	if now.Sub(k.looked) < lookEvery {
		return false
	}
	k.looked = now
	return true
}

// Close writes what is left, within a second and as long as ctx lasts. Sessions whose client has not left end by being idle.
func (k *Keeper) Close(ctx context.Context) {
	k.mu.Lock()
	again, running := k.closed, k.running
	k.closed = true
	k.mu.Unlock()
	if again {
		return
	}
	close(k.stop)
	defer k.cancel()
	if !running {
		return
	}
	select {
	case <-k.done:
	case <-ctx.Done():
		k.cancel()
		<-k.done
	}
}
