// Package idempotency keeps what a keyed call came to, so that a repeat gets the stored
// answer.
//
// A client that does not hear of its call cannot know whether it was carried out.
// With a key of its own choosing it may simply repeat the call.
package idempotency

import (
	"context"
	"errors"
	"strings"
	"time"

	"remit/internal/contract"
)

// Kept is how long, at least, a key is remembered.
const Kept = 7 * 24 * time.Hour

// Grace is how long after its deadline a call outside of the store is still taken to
// be under way: clocks differ, and a handler may notice late that it is to stop.
const Grace = 2 * time.Minute

// Why a call with a key is neither carried out nor answered.
var (
	ErrOther   = errors.New("the key was used for another call")
	ErrBusy    = errors.New("a call with the key is under way")
	ErrUnknown = errors.New("whether the call with the key was carried out is not known")
)

// ID is what a key belongs to: the same key of somebody else, or for another tool, is
// another one.
type ID struct {
	Principal string
	Tool      string // set/name
	Key       string // as CheckKey lets through
}

// Effect carries a call out and gives its answer, compact JSON as the caller gets it.
type Effect func(ctx context.Context) (answer []byte, err error)

// Store keeps answers by key. What a method has acknowledged survives a crash. Every
// method is safe for concurrent use, also by several processes. request tells calls
// apart: if the key was used for another request the error is ErrOther. Any error
// that is not stated here, and not the effect's own, means that the store failed. Times
// are kept in microseconds.
type Store interface {
	// Find gives what the call came to; false if it was never carried out. The error
	// is ErrBusy or ErrUnknown where DoOutside claimed the key and has not come back.
	Find(ctx context.Context, id ID, request string, now time.Time) (answer []byte, found bool, err error)

	// Do runs effect in the same transaction as the record of its answer, so that both
	// are kept or neither. The context that effect gets carries the transaction. If it
	// fails nothing is kept, and its error is returned as it is. The store may run it
	// again from the start before it keeps anything; of several at once only one is
	// kept. If the call was carried out meanwhile effect is not run, or nothing of it
	// is kept, and the answer is the kept one: replayed.
	Do(ctx context.Context, id ID, request string, now time.Time, effect Effect) (answer []byte, replayed bool, err error)

	// DoOutside is for an effect that is not in the database: it claims the key until
	// the lease ends, runs effect at most once with ctx as it is, and keeps the answer even if ctx
	// has ended meanwhile. While the claim lasts others get ErrBusy, and if nobody came
	// back by its end ErrUnknown. If effect fails the claim is given up and the error
	// returned as it is, unless that is ErrUnknown: then the claim stays, for the
	// effect may have happened. An answer that cannot be kept is ErrUnknown too.
	DoOutside(ctx context.Context, id ID, request string, now, lease time.Time, effect Effect) (answer []byte, replayed bool, err error)
}

// longestKey is how many characters a key may have.
const longestKey = 255

// CheckKey refuses a key that not every store and every header could carry, as a
// contract.Invalid error.
func CheckKey(key string) error {
	hidden := func(r rune) bool { return r <= ' ' || r >= 0x7f }
	if key == "" || len(key) > longestKey || strings.ContainsFunc(key, hidden) {
		return contract.Errorf(contract.Invalid,
			"The idempotency key must be 1 to %d visible ASCII characters, such as a UUID", longestKey).With("field", "idempotency_key")
	}
	return nil
}
