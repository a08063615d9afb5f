package passkeytest

import (
	"context"
	"errors"
	"maps"
	"slices"
	"sync"
	"time"

	"remit/internal/contract"
	"remit/internal/engine/passkey"
)

// Memory is a Store, a Ledger and the memory of used nonces. It passes the suite, so that tests
// with it also hold for real stores.
type Memory struct {
	mu         sync.Mutex
	Keys       []passkey.Passkey
	Registered map[string]string
	LedgerErr  error // returned by Load and Change, if set
	used       map[string]bool
}

// Add implements passkey.Store.
func (m *Memory) Add(ctx context.Context, p passkey.Passkey, alone bool) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case alone && len(m.Keys) > 0:
		return passkey.NotAlone()
	case len(m.Keys) >= passkey.MaxPasskeys:
		return passkey.TooMany()
	case slices.ContainsFunc(m.Keys, func(k passkey.Passkey) bool { return k.ID == p.ID }):
		return contract.Errorf(contract.Conflict, "This passkey is registered already")
	}
	m.Keys = append(m.Keys, p)
	slices.SortStableFunc(m.Keys, func(a, b passkey.Passkey) int { return a.Created.Compare(b.Created) })
	return nil
}

// List implements passkey.Store.
func (m *Memory) List(context.Context) ([]passkey.Passkey, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Clone(m.Keys), nil
}

// Use implements passkey.Store.
func (m *Memory) Use(_ context.Context, p passkey.Passkey, before uint32) (bool, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	i := slices.IndexFunc(m.Keys, func(k passkey.Passkey) bool { return k.ID == p.ID && k.SignCount == before })
	if i < 0 {
		return false, nil
	}
	m.Keys[i].SignCount, m.Keys[i].Used, m.Keys[i].Seal = p.SignCount, p.Used, p.Seal
	return true, nil
}

// Remove implements passkey.Store.
func (m *Memory) Remove(ctx context.Context, id string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if ctx.Err() == nil {
		m.Keys = slices.DeleteFunc(m.Keys, func(k passkey.Passkey) bool { return k.ID == id })
	}
	return ctx.Err()
}

// Load implements passkey.Ledger.
func (m *Memory) Load() (map[string]string, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return maps.Clone(m.Registered), m.LedgerErr
}

// Change implements passkey.Ledger.
func (m *Memory) Change(change func(map[string]string) error) error {
	registered, err := m.Load()
	if registered == nil {
		registered = map[string]string{}
	}
	if err = errors.Join(err, change(registered)); err == nil {
		m.mu.Lock()
		defer m.mu.Unlock()
		m.Registered = registered
	}
	return err
}

// Place implements passkey.Ledger.
func (*Memory) Place() string { return "workspaces/w/passkeys.json" }

func (m *Memory) useOnce(_ context.Context, token string, _, _ time.Time) (bool, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.used == nil {
		m.used = map[string]bool{}
	}
	fresh := !m.used[token]
	m.used[token] = true
	return fresh, nil
}

// Origin is the origin of the pages of NewKeys.
const Origin = "http://localhost:8722"

// NewKeys returns the passkeys of a workspace in memory, with a ledger.
func NewKeys(m *Memory, now func() time.Time) *passkey.Keys {
	return &passkey.Keys{
		Store: func(context.Context) (passkey.Store, error) { return m, nil }, Ledger: m, UseOnce: m.useOnce,
		Secret: func() ([]byte, error) { return []byte("secret"), nil },
		Place:  "/w", Origin: func() string { return Origin }, Now: now,
	}
}
