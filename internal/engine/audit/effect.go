package audit

import (
	"context"
	"crypto/rand"
	"sync/atomic"

	"remit/internal/contract"
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

	record Record // of the call, as if it succeeded
	writer Writer
	state  atomic.Uint32
	steps  steps
}

// Writer writes records. Log is one.
type Writer interface {
	Write(ctx context.Context, r *Record, durable bool) error
}

// The states of an effect.
const (
	untouched = iota // nothing was changed yet
	inOutbox         // a transaction was started that changes something and adds the record
)

// Begun is the outcome of a record that is stored before an effect outside of the database. Another
// record of the same call follows it, or recovery adds one.
const Begun = "begun"

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
	if err := e.writer.Write(ctx, &r, true); err != nil {
		step.Report(NotMade)
		return nil, contract.Errorf(contract.Unavailable,
			"The audit record cannot be written, so nothing was changed; try again later").Because(err)
	}
	return step, nil
}

// OutboxRecord returns the record for the outbox, as if the call succeeded. The caller adds it in
// the transaction that makes the change.
func (e *Effect) OutboxRecord() []byte {
	e.state.Store(inOutbox)
	r := e.record
	e.AddTo(&r)
	return r.encode()
}

// IsInOutbox reports whether a transaction was started that adds the record of the call. If the
// call succeeded, the record is in the outbox.
func (e *Effect) IsInOutbox() bool { return e != nil && e.state.Load() == inOutbox }
