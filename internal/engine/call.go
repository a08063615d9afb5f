package engine

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"runtime/debug"
	"time"

	"remit/internal/contract"
	"remit/internal/contract/jsontree"
	"remit/internal/engine/audit"
	"remit/internal/engine/identity"
	"remit/internal/engine/ratelimit"
)

// Call is one call of a tool, as a front end passes it to the engine.
type Call struct {
	Tool       string
	Args       jsontree.Value  // decoded once, by the front end; null means none
	Principal  string          // who calls; "" is an anonymous caller
	Grant      *identity.Grant // what they may do; nil allows everything
	Frontend   string          // the front end that received the call
	Client     string          // the client's own name
	Connection string          // identifies the connection, if there is one
	Peer       Peer            // the client while the call runs; nil if it is not reachable
	// Dialogue means that a person started the client, so that what it answers to a question for
	// approval counts as the decision of a person. Any process can connect over HTTP and answer
	// itself.
	Dialogue     bool
	Continuation Continuation // the state of a call that continues
	// Why the caller wants the call, in its own words; only people read it.
	Reason string
	Trace  string // the W3C traceparent of the call, if the client sent one
	// Key is the idempotency key, which makes it safe to repeat the call: a repeat gets the answer
	// of the first call that was carried out. "" means no key. Tools that only read ignore it. A
	// call that continues may leave it out.
	Key string
	// Seen is the Shown.State of what the call changes, as the person saw it who makes the call. If
	// it is not that any more, the call fails with a contract.Conflict error. "" checks nothing. If
	// the call needs approval, what the person saw who approved it counts instead.
	Seen string
	// Unread is the size in bytes of arguments that the front end did not read, because they exceed
	// Size.Request of the contract; Args is then empty. It may be a lower bound.
	Unread int64
}

// Continuation is the state of a call that asks its client, from one attempt to the next. Whoever
// stores it must protect it against forgery. Databases store it as JSON, so its tags must not
// change.
type Continuation struct {
	Attempt  int       `json:"round"`              // zero is the first attempt
	Approved bool      `json:"approved,omitempty"` // a person has approved exactly this call
	By       string    `json:"by,omitempty"`       // what approved it: approval.Passed.By
	Rule     string    `json:"rule,omitempty"`     // the rule that decided: approval.Passed.Rule
	Asked    time.Time `json:"ended,omitzero"`     // when the previous attempt ended
	Key      string    `json:"key,omitempty"`      // of the call in its first attempt
	Seen     string    `json:"seen,omitempty"`     // the Shown.State that the person was shown
	Asks     int       `json:"asks,omitempty"`     // how often the client was asked to approve
	Dialogue bool      `json:"dialogue,omitempty"` // Call.Dialogue of the attempt before
	Owner    string    `json:"owner,omitempty"`    // Call.Owner of a call that goes on as a task
}

// Owner returns what the approvals, the key and the task of the call are bound to; see
// identity.Grant.Owner.
func (c *Call) Owner() string { return cmp.Or(c.Continuation.Owner, c.Grant.Owner(c.Principal)) }

// Result is the outcome of a call.
type Result struct {
	Tool *Tool
	// Body is compact JSON: the answer, only its list if the contract says bare, or the error in
	// the shape of the set.
	Body []byte
	// Structured is compact JSON: the answer according to the output schema; nil if there is none.
	Structured []byte
	Content    []byte          // of a tool that answers with content: its blocks, as a JSON array
	Truncation Truncation      // of an answer that was truncated without a cursor
	Metadata   jsontree.Value  // additional information about the answer: an object, or null
	Err        *contract.Error // nil on success
	// Replayed means that the answer is that of an earlier call with the same key; nothing was done
	// now.
	Replayed bool
	// Suspended is not nil if the call continues later, or as a task; then all other fields but
	// Tool are empty.
	Suspended *Suspension
}

// Suspension says what a suspended call waits for, and how it continues.
type Suspension struct {
	Questions []Question
	Task      bool // it waits for nothing, but must continue as a task
	Next      Continuation
}

// Call runs one call to its end. It returns an error only if the tool does not exist; every other
// failure is a Result in the shape that the set promises.
func (e *Engine) Call(ctx context.Context, call Call) (Result, error) {
	tool, err := e.Find(call.Tool)
	if err != nil {
		e.Refused(ctx, UnknownTool, Requester{
			Principal: call.Principal, Frontend: call.Frontend, Client: call.Client, Connection: call.Connection,
		}, call.Tool)
		return Result{}, err
	}
	call.Continuation.Dialogue = call.Dialogue
	w := &work{engine: e, tool: tool, call: call, started: e.Now()}
	ctx = e.Telemetry.Begin(ctx, call.Trace)
	answer, err := w.run(ctx)
	return w.conclude(ctx, answer, err), nil
}

