package jobs

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"time"

	"remit/internal/contract"
	"remit/internal/contract/jsontree"
	"remit/internal/engine"
)

// What a Runner does unless its fields say otherwise.
const (
	DefaultTTL     = 24 * time.Hour
	DefaultPoll    = 500 * time.Millisecond
	DefaultRunning = 32
)

// Runner runs the tasks of one engine. Its methods are safe for concurrent use.
type Runner struct {
	Engine *engine.Engine
	// Store is called for every access, so that nothing is opened before the
	// first; it opens once.
	Store func(ctx context.Context) (Store, error)
	// Place is what the tasks belong to: a workspace, an endpoint. Those of
	// another place in the same store are not found.
	Place   string
	Log     *slog.Logger     // nil: nothing is logged
	Now     func() time.Time // nil is time.Now
	TTL     time.Duration    // how long a task is kept; zero is DefaultTTL
	Poll    time.Duration    // how often clients should ask; zero is DefaultPoll
	Running int              // how many calls run at once, others wait; zero is DefaultRunning

	once  sync.Once
	slots chan struct{} // one for each call that may run at once

	busy     sync.WaitGroup // tasks that run, changes under way and watches
	mu       sync.Mutex
	closed   bool            // nothing new begins
	stopping bool            // what runs is to end
	running  map[string]*run // by the id of the task
	watches  map[*watch]struct{}
}

// known are the capabilities that a task remembers of its client.
var known = []engine.Capability{engine.Forms, engine.Links, engine.Sampling, engine.Roots, engine.Tasks}

// Start keeps call as a task, which runs on after ctx has ended, and returns it.
// answers are those of the rounds before; one to a guarded question counts only if
// the task put that question itself.
func (r *Runner) Start(ctx context.Context, call engine.Call, answers map[string]jsontree.Value, can func(engine.Capability) bool) (Task, error) {
	leave, err := r.enter()
	if err != nil {
		return Task{}, err
	}
	defer leave()
	t := r.newTask(&call, answers, can)
	store, err := r.Store(ctx)
	if err == nil {
		err = store.Add(ctx, t)
	}
	if err != nil {
		return Task{}, storeFailed(ctx, err)
	}
	t.Revision = 1
	r.launch(t)
	return t, nil
}

func (r *Runner) newTask(call *engine.Call, answers map[string]jsontree.Value, can func(engine.Capability) bool) Task {
	now := r.now()
	t := Task{
		ID: randomID(), Place: r.Place, Principal: call.Principal, Tool: call.Tool, Face: call.Face, Client: call.Client,
		Arguments: call.Args.Canonical(), CreatedAt: now, UpdatedAt: now, TTL: r.TTL, Poll: r.Poll,
		Round: call.Round,
	}
	if call.Key != "" {
		t.Round.Key = call.Key // for every run of it, in whichever process
	}
	if tool, err := r.Engine.Find(call.Tool); err == nil {
		t.Digest = tool.Digest
	}
	for _, c := range known {
		if can != nil && can(c) {
			t.Capabilities = append(t.Capabilities, c)
		}
	}
	for key, answer := range answers {
		t.take(key, answer)
	}
	claim(&t, now)
	return t
}

// Get returns a task of the principal. One that is unknown, somebody else's or
// expired is a contract.NotFound error.
func (r *Runner) Get(ctx context.Context, principal, id string) (Task, error) {
	r.prepare()
	t, err := r.current(ctx, id)
	if err != nil {
		return Task{}, err
	}
	if t.Principal != principal {
		return Task{}, NotFound(id)
	}
	return t, nil
}

// Update keeps answers to open questions of a task and ignores all others. When no
// question is open any more the task goes on. A final task stays as it is.
func (r *Runner) Update(ctx context.Context, principal, id string, answers map[string]jsontree.Value) error {
	leave, err := r.enter()
	if err != nil {
		return err
	}
	defer leave()
	t, changed, err := r.change(ctx, principal, id, func(t *Task, now time.Time) bool {
		if t.Status != InputRequired || !t.answer(answers) {
			return false
		}
		if len(t.Questions) == 0 {
			claim(t, now)
		} else {
			t.Message = waitsFor(len(t.Questions))
		}
		return true
	})
	if changed && t.Status == Working {
		r.launch(t)
	}
	return err
}

// answer takes the answers to open questions; false if there are none.
func (t *Task) answer(answers map[string]jsontree.Value) bool {
	open := len(t.Questions)
	t.Questions = slices.DeleteFunc(t.Questions, func(q engine.Question) bool {
		answer, ok := answers[q.Key]
		if ok {
			t.take(q.Key, answer)
		}
		return ok
	})
	return len(t.Questions) < open
}

// take keeps an answer. What came in belongs to the request, so it is copied.
func (t *Task) take(key string, answer jsontree.Value) {
	if t.Answers == nil {
		t.Answers = map[string]jsontree.Value{}
	}
	t.Answers[key] = answer.Clone()
}

// Cancel asks a task to stop. One that waits for answers is cancelled at once; one
// that runs ends as soon as its tool gives up, wherever it runs. A final task stays
// as it is.
func (r *Runner) Cancel(ctx context.Context, principal, id string) error {
	leave, err := r.enter()
	if err != nil {
		return err
	}
	defer leave()
	_, _, err = r.change(ctx, principal, id, func(t *Task, _ time.Time) bool {
		switch {
		case t.Status == InputRequired:
			t.cancel()
			return true
		case t.Status == Working && !t.CancelAsked:
			t.CancelAsked = true
			return true
		}
		return false
	})
	if err == nil {
		r.interrupt(id)
	}
	return err
}

