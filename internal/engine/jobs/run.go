package jobs

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"slices"
	"sync"
	"time"

	"remit/internal/contract"
	"remit/internal/contract/jsontree"
	"remit/internal/engine"
)

// A lease is long enough that a busy machine can renew it in time, and short enough that a client
// soon learns that a server has stopped.
const (
	leaseLength = 20 * time.Second
	leaseRenew  = 5 * time.Second // this long after the last renewal
	leaseCheck  = time.Second     // how often the owner checks whether it must stop
)

// storeTimeout is how long one access to the store may take where no caller waits.
const storeTimeout = 10 * time.Second

// internalError is the JSON-RPC code of an internal error.
const internalError = -32603

// These errors say why a running call must stop.
var (
	errCancelled = errors.New("the task was cancelled")
	errClosed    = errors.New("the server is shutting down")
	errLost      = errors.New("the task no longer belongs to this run")
)

// ending applies the outcome of a run to its task.
type ending func(t *Task)

// run is one run of a task in this process.
type run struct {
	id    string
	owner string // as in the lease; unique for each run
	stop  context.CancelCauseFunc
}

// claim marks t as running in this process, with a new owner and lease.
func claim(t *Task, now time.Time) {
	t.Status, t.Message = Working, ""
	t.Owner, t.LeaseUntil = randomID(), now.Add(leaseLength)
}

// launch runs a task that was claimed. It must be called between enter and leave.
func (r *Runner) launch(t Task) {
	// The task does not depend on the request.
	ctx, stop := context.WithCancelCause(context.Background())
	this := &run{id: t.ID, owner: t.Owner, stop: stop}
	r.mu.Lock()
	r.running[t.ID] = this
	if r.stopping {
		stop(errClosed)
	}
	r.mu.Unlock()
	r.busy.Go(func() {
		defer r.forget(this)
		r.run(ctx, this, &t)
	})
}

// forget ends a run. The next run of the same task may have begun already.
func (r *Runner) forget(this *run) {
	this.stop(nil)
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.running[this.id] == this {
		delete(r.running, this.id)
	}
}

func (r *Runner) runsHere(id string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.running[id] != nil
}

// interrupt cancels a task if it runs here.
func (r *Runner) interrupt(id string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if this := r.running[id]; this != nil {
		this.stop(errCancelled)
	}
}

// interruptAll stops all running tasks, and those that start later.
func (r *Runner) interruptAll() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.stopping = true
	for _, this := range r.running {
		this.stop(errClosed)
	}
}

// run runs the call of a task and stores its outcome. It holds the lease until then.
func (r *Runner) run(ctx context.Context, this *run, t *Task) {
	holding, release := context.WithCancel(context.Background())
	var held sync.WaitGroup
	held.Go(func() { r.holdLease(holding, this) })
	r.finish(this, r.call(ctx, t))
	release()
	held.Wait()
}

// holdLease renews the lease until ctx ends, and stops the run if the task is cancelled.
func (r *Runner) holdLease(ctx context.Context, this *run) {
	readCurrent := time.NewTicker(leaseCheck)
	defer readCurrent.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-readCurrent.C:
		}
		t, err := r.owned(ctx, this)
		switch {
		case errors.Is(err, errLost):
			this.stop(errLost)
			return
		case err != nil && ctx.Err() == nil:
			r.Log.Warn("cannot read the lease of a task", "task", this.id, "error", err)
		case err == nil:
			if t.CancelAsked {
				this.stop(errCancelled)
			}
			r.renew(ctx, &t)
		}
	}
}

// renew extends the lease of a task, if it is time to.
func (r *Runner) renew(ctx context.Context, t *Task) {
	now := r.now()
	if t.LeaseUntil.Sub(now) > leaseLength-leaseRenew {
		return
	}
	t.LeaseUntil = now.Add(leaseLength)
	// If somebody else changed the task meanwhile, the next check renews it.
	if _, err := r.swap(ctx, t); err != nil && ctx.Err() == nil {
		r.Log.Warn("cannot renew the lease of a task", "task", t.ID, "error", err)
	}
}

// owned reads the task of a run; errLost if it no longer belongs to this run.
func (r *Runner) owned(ctx context.Context, this *run) (Task, error) {
	ctx, cancel := context.WithTimeout(ctx, storeTimeout)
	defer cancel()
	t, err := r.read(ctx, this.id)
	switch {
	case err != nil && contract.AsError(err).Kind == contract.NotFound:
		return t, errLost
	case err == nil && (t.Status != Working || t.Owner != this.owner):
		return t, errLost
	}
	return t, err
}