// work is one call while the engine runs it.
type work struct {
	engine   *Engine
	tool     *Tool
	call     Call // its Continuation becomes that of the next attempt
	started  time.Time
	request  string     // the digest of the arguments of a keyed call
	repeats  string     // audit.Record.Key
	notes    Truncation // about the answer
	remarks  jsontree.Value
	ran      bool            // the handler was started: it may have had effects
	replayed bool            // the answer is that of an earlier call
	effect   *audit.Effect   // nil for a tool that only reads
	redacted *jsontree.Value // the arguments for records, once they do not change any more
}

// run is the policy of Remit: what happens to every call, in this order.
func (w *work) run(ctx context.Context) (answer jsontree.Value, err error) {
	defer w.engine.recoverPanic(w.tool.ID, &err)
	if err := w.access(); err != nil {
		return answer, err
	}
	if err := w.rate(ctx); err != nil {
		return answer, err
	}
	if err := w.requestSize(); err != nil {
		return answer, err
	}
	if err := w.bindKey(); err != nil {
		return answer, err
	}
	w.call.Args = w.withOwner()
	args, err := w.tool.Accept(w.call.Args) // nulls, defaults, input schema, sizes
	if err != nil {
		return answer, err
	}
	if err := w.checkOwner(&args); err != nil {
		return answer, err
	}
	files, err := w.paths(&args)
	if err != nil {
		return answer, err
	}
	// Decode the arguments into the handler's struct, and run its own checks.
	invoke, err := w.tool.handler.prepare(&args, files)
	if err != nil {
		return answer, err
	}
	// A repeated call gets the answer of the earlier call with the same key.
	if answer, err = w.replay(ctx, &args); err != nil || w.replayed {
		return answer, err
	}
	if err := w.checkAudit(); err != nil {
		return answer, err
	}
	if err := w.approval(ctx, &args, files, invoke); err != nil {
		return answer, err
	}
	return w.handle(ctx, invoke) // then promised fields only, output schema, budget
}

// paused reports whether err suspends the call instead of ending it, and returns the questions.
func paused(err error) (questions []Question, ok bool) {
	if s, ok := errors.AsType[*SuspendedError](err); ok {
		return s.Questions, true
	}
	_, ok = errors.AsType[*DetachedError](err)
	return nil, ok
}

// recoverPanic turns a panic into an internal error. Only the log gets the stack. what is the tool
// that was called, or the method that was requested.
func (e *Engine) recoverPanic(what string, err *error) {
	if fault := recover(); fault != nil {
		e.Log.Error("panic", "in", what, "panic", fmt.Sprint(fault), "stack", string(debug.Stack()))
		*err = contract.Errorf(contract.Internal, "Internal error").Because(fmt.Errorf("panic: %v", fault))
	}
}

func (w *work) access() error {
	if w.engine.ReadOnly && !w.tool.Hints.ReadOnly {
		return contract.Errorf(contract.Denied, "%s changes data, but this server is read-only (the setting read_only is true)", w.tool.Name)
	}
	if w.tool.Task == contract.TaskRequired && (w.call.Peer == nil || !w.call.Peer.Can(Tasks)) {
		return contract.Errorf(contract.Denied, "%s runs only as a task, and this client does not support tasks",
			w.tool.Name).Because(&MissingCapabilityError{Tasks})
	}
	if w.tool.Access != contract.Public && w.call.Principal == "" {
		return identity.AnonymousError(w.call.Grant, w.tool.Name)
	}
	return w.tool.CheckScope(w.call.Grant)
}

func (w *work) rate(ctx context.Context) error {
	if w.tool.Rate.IsZero() || w.engine.Limiter == nil || w.call.Continuation.Attempt > 0 {
		return nil // the first attempt counted for all
	}
	rate := ratelimit.Rate{Requests: w.tool.Rate.Requests, Per: w.tool.Rate.Per}
	wait, err := w.engine.Limiter.Allow(ctx, w.call.Principal+"\x00"+w.tool.ID, rate, w.started)
	if err != nil {
		return contract.Errorf(contract.Unavailable, "The rate limit cannot be checked; try again").Because(err)
	}
	if wait == 0 {
		return nil
	}
	// The limiter adds what the call was late, but by its answer that time is over.
	seconds := int(math.Ceil(min(wait, rate.Per).Seconds()))
	return contract.Errorf(contract.Limited, "Rate limit exceeded: %s; try again in %d s", w.tool.Rate, seconds).
		With("retry_after", seconds)
}

