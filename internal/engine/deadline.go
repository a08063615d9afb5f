package engine

import (
	"context"
	"sync"
	"time"

	"remit/internal/engine/audit"
	"remit/internal/engine/identity"
)

// deadline is the context of a handler. It ends when the time is over, and carries the engine, the
// client and the caller. It starts no timer before somebody waits for it, because most handlers
// finish earlier.
type deadline struct {
	context.Context
	at     time.Time
	engine *Engine
	caller Caller
	grant  *identity.Grant
	peer   Peer
	seen   string        // see Seen
	effect *audit.Effect // nil for a handler that only reads

	mu     sync.Mutex
	inner  context.Context // set when somebody waits
	finish context.CancelFunc
	over   bool
}

// withDeadline returns the context of a handler that may take this long.
func (e *Engine) withDeadline(ctx context.Context, timeout time.Duration, caller Caller, grant *identity.Grant, peer Peer) *deadline {
	return &deadline{Context: ctx, at: time.Now().Add(timeout), engine: e, caller: caller, grant: grant, peer: peer}
}

// Caller identifies who calls a tool, reads a resource or starts a prompt.
type Caller struct {
	Principal  string // who it is; "" is an anonymous caller
	Frontend   string // the front end that received the call
	Client     string // the client's own name
	Connection string // identifies the connection; "" if there is none that lasts
}

// ActsFor returns a contract.Denied error unless the caller may access the data of a user. Handlers
// need not check this, because their contract names the owner. Resource providers and prompts must.
func ActsFor(ctx context.Context, user string) error {
	return GrantOf(ctx).ActsFor(user)
}

// ActsForAll reports whether the caller may access the data of every user.
func ActsForAll(ctx context.Context) bool { return ActsFor(ctx, identity.AnyUser) == nil }

// GrantOf returns what the caller of a handler may do; nil allows everything.
func GrantOf(ctx context.Context) *identity.Grant {
	grant, _ := ctx.Value(grantKey{}).(*identity.Grant)
	return grant
}

// CallerOf returns the caller from the context of a handler, a resource provider or a prompt. For
// any other context it returns the zero Caller.
func CallerOf(ctx context.Context) Caller {
	caller, _ := ctx.Value(callerKey{}).(Caller)
	return caller
}

// Deadline returns the deadline of the contract, or that of the caller if it is earlier.
func (d *deadline) Deadline() (time.Time, bool) {
	d.mu.Lock()
	at := d.at
	d.mu.Unlock()
	if earlier, ok := d.Context.Deadline(); ok && earlier.Before(at) {
		return earlier, true
	}
	return at, true
}

// Done starts the timer.
func (d *deadline) Done() <-chan struct{} {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.inner == nil {
		d.inner, d.finish = context.WithDeadline(d.Context, d.at)
		if d.over {
			d.finish()
		}
	}
	return d.inner.Done()
}

// Err checks the time even if no timer runs.
func (d *deadline) Err() error {
	d.mu.Lock()
	inner, over, at := d.inner, d.over, d.at
	d.mu.Unlock()
	switch {
	case inner != nil:
		return inner.Err()
	case d.Context.Err() != nil:
		return d.Context.Err()
	case over:
		return context.Canceled
	case !time.Now().Before(at):
		return context.DeadlineExceeded
	default:
		return nil
	}
}

// stopClock returns the context in which a handler waits for its client, because people take longer
// than contracts allow for work. resume extends the deadline by that time, unless the timer of the
// handler runs already.
func stopClock(ctx context.Context) (waiting context.Context, resume func()) {
	d, ok := ctx.Value(deadlineKey{}).(*deadline)
	if !ok {
		return ctx, func() {}
	}
	began := time.Now()
	return d.Context, func() {
		d.mu.Lock()
		defer d.mu.Unlock()
		if d.inner == nil {
			d.at = d.at.Add(time.Since(began))
		}
	}
}

type (
	engineKey   struct{}
	callerKey   struct{}
	grantKey    struct{}
	peerKey     struct{}
	deadlineKey struct{}
	seenKey     struct{}
)

// Seen returns the state that a person saw when they made or approved the call of a handler, or
// that they saw earlier if a hook asks; see Method.Shows. It is "" if nobody saw any.
func Seen(ctx context.Context) string {
	seen, _ := ctx.Value(seenKey{}).(string)
	return seen
}

// Value also returns the engine, the caller, the grant, the client, what a person saw and the
// effect.
func (d *deadline) Value(key any) any {
	switch key.(type) {
	case engineKey:
		return d.engine
	case callerKey:
		return d.caller
	case grantKey:
		return d.grant
	case peerKey:
		return d.peer
	case deadlineKey:
		return d
	case seenKey:
		return d.seen
	default:
		if audit.IsEffectKey(key) {
			return d.effect
		}
		return d.Context.Value(key)
	}
}

// cancel ends all waiting on the context.
func (d *deadline) cancel() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.over = true
	if d.finish != nil {
		d.finish()
	}
}