// call waits for a free slot and runs the call of a task once.
func (r *Runner) call(ctx context.Context, t *Task) (end ending) {
	defer func() {
		if fault := recover(); fault != nil {
			r.Log.Error("panic in a task", "task", t.ID, "tool", t.Tool, "panic", fmt.Sprint(fault), "stack", string(debug.Stack()))
			end = failed("Internal error")
		}
	}()
	select {
	case r.slots <- struct{}{}:
		defer func() { <-r.slots }()
	case <-ctx.Done():
	}
	if ctx.Err() != nil {
		return stopped(ctx)
	}
	call, err := r.callOf(t)
	if err != nil {
		return failed(contract.AsError(err).Message)
	}
	result, err := r.Engine.Call(ctx, call)
	if err != nil {
		return failed(contract.AsError(err).Message)
	}
	return outcome(ctx, &result)
}

// callOf returns the call of a task for the engine, with all answers so far.
func (r *Runner) callOf(t *Task) (engine.Call, error) {
	tool, err := r.Engine.Find(t.Tool)
	if err != nil {
		return engine.Call{}, err
	}
	if tool.Digest != t.Digest { // a person approved the call under that contract
		return engine.Call{}, contract.Errorf(contract.Conflict,
			"The contract of %s has changed since this task began; start it again", t.Tool)
	}
	args, err := jsontree.Parse(t.Arguments)
	if err != nil {
		return engine.Call{}, fmt.Errorf("parse task arguments: %w", err)
	}
	return engine.Call{
		Tool: t.Tool, Args: args, Principal: t.Principal, Frontend: t.Frontend, Client: t.Client, Continuation: t.Continuation,
		Dialogue: t.Continuation.Dialogue,
		Peer: &engine.DeferredPeer{
			Answers: t.Answers,
			Asked:   func(key string) bool { return slices.Contains(t.Asked, key) },
			Client:  func(c engine.Capability) bool { return slices.Contains(t.Capabilities, c) },
		},
	}, nil
}

// outcome returns the ending for the result of a call.
func outcome(ctx context.Context, result *engine.Result) ending {
	var fault *engine.ProtocolError
	switch {
	case result.Suspended != nil && !result.Suspended.Task:
		return asked(result.Suspended)
	case result.Suspended != nil:
		return failed("Internal error") // a task cannot become a task again
	case result.Err == nil:
		return completed(result)
	case ctx.Err() != nil && errors.Is(result.Err, context.Canceled):
		return stopped(ctx)
	case errors.As(result.Err, &fault):
		return func(t *Task) { t.fail(fault) }
	default:
		return completed(result)
	}
}

func completed(result *engine.Result) ending {
	return func(t *Task) {
		t.end(Completed, "")
		t.Body, t.Content, t.IsError = result.Body, result.Content, result.Err != nil
	}
}

// asked makes the task wait for answers. While it waits, the task is only in the store and uses no
// memory of this process.
func asked(need *engine.Suspension) ending {
	return func(t *Task) {
		if t.CancelAsked {
			t.cancel()
			return
		}
		t.end(InputRequired, waitsFor(len(need.Questions)))
		t.Questions, t.Continuation = need.Questions, need.Next
		for _, q := range need.Questions {
			if !slices.Contains(t.Asked, q.Key) {
				t.Asked = append(t.Asked, q.Key)
			}
		}
	}
}

func waitsFor(answers int) string {
	if answers == 1 {
		return "Waits for an answer"
	}
	return fmt.Sprintf("Waits for %d answers", answers)
}

// failed ends a task with an internal error.
func failed(message string) ending {
	return func(t *Task) { t.fail(&engine.ProtocolError{Code: internalError, Message: message}) }
}

// stopped ends a task that was stopped, depending on the cause.
func stopped(ctx context.Context) ending {
	if errors.Is(context.Cause(ctx), errClosed) {
		return failed("The server was shut down while this task ran; start it again")
	}
	return (*Task).cancel
}

func (t *Task) cancel() { t.end(Cancelled, "The task was cancelled") }

func (t *Task) fail(fault *engine.ProtocolError) {
	t.end(Failed, fault.Message)
	t.Fault = fault
}

// end sets a status in which nobody runs the task, and gives up the lease.
func (t *Task) end(s Status, message string) {
	t.Status, t.Message, t.Questions = s, message, nil
	t.Owner, t.LeaseUntil = "", time.Time{}
}

// finish stores how a run ended. If the store stays unreachable, the lease of the task lapses.
func (r *Runner) finish(this *run, end ending) {
	const tries = 3
	for i := range tries {
		err := r.conclude(this, end)
		if err == nil {
			return
		}
		r.Log.Error("cannot store the outcome of a task", "task", this.id, "try", i+1, "error", err)
		if i < tries-1 {
			time.Sleep(time.Second)
		}
	}
}

// conclude stores how a run ended, if the task still belongs to it.
func (r *Runner) conclude(this *run, end ending) error {
	ctx, cancel := context.WithTimeout(context.Background(), storeTimeout)
	defer cancel()
	for {
		t, err := r.owned(ctx, this)
		if errors.Is(err, errLost) {
			return nil
		}
		if err != nil {
			return err
		}
		end(&t)
		if kept, err := r.keep(ctx, &t); kept || err != nil {
			return err
		}
	}
}
