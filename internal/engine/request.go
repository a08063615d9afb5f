package engine

import (
	"context"
	"errors"
	"time"

	"remit/internal/contract"
	"remit/internal/contract/jsontree"
	"remit/internal/engine/audit"
	"remit/internal/engine/identity"
	"remit/internal/engine/telemetry"
)

// Requester identifies the client that reads a resource or starts a prompt.
type Requester struct {
	Principal  string          // who it is; "" is an anonymous caller
	Grant      *identity.Grant // what they may do; nil allows everything
	Frontend   string          // the front end that received the request
	Client     string          // the client's own name
	Connection string          // identifies the connection, if there is one
	Peer       Peer            // the client while it waits; nil if it is not reachable
	Trace      string          // the W3C traceparent of the request, if the client sent one
}

func (r *Requester) caller() Caller {
	return Caller{Principal: r.Principal, Frontend: r.Frontend, Client: r.Client, Connection: r.Connection}
}

// requestTimeout is how long reading a resource or rendering a prompt may take.
const requestTimeout = 30 * time.Second

// request is one read of a resource or start of a prompt, like work for a tool. It changes nothing,
// so its audit record need not be durable.
type request struct {
	engine     *Engine
	who        Requester
	method     string
	key, value string // what is requested
	started    time.Time
}

// run runs a request; do returns the size of the answer.
func (r *request) run(ctx context.Context, do func(context.Context) (size int, err error)) error {
	r.started = r.engine.Now()
	ctx = r.engine.Telemetry.Begin(ctx, r.who.Trace)
	size, err := r.attempt(ctx, do)
	return r.conclude(ctx, size, err)
}

func (r *request) attempt(ctx context.Context, do func(context.Context) (int, error)) (size int, err error) {
	defer r.engine.recoverPanic(r.method, &err)
	if r.who.Principal == "" {
		return 0, identity.AnonymousError(r.who.Grant, r.method)
	}
	limited := r.engine.withDeadline(ctx, requestTimeout, r.who.caller(), r.who.Grant, r.who.Peer)
	defer limited.cancel()
	size, err = do(limited)
	switch {
	case err == nil || limited.Err() == nil || !errors.Is(err, limited.Err()):
		return size, err
	case ctx.Err() != nil:
		return 0, contract.Errorf(contract.Unavailable, "The request was cancelled").Because(err)
	default:
		return 0, contract.Errorf(contract.Unavailable, "%s %s took longer than %s and was stopped; try again", r.method, r.value,
			requestTimeout).Because(err)
	}
}

// conclude logs, counts and records the request, and returns the error that its caller gets.
func (r *request) conclude(ctx context.Context, size int, err error) error {
	took := r.engine.Now().Sub(r.started)
	outcome, seen := r.classify(err)
	if seen != nil {
		size = 0
	}
	name := jsontree.Str(r.value)
	if len(r.value) > maxNameLength {
		name = contract.DigestOf(&name)
	}
	record := &audit.Record{
		Time:      r.started,
		Principal: r.who.Principal,
		Frontend:  r.who.Frontend,
		Client:    r.who.Client,
		Session:   r.who.Connection,
		Tool:      r.method,
		Arguments: jsontree.Obj(jsontree.M(r.key, name)),
		Outcome:   outcome,
		Duration:  took,
		Bytes:     size,
	}
	if failure, ok := seen.(*contract.Error); ok { //nolint:errorlint // classify returns it unwrapped
		given := jsontree.Str(r.value)
		record.Code, record.Message = failure.Code, contract.Hide(failure.Message, &given, &name)
	}
	_ = r.engine.writeAudit(ctx, record, false) // writeAudit logs the error
	info := telemetry.Call{Method: r.method, Connection: r.who.Connection}
	// Telemetry does not get the names of resources, because they may name a person, nor unknown
	// prompt names, which clients make up.
	if r.key == "name" && outcome != string(contract.NotFound) {
		info.Tool = r.value
	}
	r.engine.report(ctx, record, info, seen, false)
	return seen
}

// maxNameLength is how many bytes of a name the audit record keeps; a longer text cannot be a name
// and is replaced by its digest.
const maxNameLength = 256

// classify returns the outcome of a request and the error for its caller. Errors that only suspend
// it stay unchanged. A client that cannot answer a question is not an internal error.
func (r *request) classify(err error) (outcome string, seen error) {
	if _, waits := paused(err); waits {
		return "asked", err
	}
	if err == nil {
		return "ok", nil
	}
	var refusal *contract.Error
	var incapable *MissingCapabilityError
	if errors.As(err, &incapable) && !errors.As(err, &refusal) {
		err = contract.Errorf(contract.Denied, "%s asks a question that this client cannot answer: the client did not declare the capability %s", r.value,
			incapable.Needs).Because(err)
	}
	refusal = contract.AsError(err)
	return string(refusal.Kind), refusal
}
