package identity_test

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"sync"
	"testing"
	"time"

	"remit/internal/contract"
	"remit/internal/engine/identity"
	"remit/internal/engine/identity/identitytest"
)

// memory is a TokenStore in memory. It passes the suite, so that these tests also hold for real
// stores.
type memory struct {
	mu     sync.Mutex
	tokens []identity.Token
	uses   int
	fail   error // returned by every method, if set
}

var _ identity.TokenStore = (*memory)(nil)

func TestMemory(t *testing.T) {
	identitytest.Tokens(t, func(*testing.T) identity.TokenStore { return &memory{} })
	identitytest.Sessions(t, func(*testing.T) identity.SessionStore { return &sessionMemory{} })
}

func (m *memory) enter(ctx context.Context) (leave func(), err error) {
	m.mu.Lock()
	return m.mu.Unlock, cmp.Or(m.fail, ctx.Err())
}

func (m *memory) Add(ctx context.Context, t identity.Token) error {
	leave, err := m.enter(ctx)
	defer leave()
	if err != nil {
		return err
	}
	ended := t.Created.AddDate(-1, 0, 0)
	m.tokens = slices.DeleteFunc(m.tokens, func(o identity.Token) bool {
		return o.Expired(ended) || !o.Revoked.IsZero() && !o.Revoked.After(ended)
	})
	live := 0
	for _, o := range m.tokens {
		if !o.Live(t.Created) {
			continue
		}
		if live++; o.Name == t.Name {
			return identity.NameTaken(t.Name)
		}
	}
	if live >= identity.MaxTokens {
		return contract.Errorf(contract.Limited, "There are %d tokens", live)
	}
	m.tokens = append(m.tokens, t)
	return nil
}

func (m *memory) ByHash(ctx context.Context, hash string) (identity.Token, bool, error) {
	leave, err := m.enter(ctx)
	defer leave()
	if err != nil {
		return identity.Token{}, false, err
	}
	for _, t := range m.tokens {
		if t.Hash == hash {
			return t, true, nil
		}
	}
	return identity.Token{}, false, nil
}

func (m *memory) List(ctx context.Context) ([]identity.Token, error) {
	leave, err := m.enter(ctx)
	defer leave()
	return m.newest(), err
}

func (m *memory) newest() []identity.Token {
	list := slices.Clone(m.tokens)
	slices.SortFunc(list, func(a, b identity.Token) int {
		return cmp.Or(b.Created.Compare(a.Created), cmp.Compare(b.ID, a.ID))
	})
	return list
}

func (m *memory) Revoke(ctx context.Context, idOrName string, now time.Time) (identity.Token, error) {
	leave, err := m.enter(ctx)
	defer leave()
	if err != nil {
		return identity.Token{}, err
	}
	list := m.newest()
	for _, fits := range []func(identity.Token) bool{
		func(t identity.Token) bool { return t.ID == idOrName },
		func(t identity.Token) bool { return t.Name == idOrName && t.Revoked.IsZero() },
		func(t identity.Token) bool { return t.Name == idOrName },
	} {
		i := slices.IndexFunc(list, fits)
		if i < 0 {
			continue
		}
		at := slices.IndexFunc(m.tokens, func(t identity.Token) bool { return t.ID == list[i].ID })
		if m.tokens[at].Revoked.IsZero() {
			m.tokens[at].Revoked = now
		}
		return m.tokens[at], nil
	}
	return identity.Token{}, identity.TokenNotFound(idOrName)
}

func (m *memory) Replace(ctx context.Context, id string, t identity.Token) error {
	leave, err := m.enter(ctx)
	defer leave()
	if err != nil {
		return err
	}
	i := slices.IndexFunc(m.tokens, func(o identity.Token) bool { return o.ID == id && o.Revoked.IsZero() && o.Hash == t.Hash })
	if i < 0 {
		return identity.NotLive(t.Name)
	}
	m.tokens[i] = t
	return nil
}

func (m *memory) Use(ctx context.Context, id string, now time.Time) error {
	leave, err := m.enter(ctx)
	defer leave()
	if err != nil {
		return err
	}
	m.uses++
	for i := range m.tokens {
		if t := &m.tokens[i]; t.ID == id && now.After(t.Used) {
			t.Used = now
		}
	}
	return nil
}

// sessionMemory is a SessionStore in memory. It passes the suite too.
type sessionMemory struct {
	mu       sync.Mutex
	sessions []identity.Session
	voids    map[string]time.Time
	touches  int
	fail     error // returned by every method, if set
}

var _ identity.SessionStore = (*sessionMemory)(nil)

func (s *sessionMemory) enter(ctx context.Context) (leave func(), err error) {
	s.mu.Lock()
	return s.mu.Unlock, cmp.Or(s.fail, ctx.Err())
}

func (s *sessionMemory) Add(ctx context.Context, n identity.Session) error {
	leave, err := s.enter(ctx)
	defer leave()
	if err != nil {
		return err
	}
	s.sessions = slices.DeleteFunc(s.sessions, func(o identity.Session) bool { return !o.Expires.After(n.Created) })
	s.sessions = append(s.sessions, n)
	return nil
}

func (s *sessionMemory) ByHash(ctx context.Context, hash string) (identity.Session, bool, error) {
	leave, err := s.enter(ctx)
	defer leave()
	if err != nil {
		return identity.Session{}, false, err
	}
	for _, n := range s.sessions {
		if n.Hash == hash {
			return n, true, nil
		}
	}
	return identity.Session{}, false, nil
}

func (s *sessionMemory) List(ctx context.Context) ([]identity.Session, error) {
	leave, err := s.enter(ctx)
	defer leave()
	list := slices.Clone(s.sessions)
	slices.SortFunc(list, func(a, b identity.Session) int {
		return cmp.Or(b.Created.Compare(a.Created), cmp.Compare(a.Hash, b.Hash))
	})
	return list, err
}

func (s *sessionMemory) Touch(ctx context.Context, hash string, now time.Time) error {
	leave, err := s.enter(ctx)
	defer leave()
	if err != nil {
		return err
	}
	s.touches++
	for i := range s.sessions {
		if n := &s.sessions[i]; n.Hash == hash && now.After(n.Seen) {
			n.Seen = now
		}
	}
	return nil
}

func (s *sessionMemory) End(ctx context.Context, hash string) error {
	leave, err := s.enter(ctx)
	defer leave()
	if err != nil {
		return err
	}
	s.sessions = slices.DeleteFunc(s.sessions, func(n identity.Session) bool { return n.Hash == hash })
	return nil
}

func (s *sessionMemory) Void(ctx context.Context, whose string, until, forget time.Time) error {
	leave, err := s.enter(ctx)
	defer leave()
	if err != nil {
		return err
	}
	maps.DeleteFunc(s.voids, func(_ string, at time.Time) bool { return at.Before(forget) })
	if s.voids == nil {
		s.voids = map[string]time.Time{}
	}
	if until.After(s.voids[whose]) {
		s.voids[whose] = until
	}
	return nil
}

func (s *sessionMemory) Voided(ctx context.Context, whose ...string) (latest time.Time, err error) {
	leave, err := s.enter(ctx)
	defer leave()
	for _, one := range whose {
		if at := s.voids[one]; at.After(latest) {
			latest = at
		}
	}
	return latest, err
}
