package idempotencytest

import (
	"context"
	"errors"
	"sync"
	"time"

	"remit/internal/engine/idempotency"
)

// Memory is a Store in memory, for tests. Its zero value is ready to use.
type Memory struct {
	mu   sync.Mutex
	rows map[idempotency.ID]*row
}

type row struct {
	request string
	kept    bool
	answer  []byte
	lease   time.Time // of a claim without an answer
	busy    sync.Mutex
}

var _ idempotency.Store = (*Memory)(nil)

// inTransaction marks the context of an effect of Do.
type inTransaction struct{}

// InTransaction reports whether ctx belongs to an effect of Memory.Do.
func InTransaction(ctx context.Context) bool { return ctx.Value(inTransaction{}) != nil }

// Find implements idempotency.Store.
func (m *Memory) Find(ctx context.Context, id idempotency.ID, request string, now time.Time) ([]byte, bool, error) {
	if err := ctx.Err(); err != nil {
		return nil, false, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.look(id, request, now)
}

// look is Find for callers that hold the lock.
func (m *Memory) look(id idempotency.ID, request string, now time.Time) ([]byte, bool, error) {
	r := m.rows[id]
	switch {
	case r == nil || !r.kept && r.lease.IsZero():
		return nil, false, nil
	case r.request != request:
		return nil, false, idempotency.ErrKeyReused
	case r.kept:
		return r.answer, true, nil
	case now.Before(r.lease):
		return nil, false, idempotency.ErrBusy
	default:
		return nil, false, idempotency.ErrUnknown
	}
}

// rowOf returns the row of an id, a new one if there is none. The lock must be held.
func (m *Memory) rowOf(id idempotency.ID) *row {
	if m.rows == nil {
		m.rows = map[idempotency.ID]*row{}
	}
	if m.rows[id] == nil {
		m.rows[id] = &row{}
	}
	return m.rows[id]
}

// Do implements idempotency.Store. Calls with the same key run one after another.
func (m *Memory) Do(ctx context.Context, id idempotency.ID, request string, now time.Time, effect idempotency.Operation) ([]byte, bool,
	error,
) {
	m.mu.Lock()
	r := m.rowOf(id)
	m.mu.Unlock()
	r.busy.Lock()
	defer r.busy.Unlock()
	answer, found, err := m.Find(ctx, id, request, now)
	if found || err != nil {
		return answer, found, err
	}
	answer, err = effect(context.WithValue(ctx, inTransaction{}, true))
	if err != nil {
		return nil, false, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	r.request, r.answer, r.kept = request, answer, true
	return answer, false, nil
}

// DoOutside implements idempotency.Store.
func (m *Memory) DoOutside(ctx context.Context, id idempotency.ID, request string, now, lease time.Time,
	effect idempotency.Operation,
) ([]byte, bool, error) {
	if answer, found, err := m.claim(ctx, id, request, now, lease); found || err != nil {
		return answer, found, err
	}
	answer, err := effect(ctx)
	m.mu.Lock()
	defer m.mu.Unlock()
	r := m.rows[id]
	switch {
	case err == nil:
		r.answer, r.kept = answer, true
	case !errors.Is(err, idempotency.ErrUnknown):
		r.lease = time.Time{}
	}
	return answer, false, err
}

func (m *Memory) claim(ctx context.Context, id idempotency.ID, request string, now, lease time.Time) ([]byte, bool, error) {
	if err := ctx.Err(); err != nil {
		return nil, false, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	answer, found, err := m.look(id, request, now)
	if !found && err == nil {
		r := m.rowOf(id)
		r.request, r.lease = request, lease
	}
	return answer, found, err
}
