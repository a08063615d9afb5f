package app

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"remit/internal/engine/identity"
	"remit/internal/engine/ratelimit"
	"remit/internal/stores/sqlstore"
)

// awayStore is a store of tokens that fails with err, if that is not nil.
type awayStore struct {
	identity.TokenStore
	list []identity.Token
	err  error
}

func (s *awayStore) List(context.Context) ([]identity.Token, error) { return s.list, s.err }

// TestNoTokensAreRemembered takes the database away: that there were no tokens counts for five
// minutes, unless there were some or the database was replaced.
func TestNoTokensAreRemembered(t *testing.T) {
	away := error(&sqlstore.UnreachableError{Reason: "stopped"})
	for name, tc := range map[string]struct {
		list  []identity.Token
		err   error
		after time.Duration
		known bool
	}{
		"just now":                        {err: away, known: true},
		"it hangs":                        {err: context.DeadlineExceeded, known: true},
		"four minutes":                    {err: away, after: 4 * time.Minute, known: true},
		"five minutes":                    {err: away, after: 5 * time.Minute},
		"another error":                   {err: errors.New("denied")},
		"the database is not ours":        {err: doubt(fixNewData, "It was replaced")},
		"there were tokens":               {err: away, list: []identity.Token{{ID: "a"}}},
		"there were tokens, much earlier": {err: away, list: []identity.Token{{ID: "a"}}, after: time.Hour},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				store := &awayStore{list: tc.list}
				tokens := &rememberedTokens{Tokens: &identity.Tokens{
					Store:  func(context.Context) (identity.TokenStore, error) { return store, nil },
					Secret: func() ([]byte, error) { return make([]byte, 32), nil }, Now: time.Now,
				}}
				if found, err := tokens.AnyCreated(t.Context()); err != nil || found != (tc.list != nil) {
					t.Fatalf("%t, %v", found, err)
				}
				store.list, store.err = nil, tc.err
				time.Sleep(tc.after)
				if found, err := tokens.AnyCreated(t.Context()); found || (err == nil) != tc.known {
					t.Errorf("%t, %v", found, err)
				}
			})
		})
	}
}

// limiterFunc is a ratelimit.Limiter.
type limiterFunc func() (time.Duration, error)

func (f limiterFunc) Allow(context.Context, string, ratelimit.Rate, time.Time) (time.Duration, error) {
	return f()
}

func TestLimitsHoldWhileTheDatabaseIsAway(t *testing.T) {
	var err error = &sqlstore.UnreachableError{Reason: "stopped"}
	l := &localLimiter{limiterFunc(func() (time.Duration, error) { return 0, err }), ratelimit.NewMemory()}
	rate, now := ratelimit.Rate{Requests: 2, Per: time.Minute}, time.Now()
	for i := range 3 {
		wait, err := l.Allow(t.Context(), "ada", rate, now)
		if err != nil || (wait > 0) != (i == 2) {
			t.Errorf("call %d: %s, %v", i, wait, err)
		}
	}
	err = errors.New("denied")
	if _, err := l.Allow(t.Context(), "bob", rate, now); err == nil {
		t.Error("a call passed, though the limit cannot be checked")
	}
}
