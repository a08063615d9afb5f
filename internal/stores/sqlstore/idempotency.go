package sqlstore

import (
	"context"
	"errors"
	"fmt"
	"time"

	"remit/internal/engine/idempotency"
)

// idempotencyKeys stores the answers of calls that have an idempotency key. It implements
// idempotency.Store.
type idempotencyKeys struct{ db *DB }

// Idempotency returns the store of idempotency keys in this database.
func (db *DB) Idempotency() idempotency.Store { return idempotencyKeys{db} }

// The states of a key: claimed by a call whose effect is outside of the database and has not
// finished, or kept with its answer.
const (
	stateClaimed = "claimed"
	stateKept    = "kept"
)

// A transaction that takes the same key at the same time waits here until the other one ends, in
// whichever process that runs.
const takeKey = `
INSERT INTO once_keys (principal, tool, key, request, state, created_at, lease_until)
VALUES ($1, $2, $3, $4, $5, $6, $7)
ON CONFLICT (principal, tool, key) DO NOTHING`

const findKey = `
SELECT request, state, answer, lease_until FROM once_keys
WHERE principal = $1 AND tool = $2 AND key = $3`

const keepAnswer = `
UPDATE once_keys SET state = 'kept', answer = $4, lease_until = NULL
WHERE principal = $1 AND tool = $2 AND key = $3`

const releaseKey = `
DELETE FROM once_keys
WHERE principal = $1 AND tool = $2 AND key = $3 AND state = 'claimed'`

// Each call that takes a key deletes up to two expired ones. So expired keys do not pile up, and no
// single call has to delete many.
const pruneKeys = `
DELETE FROM once_keys WHERE (principal, tool, key) IN (
	SELECT principal, tool, key FROM once_keys
	WHERE created_at <= $1 ORDER BY created_at LIMIT 2`

func (k idempotencyKeys) Find(
	ctx context.Context, id idempotency.ID, request string, now time.Time,
) (answer []byte, found bool, err error) {
	return lookUpKey(ctx, k.db.reader(ctx), id, request, now)
}

func (k idempotencyKeys) Do(
	ctx context.Context, id idempotency.ID, request string, now time.Time, effect idempotency.Operation,
) (answer []byte, replayed bool, err error) {
	var failed error // the error of the effect itself
	err = k.db.change(ctx, func(ctx context.Context, tx runner) (err error) {
		failed = nil
		answer, replayed, err = k.take(ctx, tx, id, request, stateKept, now, time.Time{})
		if replayed || err != nil {
			return err
		}
		if answer, failed = effect(ctx); failed != nil {
			return failed
		}
		return storeAnswer(ctx, tx, id, answer)
	})
	if failed != nil {
		return nil, false, failed
	}
	if err != nil {
		return nil, false, fmt.Errorf("store keyed call: %w", err)
	}
	return answer, replayed, nil
}

func (k idempotencyKeys) DoOutside(
	ctx context.Context, id idempotency.ID, request string, now, lease time.Time, effect idempotency.Operation,
) (answer []byte, replayed bool, err error) {
	err = k.db.change(ctx, func(ctx context.Context, tx runner) (err error) {
		answer, replayed, err = k.take(ctx, tx, id, request, stateClaimed, now, lease)
		return err
	})
	if err != nil {
		return nil, false, fmt.Errorf("claim a key: %w", err)
	}
	if replayed {
		return answer, true, nil
	}
	answer, err = effect(ctx)
	if errors.Is(err, idempotency.ErrUnknown) {
		return nil, false, err
	}
	return answer, false, k.recordOutcome(ctx, id, answer, err)
}

// recordOutcome records the outcome of an effect outside of the database, even if the caller has
// gone, and returns the error of the effect. A claim that cannot be released expires by itself.
func (k idempotencyKeys) recordOutcome(ctx context.Context, id idempotency.ID, answer []byte, failed error) error {
	ctx, cancel := withTimeout(context.WithoutCancel(ctx))
	defer cancel()
	err := k.db.change(ctx, func(ctx context.Context, tx runner) error {
		if failed == nil {
			return storeAnswer(ctx, tx, id, answer)
		}
		return exec(ctx, tx, releaseKey, id.Owner, id.Tool, id.Key)
	})
	if failed == nil && err != nil {
		return fmt.Errorf("%w: store its answer: %w", idempotency.ErrUnknown, err)
	}
	return failed
}

// take claims a key for this call. If another call has it already, take returns the outcome of that
// call.
func (k idempotencyKeys) take(
	ctx context.Context, tx runner, id idempotency.ID, request, state string, now, lease time.Time,
) (answer []byte, replayed bool, err error) {
	prune := pruneKeys
	if k.db.shared { // skip keys that other transactions are deleting, instead of waiting for them
		prune += " FOR UPDATE SKIP LOCKED"
	}
	if err := exec(ctx, tx, prune+")", micros(now.Add(-idempotency.Retention))); err != nil {
		return nil, false, fmt.Errorf("delete old keys: %w", err)
	}
	taken, err := changesOne(tx.ExecContext(ctx, takeKey, id.Owner, id.Tool, id.Key, request, state, micros(now), micros(lease)))
	if err != nil {
		return nil, false, fmt.Errorf("take the key: %w", err)
	}
	if taken {
		return nil, false, nil
	}
	answer, replayed, err = lookUpKey(ctx, tx, id, request, now)
	if err == nil && !replayed { // released between the two statements; the next call may take it
		err = idempotency.ErrBusy
	}
	return answer, replayed, err
}

// storeAnswer stores the answer of a call that holds its key.
func storeAnswer(ctx context.Context, tx runner, id idempotency.ID, answer []byte) error {
	kept, err := changesOne(tx.ExecContext(ctx, keepAnswer, id.Owner, id.Tool, id.Key, answer))
	if err == nil && !kept {
		err = errors.New("the key was deleted meanwhile")
	}
	return err
}

// lookUpKey returns the answer stored under a key, or an error that says why there is none.
func lookUpKey(ctx context.Context, tx runner, id idempotency.ID, request string, now time.Time) (answer []byte, found bool, err error) {
	var usedFor, state string
	var lease time.Time
	_, found, err = find(ctx, tx, findKey, into(&usedFor, &state, &answer, (*timeColumn)(&lease)), id.Owner, id.Tool, id.Key)
	switch {
	case err != nil:
		return nil, false, fmt.Errorf("look up a key: %w", err)
	case !found:
		return nil, false, nil
	case usedFor != request:
		return nil, false, idempotency.ErrKeyReused
	case state == stateKept:
		return answer, true, nil
	case now.Before(lease):
		return nil, false, idempotency.ErrBusy
	default:
		return nil, false, idempotency.ErrUnknown
	}
}
