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

// The defaults of a Runner.
const (
	DefaultTTL     = 24 * time.Hour
	DefaultPoll    = 500 * time.Millisecond
	DefaultRunning = 32
)

// Runner runs the tasks of one engine. Its methods are safe for concurrent use.
type Runner struct {
	Engine *engine.Engine
	// Store returns the store. The Runner calls it for every access, so that nothing is opened
	// before the first one; it must open the store only once.
	Store func(ctx context.Context) (Store, error)
	// Workspace is what the tasks belong to: a workspace, an endpoint. Tasks of another place in
	// the same store are not found.
	Workspace string
	Log       *slog.Logger     // nil: nothing is logged
	Now       func() time.Time // nil is time.Now
	TTL       time.Duration    // how long a task is stored; zero is DefaultTTL
	Poll      time.Duration    // how often clients should poll; zero is DefaultPoll
	Running   int              // how many calls run at once, others wait; zero is DefaultRunning

	once  sync.Once
	slots chan struct{} // one for each call that may run at once

	busy     sync.WaitGroup // running tasks, changes and watches
	mu       sync.Mutex
	closed   bool            // nothing new may start
	stopping bool            // running tasks must end
	running  map[string]*run // by the id of the task
	watches  map[*watch]struct{}
}

// knownCapabilities are the capabilities of the client that a task stores.
var knownCapabilities = []engine.Capability{engine.Forms, engine.Links, engine.Sampling, engine.Roots, engine.Tasks}

// Start stores call as a task, which continues after ctx has ended, and returns it. answers are
// those of earlier attempts; one to a guarded question counts only if the task itself asked it.
func (r *Runner) Start(ctx context.Context, call engine.Call, answers map[string]jsontree.Value,
	can func(engine.Capability) bool,
) (Task, error) {
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
		ID: randomID(), Workspace: r.Workspace, Principal: call.Principal, Tool: call.Tool, Frontend: call.Frontend, Client: call.Client,
		Arguments: call.Args.Canonical(), CreatedAt: now, UpdatedAt: now, TTL: r.TTL, Poll: r.Poll,
		Continuation: call.Continuation,
	}
	if owner := call.Owner(); owner != call.Principal {
		t.Continuation.Owner = owner
	}
	if call.Key != "" {
		t.Continuation.Key = call.Key // for every run of the task, in whichever process
	}
	if tool, err := r.Engine.Find(call.Tool); err == nil {
		t.Digest = tool.Digest
	}
	for _, c := range knownCapabilities {
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

// Get returns a task of the owner; see engine.Call.Owner. If it is unknown, expired or belongs to
// somebody else, the error is a contract.NotFound.
func (r *Runner) Get(ctx context.Context, owner, id string) (Task, error) {
	r.prepare()
	t, err := r.current(ctx, id)
	if err != nil {
		return Task{}, err
	}
	if cmp.Or(t.Continuation.Owner, t.Principal) != owner {
		return Task{}, NotFound(id)
	}
	return t, nil
}

// Update stores answers to open questions of a task and ignores all others. When no question is
// open any more, the task continues. A final task stays unchanged.
func (r *Runner) Update(ctx context.Context, owner, id string, answers map[string]jsontree.Value) error {
	leave, err := r.enter()
	if err != nil {
		return err
	}
	defer leave()
	t, changed, err := r.change(ctx, owner, id, func(t *Task, now time.Time) bool {
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

// answer stores the answers to open questions; false if there are none.
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

// take stores a copy of an answer, because the original belongs to the request.
func (t *Task) take(key string, answer jsontree.Value) {
	if t.Answers == nil {
		t.Answers = map[string]jsontree.Value{}
	}
	t.Answers[key] = answer.Clone()
}

// Cancel asks a task to stop. A task that waits for answers is cancelled at once. A running one
// ends as soon as its tool stops, in whichever process. A final task stays unchanged.
func (r *Runner) Cancel(ctx context.Context, owner, id string) error {
	leave, err := r.enter()
	if err != nil {
		return err
	}
	defer leave()
	_, _, err = r.change(ctx, owner, id, func(t *Task, _ time.Time) bool {
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

// Close waits until ctx ends for the tasks that run here. It then cancels those that still run,
// which are stored as failed. A task that waits for answers stays unchanged. After Close nothing
// can be started, answered or cancelled here.
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
		return fmt.Errorf("tasks still run %s after they were stopped", grace)
	}
}

// grace is how long a tool may take to stop when the server shuts down.
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

// enter makes Close wait until leave is called. It returns an error if the Runner is closed.
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

// now returns the time with the precision of stores.
func (r *Runner) now() time.Time { return r.Now().UTC().Truncate(time.Microsecond) }

// randomID returns 128 random bits, which nobody can guess.
func randomID() string {
	var id [16]byte
	rand.Read(id[:]) // never fails
	return hex.EncodeToString(id[:])
}

// NotFound returns the error of stores for a task that does not exist.
func NotFound(id string) error {
	return contract.Errorf(contract.NotFound, "There is no task %s", id)
}

// storeFailed converts an error of the store to the one for the caller.
func storeFailed(ctx context.Context, err error) error {
	if ctx.Err() != nil && errors.Is(err, ctx.Err()) {
		return err
	}
	if kind := contract.AsError(err).Kind; kind == contract.NotFound || kind == contract.Limited {
		return err
	}
	return contract.Errorf(contract.Unavailable, "The task store cannot be reached right now; try again later").Because(err)
}

// current returns the current state of a task. A task that has expired or belongs to another
// workspace is not found. If the process that ran the task has stopped, current marks the task as
// failed.
func (r *Runner) current(ctx context.Context, id string) (Task, error) {
	for {
		t, err := r.read(ctx, id)
		// After the machine was suspended, the lease of a task may have lapsed although it still
		// runs here.
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
	if t.Workspace != r.Workspace || !r.now().Before(t.ExpiresAt()) {
		return Task{}, NotFound(id)
	}
	return t, nil
}

// change applies f to a task of the owner, again if the task was changed meanwhile. changed is
// the last result of f.
func (r *Runner) change(ctx context.Context, owner, id string, f func(t *Task, now time.Time) bool) (t Task, changed bool, err error) {
	for {
		t, err := r.Get(ctx, owner, id)
		if err != nil || !f(&t, r.now()) {
			return t, false, err
		}
		if kept, err := r.keep(ctx, &t); kept || err != nil {
			return t, kept, err
		}
	}
}

// keep stores a changed task and notifies its watches; false if the task was changed since it was
// read.
func (r *Runner) keep(ctx context.Context, t *Task) (bool, error) {
	// The time must grow even if the clock does not, because watches compare it.
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
