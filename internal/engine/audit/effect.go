package audit

import (
	"context"
	"crypto/rand"
	"slices"
	"sync/atomic"

	"remit/internal/contract"
	"remit/internal/contract/jsontree"
)

// Effect ties what a call changes to the record of the call, so that neither exists without the
// other. The context of everything that may change something carries one.
//
// A store that changes a database adds the record to the outbox of that database, in the same
// transaction. A store that changes something else calls Begin first: if that record cannot be
// stored, nothing is changed. After a crash, Recovery finds out whether it was.
type Effect struct {
	// Call identifies the call in records, in the outbox and in the histories of stores. It is
	// random.
	Call string

	record Record         // of the call, as if it succeeded
	stored jsontree.Value // what it has changed in the database; null if the record does not say so
	writer Writer
	state  atomic.Uint32
	steps  steps
	// arguments holds the encoded arguments of the record that Begin has written; nil before that.
	arguments atomic.Pointer[[]byte]
}

// Writer writes records. Log is one.
type Writer interface {
	Write(ctx context.Context, r *Record, durable bool) error
}

// The states of an effect.
const (
	untouched = iota // nothing was changed yet
	adding           // a transaction was started that changes something and adds the record
	inOutbox         // such a transaction was committed
)

// Begun is the outcome of a record that is stored before an effect outside of the database. Another
// record of the same call follows it, or recovery adds one.
const Begun = "begun"

// IsFailure reports whether an outcome is that of a call that was rejected or failed. A call that
// asks its client or waits for approval has not failed.
func IsFailure(outcome string) bool {
	switch outcome {
	case "ok", "replayed", "asked", Begun, string(contract.Pending):
		return false
	}
	return true
}

// HasChanged reports whether a record is that of a call that has changed something: it succeeded,
// or it failed after that.
func HasChanged(record *jsontree.Value) bool {
	call, outcome, made := record.Field("call"), record.Field("outcome"), record.Field("made")
	return call.Text != "" && (outcome.Text == "ok" || len(made.Members) > 0)
}

// NewEffect returns the effect of a call. r is the record of the call if it succeeds; writer stores
// it.
func NewEffect(r *Record, writer Writer) *Effect {
	e := &Effect{Call: rand.Text(), record: *r, writer: writer}
	e.record.Call = e.Call
	return e
}

// SetRecord replaces the record of the call. It must not run at the same time as another method.
func (e *Effect) SetRecord(r *Record) {
	e.record = *r
	e.record.Call = e.Call
}

type effectKey struct{}

// WithEffect returns a context that carries an effect.
func WithEffect(ctx context.Context, e *Effect) context.Context {
	return context.WithValue(ctx, effectKey{}, e)
}

// EffectFrom returns the effect that a context carries, or nil.
func EffectFrom(ctx context.Context) *Effect {
	e, _ := ctx.Value(effectKey{}).(*Effect)
	return e
}

// IsEffectKey reports whether key is the key of WithEffect. It is for contexts that carry the
// effect in a field.
func IsEffectKey(key any) bool {
	_, is := key.(effectKey)
	return is
}

// Begin stores a record that says what is about to be changed outside of the database, and returns
// when it is on disk. The caller reports to the step whether the change was made. Begin does
// nothing if the effect is nil.
func (e *Effect) Begin(ctx context.Context, c Change) (*Step, error) {
	if e == nil {
		return nil, nil
	}
	step := &Step{e, e.steps.add()}
	r := e.record
	r.Outcome, r.Effect = Begun, c.value(step.number)
	err := e.writer.Write(ctx, &r, true)
	e.arguments.Store(&r.encoded)
	if err != nil {
		step.Report(NotMade)
		return nil, contract.Errorf(contract.Unavailable,
			"The audit record cannot be written, so nothing was changed; try again later").Because(err)
	}
	return step, nil
}

// Start returns the effect of something that is not a call of a tool, and a context that carries
// it. Conclude ends it.
func Start(ctx context.Context, r *Record, writer Writer) (context.Context, *Effect) {
	e := NewEffect(r, writer)
	return WithEffect(ctx, e), e
}

// Describe sets members of the arguments that were not known when the effect was made, such as the
// id of what is created.
func (e *Effect) Describe(members ...jsontree.Member) {
	if e == nil {
		return
	}
	e.arguments.Store(nil)
	all := slices.Clone(e.record.Arguments.Members)
	for _, m := range members {
		if i := slices.IndexFunc(all, func(old jsontree.Member) bool { return old.Key == m.Key }); i >= 0 {
			all[i] = m // a transaction may run again
		} else {
			all = append(all, m)
		}
	}
	e.record.Arguments = jsontree.Obj(all...)
}

// SetPrincipal sets who acts, if that was not known when the effect was made.
func (e *Effect) SetPrincipal(principal string) {
	if e != nil {
		e.record.Principal = principal
	}
}

// ChangesTask says that the transaction of the call changes a task. A call changes at most one.
func (e *Effect) ChangesTask(c TaskChange) { e.stored = c.value() }

// Appends says that the transaction of the call appends an entry to a memory file.
func (e *Effect) Appends(c Change) { e.stored = c.value(1) }

// OutboxRecord returns the record for the outbox, as if the call succeeded. The caller adds it in
// the transaction that makes the change, and calls Committed after the commit.
func (e *Effect) OutboxRecord() []byte {
	if e.state.Load() != inOutbox { // an earlier transaction of the call may have added it
		e.state.Store(adding)
	}
	r := e.record
	e.AddTo(&r)
	r.Effect = e.stored
	return r.encode()
}

// Committed notes that a transaction of the call was committed. If it has added the record to the
// outbox, the record is there now.
func (e *Effect) Committed() {
	if e != nil {
		e.state.CompareAndSwap(adding, inOutbox)
	}
}

// Conclude writes the record of something that is not a call of a tool. failed is nil if it
// succeeded. The error means that it succeeded, but has no record.
func (e *Effect) Conclude(ctx context.Context, failed error) error {
	r := e.record
	if failed != nil {
		failure := contract.AsError(failed)
		r.Outcome, r.Code, r.Message = string(failure.Kind), failure.Code, failure.Message
	}
	e.Complete(&r, failed == nil)
	err := e.writer.Write(ctx, &r, failed == nil && !r.InOutbox)
	if r.InOutbox {
		return nil
	}
	return err
}

// Complete lets the record of a call that has succeeded take the place of the one in the outbox, if
// it has one there.
func (e *Effect) Complete(r *Record, succeeded bool) {
	if succeeded && e.IsInOutbox() {
		r.InOutbox, r.Effect = true, e.stored
	}
}

// IsInOutbox reports whether the outbox of the database holds the record of the call, or has held
// it.
func (e *Effect) IsInOutbox() bool { return e != nil && e.state.Load() == inOutbox }
