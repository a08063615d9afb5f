package door

import (
	"context"
	"sync"
	"sync/atomic"
	"time"
)

const (
	askEvery    = time.Second     // how often it is looked whether there is a token
	askPatience = 4 * time.Second // how long that may take, while callers wait
)

// need remembers whether callers have to say who they are.
type need struct {
	always atomic.Bool  // there was a token once
	last   atomic.Bool  // what the last look said
	unsure atomic.Bool  // that it could not tell
	until  atomic.Int64 // how long that holds, in Unix nanoseconds
	looks  sync.Mutex
}

// Required tells whether callers have to say who they are. From the first token on
// that stays so while the program runs: to revoke the last one opens nothing.
func (d *Door) Required(ctx context.Context) bool {
	switch {
	case d.Mode != Auto:
		return d.Mode == On
	case d.Issuer != nil || d.need.always.Load():
		return true
	}
	if d.need.holds(d.Now()) {
		return d.need.last.Load()
	}
	return d.look(ctx)
}

// holds tells whether the last look was lately. What holds for longer than a look does
// comes from a clock that was set back.
func (n *need) holds(now time.Time) bool {
	left := n.until.Load() - now.UnixNano()
	return 0 < left && left <= int64(askEvery)
}

// lookTimeout is how long a look at the tokens may take.
func (d *Door) lookTimeout() time.Duration {
	return askPatience * time.Duration(max(1, d.DeadlineFactor))
}

// look asks whether there is a token. While that cannot be told callers have to say
// who they are: there may be one.
func (d *Door) look(ctx context.Context) bool {
	n := &d.need
	n.looks.Lock()
	defer n.looks.Unlock()
	if n.holds(d.Now()) {
		return n.last.Load() // somebody else looked meanwhile
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), d.lookTimeout()) // one who leaves must not spoil it for others
	defer cancel()
	found, err := d.Tokens.Any(ctx)
	if err != nil {
		d.Log.Warn("whether there are tokens cannot be told, so callers need one", "error", err)
	}
	if found {
		n.always.Store(true)
		d.Log.Info("there is a token, so callers need one from now on")
	}
	n.unsure.Store(err != nil)
	n.last.Store(found || err != nil)
	n.until.Store(d.Now().Add(askEvery).UnixNano())
	return n.last.Load()
}