func (w *work) requestSize() error {
	size := contract.Bytes(max(int64(len(w.call.Args.Raw)), w.call.Unread))
	if size <= w.tool.Size.Request {
		return nil
	}
	atLeast := ""
	if w.call.Unread > 0 {
		atLeast = "at least "
	}
	return contract.Errorf(contract.TooLarge, "The arguments are %s%d bytes; at most %d bytes (%s) are allowed", atLeast, size,
		w.tool.Size.Request, w.tool.Size.Request).
		With("size", int(size)).With("max", int(w.tool.Size.Request))
}

// paths checks every path argument against its policy, once.
func (w *work) paths(args *jsontree.Value) (map[string]File, error) {
	if len(w.tool.Paths) == 0 {
		return nil, nil
	}
	files := make(map[string]File, len(w.tool.Paths))
	for i := range w.tool.Paths {
		policy := &w.tool.Paths[i]
		name, ok := args.Get(policy.Arg)
		if !ok {
			continue
		}
		file, err := w.engine.CheckPath(name.Text, policy)
		if err != nil {
			return nil, err
		}
		files[policy.Arg] = file
	}
	return files, nil
}

// checkAudit rejects a write whose audit record could not be stored.
func (w *work) checkAudit() error {
	if w.tool.Hints.ReadOnly {
		return nil
	}
	if err := w.engine.Audit.Ready(w.started); err != nil {
		if own, ok := errors.AsType[*contract.Error](err); ok {
			return own
		}
		return contract.Errorf(contract.Unavailable, "The audit record cannot be written, so %s was not run; try again later",
			w.tool.Name).Because(err)
	}
	return nil
}

func (w *work) caller() Caller {
	return Caller{Principal: w.call.Principal, Frontend: w.call.Frontend, Client: w.call.Client, Connection: w.call.Connection}
}

// handle runs the handler under the contract's deadline, and only once for an idempotency key.
func (w *work) handle(ctx context.Context, invoke invocation) (answer jsontree.Value, err error) {
	peer := w.call.Peer
	if w.keyed() && w.tool.transactional {
		peer = nil // a transaction must not wait for a client
	}
	limited := w.engine.withDeadline(ctx, w.timeout(), w.caller(), w.call.Grant, peer)
	defer limited.cancel()
	if limited.seen = w.call.Seen; w.tool.Approval.Required {
		limited.seen = w.call.Continuation.Seen
	}
	if !w.tool.Hints.ReadOnly {
		redacted := w.tool.Redacted(&w.call.Args)
		w.redacted = &redacted
		w.effect = audit.NewEffect(w.record(&Result{Tool: w.tool}, 0), w.engine.Audit)
		limited.effect = w.effect
		awaitEarlierWrites(limited)
	}
	if err := limited.Err(); err != nil {
		return answer, w.timeoutError(ctx, err)
	}
	if w.keyed() {
		answer, err = w.runOnce(limited, invoke)
	} else {
		answer, err = w.runHandler(limited, invoke)
	}
	return answer, w.callerError(ctx, limited, err)
}

// runHandler runs the handler and makes its answer conform to the contract.
func (w *work) runHandler(ctx context.Context, invoke invocation) (answer jsontree.Value, err error) {
	w.ran = true
	out, err := invoke.run(ctx)
	if err != nil {
		return answer, err
	}
	return w.conformed(out)
}

// callerError converts the error of a handler to the one that the caller gets. An error of the
// handler itself wins, even if the deadline has passed.
func (w *work) callerError(caller context.Context, limited *deadline, err error) error {
	var own *contract.Error
	var missing *MissingCapabilityError
	switch {
	case err == nil || errors.As(err, &own):
		return err
	case limited.Err() != nil && errors.Is(err, limited.Err()):
		return w.timeoutError(caller, err)
	case errors.As(err, &missing):
		return contract.Errorf(contract.Denied, "%s cannot continue: %v", w.tool.Name, missing).Because(err)
	case errors.Is(err, errNoPeer):
		return contract.Errorf(contract.Denied, "%s cannot continue: %v", w.tool.Name, errNoPeer).Because(err)
	default:
		return err
	}
}

// timeoutError returns the error of a call that its caller cancelled or that exceeded its deadline.
func (w *work) timeoutError(caller context.Context, cause error) error {
	if caller.Err() != nil {
		return contract.Errorf(contract.Unavailable, "The call was cancelled").Because(cause)
	}
	return contract.Errorf(contract.Unavailable, "%s took longer than %s and was stopped; try again", w.tool.Name,
		w.timeout()).Because(cause)
}
