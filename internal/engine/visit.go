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

// Visitor is who reads or starts something, as a face knows them.
type Visitor struct {
	Principal  string          // who it is; "" is nobody in particular
	Grant      *identity.Grant // what they may do; nil is everything
	Face       string          // the face they came in by
	Client     string          // how the client names itself
	Connection string          // tells the connection from others, if there is one
	Peer       Peer            // the client while it waits; nil if it cannot be reached
	Trace      string          // the W3C traceparent that the visit belongs to, if the client gave one
}

func (v *Visitor) caller() Caller {
	return Caller{Principal: v.Principal, Face: v.Face, Client: v.Client, Connection: v.Connection}
}

// patience is how long an offer may take before it is given up.
const patience = 30 * time.Second

// visit is one reading of a resource or start of a prompt: what a call is to a
// tool. It changes nothing, so its record need not be durable.
type visit struct {
	engine     *Engine
	who        Visitor
	method     string
	key, value string // what is asked for
	started    time.Time
}

// run goes the way of every visit; do gives the size of the answer.
func (v *visit) run(ctx context.Context, do func(context.Context) (size int, err error)) error {
	v.started = v.engine.Now()
	ctx = v.engine.Telemetry.Begin(ctx, v.who.Trace)
	size, err := v.attempt(ctx, do)
	return v.conclude(ctx, size, err)
}

func (v *visit) attempt(ctx context.Context, do func(context.Context) (int, error)) (size int, err error) {
	defer v.engine.contain(v.method, &err)
	if v.who.Principal == "" {
		return 0, identity.Unnamed(v.who.Grant, v.method)
	}
	limited := v.engine.within(ctx, patience, v.who.caller(), v.who.Grant, v.who.Peer)
	defer limited.cancel()
	size, err = do(limited)
	switch {
	case err == nil || limited.Err() == nil || !errors.Is(err, limited.Err()):
		return size, err
	case ctx.Err() != nil:
		return 0, contract.Errorf(contract.Unavailable, "The request was cancelled").Because(err)
	default:
		return 0, contract.Errorf(contract.Unavailable, "%s %s took longer than %s and was given up; try again", v.method, v.value, patience).Because(err)
	}
}

// conclude logs, counts and records the visit, and gives the error that its
// caller sees.
func (v *visit) conclude(ctx context.Context, size int, err error) error {
	took := v.engine.Now().Sub(v.started)
	outcome, seen := v.verdict(err)
	if seen != nil {
		size = 0
	}
	name := jsontree.Str(v.value)
	if len(v.value) > longestName {
		name = contract.DigestOf(&name)
	}
	record := &audit.Record{
		Time:      v.started,
		Principal: v.who.Principal,
		Face:      v.who.Face,
		Client:    v.who.Client,
		Tool:      v.method,
		Arguments: jsontree.Obj(jsontree.M(v.key, name)),
		Outcome:   outcome,
		Duration:  took,
		Bytes:     size,
	}
	_ = v.engine.keep(ctx, record, false) // the log says so
	told := telemetry.Call{Method: v.method, Connection: v.who.Connection}
	// What a resource is called stays here: it may name a person. What is not found is
	// whatever the client likes to say.
	if v.key == "name" && outcome != string(contract.NotFound) {
		told.Tool = v.value
	}
	v.engine.tell(ctx, record, told, seen, false)
	return seen
}

// longestName is how many bytes a name has that the audit record keeps as it is: a longer
// one cannot be a name.
const longestName = 256

// verdict names how a visit ended. What only pauses it passes as it is; a client
// that cannot answer is no fault of ours.
func (v *visit) verdict(err error) (outcome string, seen error) {
	if _, waits := paused(err); waits {
		return "asked", err
	}
	if err == nil {
		return "ok", nil
	}
	var refusal *contract.Error
	var incapable *IncapableError
	if errors.As(err, &incapable) && !errors.As(err, &refusal) {
		err = contract.Errorf(contract.Denied, "%s asks something that this client cannot answer: it did not declare %s", v.value, incapable.Needs).Because(err)
	}
	refusal = contract.AsError(err)
	return string(refusal.Kind), refusal
}