// Close waits until ctx ends for the tasks that run here. What still runs then is
// cancelled and kept as failed. A task that waits for answers stays as it is.
// After Close nothing can be started, answered or cancelled here.
func (r *Runner) Close(ctx context.Context) error {
	r.prepare()
	r.mu.Lock()
	r.closed = true
	r.mu.Unlock()
	r.unwatchAll()

	idle := make(chan struct{})
	go func() {
		r.busy.Wait()
		close(idle)
	}()
	select {
	case <-idle:
		return nil
	case <-ctx.Done():
	}
	r.interruptAll()
	select {
	case <-idle:
		return nil
	case <-time.After(grace):
		return fmt.Errorf("tasks still run %s after they were told to stop", grace)
	}
}

// grace is how long a tool may take to notice that the server stops.
const grace = 5 * time.Second

func (r *Runner) prepare() {
	r.once.Do(func() {
		r.running = map[string]*run{}
		r.watches = map[*watch]struct{}{}
		r.Log = cmp.Or(r.Log, slog.New(slog.DiscardHandler))
		if r.Now == nil {
			r.Now = time.Now
		}
		r.TTL = cmp.Or(max(r.TTL, 0), DefaultTTL)
		r.Poll = cmp.Or(max(r.Poll, 0), DefaultPoll)
		r.Running = cmp.Or(max(r.Running, 0), DefaultRunning)
		r.slots = make(chan struct{}, r.Running)
	})
}

// enter makes Close wait until leave is called; an error if it is too late.
func (r *Runner) enter() (leave func(), err error) {
	r.prepare()
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed {
		return nil, contract.Errorf(contract.Unavailable, "The server is shutting down; try again")
	}
	r.busy.Add(1)
	return r.busy.Done, nil
}

// now is the time as stores keep it.
func (r *Runner) now() time.Time { return r.Now().UTC().Truncate(time.Microsecond) }

// randomID returns 128 bits that nobody can guess.
func randomID() string {
	var id [16]byte
	rand.Read(id[:]) // never fails
	return hex.EncodeToString(id[:])
}

// NotFound is the error of stores for a task that is not there.
func NotFound(id string) error {
	return contract.Errorf(contract.NotFound, "There is no task %s", id)
}

// storeFailed is what a caller is told of an error of the store.
func storeFailed(ctx context.Context, err error) error {
	if ctx.Err() != nil && errors.Is(err, ctx.Err()) {
		return err
	}
	if kind := contract.AsError(err).Kind; kind == contract.NotFound || kind == contract.Limited {
		return err
	}
	return contract.Errorf(contract.Unavailable, "Tasks cannot be reached right now; try again later").Because(err)
}

// current reads a task as it stands now: not if it is expired or of another place,
// and as failed if whoever ran it has stopped.
func (r *Runner) current(ctx context.Context, id string) (Task, error) {
	for {
		t, err := r.read(ctx, id)
		// A machine that slept may have let the lease of a task lapse that still runs here.
		if err != nil || !t.Lapsed(r.now()) || r.runsHere(id) {
			return t, err
		}
		t.fail(&engine.ProtocolError{Code: internalError, Message: "The server stopped while this task ran; start it again"})
		if kept, err := r.keep(ctx, &t); kept || err != nil {
			return t, err
		}
	}
}

func (r *Runner) read(ctx context.Context, id string) (Task, error) {
	store, err := r.Store(ctx)
	if err != nil {
		return Task{}, storeFailed(ctx, err)
	}
	t, err := store.Get(ctx, id)
	if err != nil {
		return Task{}, storeFailed(ctx, err)
	}
	if t.Place != r.Place || !r.now().Before(t.ExpiresAt()) {
		return Task{}, NotFound(id)
	}
	return t, nil
}

// change lets f change a task of the principal, again if somebody else changed it
// meanwhile. changed is what f said last.
func (r *Runner) change(ctx context.Context, principal, id string, f func(t *Task, now time.Time) bool) (t Task, changed bool, err error) {
	for {
		t, err := r.Get(ctx, principal, id)
		if err != nil || !f(&t, r.now()) {
			return t, false, err
		}
		if kept, err := r.keep(ctx, &t); kept || err != nil {
			return t, kept, err
		}
	}
}

// keep stores a changed task and tells who watches it; false if it is no longer
// what it was when it was read.
func (r *Runner) keep(ctx context.Context, t *Task) (bool, error) {
	// Later than before even if the clock is not: watches go by it.
	if now := r.now(); now.After(t.UpdatedAt) {
		t.UpdatedAt = now
	} else {
		t.UpdatedAt = t.UpdatedAt.Add(time.Microsecond)
	}
	return r.swap(ctx, t)
}

func (r *Runner) swap(ctx context.Context, t *Task) (bool, error) {
	store, err := r.Store(ctx)
	if err != nil {
		return false, storeFailed(ctx, err)
	}
	kept, err := store.Swap(ctx, *t)
	if err != nil {
		return false, storeFailed(ctx, err)
	}
	if kept {
		t.Revision++
		r.notify(t)
	}
	return kept, nil
}
