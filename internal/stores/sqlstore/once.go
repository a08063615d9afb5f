package sqlstore

import (
	"context"
	"errors"
	"fmt"
	"time"

	"remit/internal/engine/idempotency"
)

// keys keeps the answers of keyed calls.
type keys struct{ db *DB }

// Once returns the answers of keyed calls in this database.
func (db *DB) Once() idempotency.Store { return keys{db} }

// The states of a key: claimed by a call outside of the database that has not come
// back, or kept with its answer.
const (
	stateClaimed = "claimed"
	stateKept    = "kept"
)

// Whoever takes the same key at the same time waits here for the end of the other's
// transaction, in whichever process.
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

const giveUpKey = `
DELETE FROM once_keys
WHERE principal = $1 AND tool = $2 AND key = $3 AND state = 'claimed'`

// Each call that takes a key forgets up to two old ones, so that there are never more
// than those of the last days for long, and no call pays for many.
const pruneKeys = `
DELETE FROM once_keys WHERE (principal, tool, key) IN (
	SELECT principal, tool, key FROM once_keys
	WHERE created_at <= $1 ORDER BY created_at LIMIT 2`

func (k keys) Find(ctx context.Context, id idempotency.ID, request string, now time.Time) (answer []byte, found bool, err error) {
	return lookUpKey(ctx, k.db.reader(ctx), id, request, now)
}

func (k keys) Do(ctx context.Context, id idempotency.ID, request string, now time.Time, effect idempotency.Effect) (answer []byte, replayed bool, err error) {
	var failed error // as the effect gave it
	err = k.db.change(ctx, func(ctx context.Context, tx runner) (err error) {
		failed = nil
		answer, replayed, err = k.take(ctx, tx, id, request, stateKept, now, time.Time{})
		if replayed || err != nil {
			return err
		}
		if answer, failed = effect(ctx); failed != nil {
			return failed
		}
		return keep(ctx, tx, id, answer)
	})
	if failed != nil {
		return nil, false, failed
	}
	if err != nil {
		return nil, false, fmt.Errorf("keep a call with a key: %w", err)
	}
	return answer, replayed, nil
}

func (k keys) DoOutside(ctx context.Context, id idempotency.ID, request string, now, lease time.Time, effect idempotency.Effect) (answer []byte, replayed bool, err error) {
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
	return answer, false, k.settle(ctx, id, answer, err)
}

// settle notes what became of an effect outside, whoever still waits for it, and gives
// back how it failed. A claim that cannot be given up ends by itself.
func (k keys) settle(ctx context.Context, id idempotency.ID, answer []byte, failed error) error {
	ctx, cancel := withPatience(context.WithoutCancel(ctx))
	defer cancel()
	err := k.db.change(ctx, func(ctx context.Context, tx runner) error {
		if failed == nil {
			return keep(ctx, tx, id, answer)
		}
		return exec(ctx, tx, giveUpKey, id.Principal, id.Tool, id.Key)
	})
	if failed == nil && err != nil {
		return fmt.Errorf("%w: keep its answer: %w", idempotency.ErrUnknown, err)
	}
	return failed
}

// take makes a key ours. If it is somebody's already it tells what came of that.
func (k keys) take(ctx context.Context, tx runner, id idempotency.ID, request, state string, now, lease time.Time) (answer []byte, replayed bool, err error) {
	prune := pruneKeys
	if k.db.shared { // leave out those that others are deleting, for which it would wait
		prune += " FOR UPDATE SKIP LOCKED"
	}
	if err := exec(ctx, tx, prune+")", micros(now.Add(-idempotency.Kept))); err != nil {
		return nil, false, fmt.Errorf("forget old keys: %w", err)
	}
	taken, err := changesOne(tx.ExecContext(ctx, takeKey, id.Principal, id.Tool, id.Key, request, state, micros(now), micros(lease)))
	if err != nil {
		return nil, false, fmt.Errorf("take the key: %w", err)
	}
	if taken {
		return nil, false, nil
	}
	answer, replayed, err = lookUpKey(ctx, tx, id, request, now)
	if err == nil && !replayed { // given up between the two statements; whoever comes next may have it
		err = idempotency.ErrBusy
	}
	return answer, replayed, err
}

// keep notes the answer of a call whose key is ours.
func keep(ctx context.Context, tx runner, id idempotency.ID, answer []byte) error {
	kept, err := changesOne(tx.ExecContext(ctx, keepAnswer, id.Principal, id.Tool, id.Key, answer))
	if err == nil && !kept {
		err = errors.New("the key was forgotten meanwhile")
	}
	return err
}

// lookUpKey tells what a key came to.
func lookUpKey(ctx context.Context, tx runner, id idempotency.ID, request string, now time.Time) (answer []byte, found bool, err error) {
	var usedFor, state string
	var lease time.Time
	_, found, err = find(ctx, tx, findKey, into(&usedFor, &state, &answer, (*timeColumn)(&lease)), id.Principal, id.Tool, id.Key)
	switch {
	case err != nil:
		return nil, false, fmt.Errorf("look up a key: %w", err)
	case !found:
		return nil, false, nil
	case usedFor != request:
		return nil, false, idempotency.ErrOther
	case state == stateKept:
		return answer, true, nil
	case now.Before(lease):
		return nil, false, idempotency.ErrBusy
	default:
		return nil, false, idempotency.ErrUnknown
	}
}
