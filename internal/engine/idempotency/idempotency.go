// Package idempotency defines how the results of calls with an idempotency key are stored, so that
// a repeated call gets the stored answer.
//
// A client that gets no answer cannot know whether its call was carried out. If it sent a key of
// its own choice, it can safely repeat the call with the same key.
package idempotency

import (
	"context"
	"errors"
	"strings"
	"time"

	"remit/internal/contract"
)

// Retention is the minimum time for which a store remembers a key.
const Retention = 7 * 24 * time.Hour

// Grace is how long after its deadline a call outside of the store still counts as running: clocks
// differ, and a handler may notice late that it must stop.
const Grace = 2 * time.Minute

// These errors say why a call with a key is neither carried out nor answered.
var (
	ErrKeyReused = errors.New("the key was used for another call")
	ErrBusy      = errors.New("a call with the key is still running")
	ErrUnknown   = errors.New("it is unknown whether the call with the key was carried out")
)

// ID identifies a stored call. The same key of another owner, or for another tool, is a different
// ID.
type ID struct {
	Owner string // see engine.Call.Owner
	Tool  string // set/name
	Key   string // accepted by CheckKey
}

// Operation carries out a call and returns its answer: compact JSON, as the caller gets it.
type Operation func(ctx context.Context) (answer []byte, err error)

// Store keeps answers by key. What a method has acknowledged survives a crash. Every method is safe
// for concurrent use, also by several processes. request identifies the content of the call: if the
// key was used for another request, the error is ErrOther. Any error that is not stated here, and
// that effect did not return, means that the store failed. Times have microsecond precision.
type Store interface {
	// Find returns the stored answer of the call, or false if it was never carried out. The error
	// is ErrBusy or ErrUnknown if DoOutside claimed the key and has not returned.
	Find(ctx context.Context, id ID, request string, now time.Time) (answer []byte, found bool, err error)

	// Do runs effect in the same transaction that stores its answer, so that both are kept or
	// neither. The context that effect gets carries the transaction. If effect fails, nothing is
	// kept and Do returns its error unchanged. The store may run effect again from the start before
	// it keeps anything; of several concurrent runs only one is kept. If the call was carried out
	// meanwhile, effect does not run, or its changes are rolled back, and Do returns the stored
	// answer with replayed set.
	Do(ctx context.Context, id ID, request string, now time.Time, effect Operation) (answer []byte, replayed bool, err error)

	// DoOutside is for an effect that is not in the database. It claims the key until lease, runs
	// effect at most once with ctx unchanged, and stores the answer even if ctx has ended
	// meanwhile. While the claim lasts, other calls get ErrBusy; after it ends without an answer,
	// they get ErrUnknown. If effect fails, DoOutside gives up the claim and returns the error
	// unchanged, unless it is ErrUnknown: then the claim stays, because the effect may have
	// happened. If the answer cannot be stored, the error is ErrUnknown too.
	DoOutside(ctx context.Context, id ID, request string, now, lease time.Time, effect Operation) (answer []byte, replayed bool, err error)
}

// maxKeyLength is how many characters a key may have.
const maxKeyLength = 255

// CheckKey returns a contract.Invalid error for a key that some store or HTTP header could not
// carry.
func CheckKey(key string) error {
	hidden := func(r rune) bool { return r <= ' ' || r >= 0x7f }
	if key == "" || len(key) > maxKeyLength || strings.ContainsFunc(key, hidden) {
		return contract.Errorf(contract.Invalid,
			"The idempotency key must be 1 to %d visible ASCII characters, such as a UUID", maxKeyLength).With("field", "idempotency_key")
	}
	return nil
}
