package engine

import (
	"context"
	"sync"
	"time"

	"remit/internal/engine/identity"
)

// deadline is the context of a handler: it ends when its time is over, and leads
// to the engine, the client and whoever calls. It starts no timer before somebody waits for it,
// since most handlers are done before they could.
type deadline struct {
	context.Context
	at     time.Time
	engine *Engine
	caller Caller
	grant  *identity.Grant
	peer   Peer

	mu     sync.Mutex
	inner  context.Context // once somebody waits
	finish context.CancelFunc
	over   bool
}

// within gives the context of a handler that may take so long.
func (e *Engine) within(ctx context.Context, most time.Duration, caller Caller, grant *identity.Grant, peer Peer) *deadline {
	return &deadline{Context: ctx, at: time.Now().Add(most), engine: e, caller: caller, grant: grant, peer: peer}
}

// Caller is who calls a tool, reads a resource or starts a prompt.
type Caller struct {
	Principal  string // who it is; "" is nobody in particular
	Face       string // the face they came in by
	Client     string // how the client names itself
	Connection string // tells their connection from others; "" if they have none that lasts
}

// ActsFor returns a contract.Denied error unless the caller may reach what belongs to a
// user. Handlers need not ask: their contract names the owner. Shelves and prompts do.
func ActsFor(ctx context.Context, user string) error {
	grant, _ := ctx.Value(grantKey{}).(*identity.Grant)
	return grant.ActsFor(user)
}

// ActsForAll tells whether the caller may reach what belongs to every user.
func ActsForAll(ctx context.Context) bool { return ActsFor(ctx, identity.AnyUser) == nil }

// CallerOf gives the caller to a handler, a shelf that is read or a prompt. Elsewhere
// it is empty.
func CallerOf(ctx context.Context) Caller {
	caller, _ := ctx.Value(callerKey{}).(Caller)
	return caller
}

// Deadline is the contract's, or an earlier one of the caller.
func (d *deadline) Deadline() (time.Time, bool) {
	d.mu.Lock()
	at := d.at
	d.mu.Unlock()
	if earlier, ok := d.Context.Deadline(); ok && earlier.Before(at) {
		return earlier, true
	}
	return at, true
}

// Done begins to watch the clock.
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

// Err looks at the clock.
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

// stopClock gives the context in which a handler waits for its client: people take
// longer than contracts allow for work. resume gives the time back, unless the
// handler watches the clock already.
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
)

// Value also gives the engine, the caller and the client.
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
	default:
		return d.Context.Value(key)
	}
}

// cancel ends what still waits.
func (d *deadline) cancel() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.over = true
	if d.finish != nil {
		d.finish()
	}
}
