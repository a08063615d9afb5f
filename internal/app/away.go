package app

import (
	"context"
	"errors"
	"sync"
	"time"

	"remit/internal/engine/identity"
	"remit/internal/engine/ratelimit"
	"remit/internal/stores/sqlstore"
)

// rememberNone is how long it is remembered that there were no tokens, while the database does not
// answer. That there were some is never forgotten.
const rememberNone = 5 * time.Minute

// isAway reports whether an error only says that the database does not answer now.
func isAway(err error) bool {
	if _, inDoubt := doubtOf(err); inDoubt {
		return false
	}
	_, unreachable := errors.AsType[*sqlstore.UnreachableError](err)
	return unreachable || errors.Is(err, context.DeadlineExceeded)
}

// rememberedTokens are the tokens of a database that may not answer for a while. Without tokens,
// what needs no database goes on meanwhile.
type rememberedTokens struct {
	*identity.Tokens

	mu     sync.Mutex
	some   bool      // there were tokens
	noneAt time.Time // when there were none
}

// AnyCreated reports whether a token was ever created here.
func (t *rememberedTokens) AnyCreated(ctx context.Context) (bool, error) {
	found, err := t.Tokens.AnyCreated(ctx)
	t.mu.Lock()
	defer t.mu.Unlock()
	now := t.Now()
	switch age := now.Sub(t.noneAt); {
	case err == nil && found:
		t.some = true
	case err == nil:
		t.noneAt = now
	case !t.some && isAway(err) && 0 <= age && age < rememberNone:
		return false, nil
	}
	return found, err
}

// localLimiter limits the callers of this process alone while the database that counts for all
// replicas does not answer.
type localLimiter struct {
	shared ratelimit.Limiter
	local  ratelimit.Limiter
}

// Allow implements ratelimit.Limiter.
func (l *localLimiter) Allow(ctx context.Context, key string, r ratelimit.Rate, now time.Time) (time.Duration, error) {
	wait, err := l.shared.Allow(ctx, key, r, now)
	if err != nil && isAway(err) {
		return l.local.Allow(ctx, key, r, now)
	}
	return wait, err
}
