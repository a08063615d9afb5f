package knowledge

import (
	"context"
	"time"
)

// mayWork tells whether this process may do what waits: always if it is little, otherwise if it has the lease. Two who do the
// same do no harm, it is only in vain; so a store that fails does not keep anybody from trying.
func (x *Index) mayWork() bool {
	if left, _ := x.queue.progress(); left <= x.limits.bulk && !x.many.Load() {
		return true
	}
	x.leasing.Lock()
	defer x.leasing.Unlock()
	now := x.o.Now()
	if x.leased.Sub(now) > x.limits.lease/2 {
		return true
	}
	until := now.Add(x.limits.lease)
	got, err := x.lease(x.ctx, until, now)
	if err != nil {
		return true // the work itself will fail, and say so
	}
	x.leased = time.Time{}
	if got {
		x.leased = until
	}
	return got
}

func (x *Index) lease(ctx context.Context, until, now time.Time) (bool, error) {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	store, err := x.store(ctx)
	if err != nil {
		return false, err
	}
	return store.Lease(ctx, x.holder, until, now)
}

// release gives the lease back, after Close too.
func (x *Index) release() {
	x.leasing.Lock()
	defer x.leasing.Unlock()
	if x.leased.IsZero() {
		return
	}
	x.leased = time.Time{}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(x.ctx), 500*time.Millisecond)
	defer cancel()
	if _, err := x.lease(ctx, time.Time{}, x.o.Now()); err != nil {
		x.o.Log.Debug("the lease of indexing was not given back: it ends by itself", "error", err)
	}
}
