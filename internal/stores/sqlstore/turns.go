package sqlstore

import (
	"context"
	"hash/maphash"
)

// turns limits how many transactions of this process wait in PostgreSQL for the same rows. Each one
// that waits there holds a connection, and makes the lock cost more for all others.
type turns struct {
	seed  maphash.Seed
	slots [64]chan struct{} // keys share them
}

// waiting is the number of transactions for a key at once: one has the lock, and one waits for it,
// so that no time passes between the two.
const waiting = 2

func newTurns() *turns {
	t := &turns{seed: maphash.MakeSeed()}
	for i := range t.slots {
		t.slots[i] = make(chan struct{}, waiting)
	}
	return t
}

// take waits for a turn. Without turns, as in SQLite, it returns at once.
func (t *turns) take(ctx context.Context, key string) (giveBack func(), err error) {
	if t == nil {
		return func() {}, nil
	}
	slot := t.slots[maphash.String(t.seed, key)%uint64(len(t.slots))]
	select {
	case slot <- struct{}{}:
		return func() { <-slot }, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}
