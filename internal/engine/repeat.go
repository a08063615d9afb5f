package engine

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"strconv"

	"remit/internal/contract"
	"remit/internal/contract/jsontree"
	"remit/internal/engine/idempotency"
)

// keyed tells whether the call is carried out once for its key, however often it is
// repeated. What only reads may as well be read again.
func (w *work) keyed() bool { return w.next.Key != "" && !w.tool.Hints.ReadOnly }

// bindKey checks the key. It stays that of the first round.
func (w *work) bindKey() error {
	key := w.call.Key
	if key == "" {
		return nil
	}
	if err := idempotency.CheckKey(key); err != nil {
		return err
	}
	if w.call.Round.Number > 0 && key != w.call.Round.Key {
		return contract.Errorf(contract.Invalid, "The idempotency key is not the one that the call began with; send that, or none")
	}
	w.next.Key = key
	return nil
}

// replay gives the answer of an earlier call with the same key, if there is one.
// Nobody is asked again about what has been done.
func (w *work) replay(ctx context.Context, args *jsontree.Value) (answer jsontree.Value, err error) {
	if !w.keyed() {
		return answer, nil
	}
	if w.engine.Once == nil {
		return answer, contract.Errorf(contract.Invalid, "This server keeps no idempotency keys; call %s without one", w.tool.Name)
	}
	w.request = w.digest(args)
	limited := w.engine.within(ctx, w.engine.limit(w.tool), w.caller(), w.call.Grant, nil)
	defer limited.cancel()
	kept, found, err := w.find(limited)
	switch {
	case err != nil:
		return answer, w.worded(ctx, limited, w.unkept(limited, err))
	case !found:
		return answer, nil
	}
	return w.repeated(kept)
}

func (w *work) find(ctx context.Context) (kept []byte, found bool, err error) {
	store, err := w.engine.Once(ctx)
	if err != nil {
		return nil, false, err
	}
	return store.Find(ctx, w.id(), w.request, w.engine.Now())
}

// digest tells calls with the same key apart: by what was accepted, and by the promise
// that it was accepted under.
func (w *work) digest(args *jsontree.Value) string {
	sum := sha256.Sum256(append([]byte(strconv.Itoa(w.tool.Version.Major)+"\n"), args.Canonical()...))
	return hex.EncodeToString(sum[:])
}

func (w *work) id() idempotency.ID {
	return idempotency.ID{Principal: w.call.Principal, Tool: w.tool.ID, Key: w.next.Key}
}

// repeated makes a kept answer that of this call, which then has done nothing.
func (w *work) repeated(kept []byte) (jsontree.Value, error) {
	answer, err := jsontree.Parse(kept)
	if err != nil {
		return answer, fmt.Errorf("read a kept answer: %w", err)
	}
	w.replayed, w.ran = true, false
	return answer, nil
}

// once runs the handler of a keyed call. An answer is kept as the caller gets it, and
// a failure is not kept at all.
func (w *work) once(ctx context.Context, invoke invocation) (answer jsontree.Value, err error) {
	store, err := w.engine.Once(ctx)
	if err != nil {
		return answer, w.unkept(ctx, err)
	}
	var failure error // the handler's own
	effect := func(ctx context.Context) ([]byte, error) {
		if answer, failure = w.contained(ctx, invoke); failure == nil {
			return answer.Append(make([]byte, 0, 256)), nil
		}
		if !w.tool.inside && !isCertain(failure) {
			return nil, fmt.Errorf("%w: %w", idempotency.ErrUnknown, failure)
		}
		return nil, failure
	}
	kept, replayed, err := w.do(ctx, store, effect)
	switch {
	case failure != nil && err != nil:
		return answer, failure
	case err != nil:
		return answer, w.unkept(ctx, err)
	case replayed:
		return w.repeated(kept)
	}
	return answer, nil
}

func (w *work) do(ctx context.Context, store idempotency.Store, effect idempotency.Effect) (kept []byte, replayed bool, err error) {
	now := w.engine.Now()
	if w.tool.inside {
		return store.Do(ctx, w.id(), w.request, now, effect)
	}
	lease := now.Add(w.engine.limit(w.tool) + idempotency.Grace)
	return store.DoOutside(ctx, w.id(), w.request, now, lease, effect)
}

// contained keeps a panic of the handler from the store, which has to give up or keep
// what it holds.
func (w *work) contained(ctx context.Context, invoke invocation) (answer jsontree.Value, err error) {
	defer w.engine.contain(w.tool.ID, &err)
	return w.carryOut(ctx, invoke)
}

// isCertain tells whether a handler that failed has done nothing: it says so itself, or
// it has only asked. One that was stopped, or broke, may have done anything, and so may
// one that gives idempotency.ErrUnknown as the cause of what it says.
func isCertain(failure error) bool {
	var own *contract.Error
	var missing *IncapableError
	_, waits := paused(failure)
	switch {
	case errors.As(failure, &own):
		return own.Kind != contract.Internal && !errors.Is(own, idempotency.ErrUnknown)
	default:
		return waits || errors.As(failure, &missing) || errors.Is(failure, errNoPeer)
	}
}

// unkept words why a keyed call has no answer, though its handler did not fail.
func (w *work) unkept(ctx context.Context, err error) error {
	refuse := func(kind contract.Kind, format string, args ...any) error {
		return contract.Errorf(kind, format, args...).Because(err)
	}
	switch {
	case errors.Is(err, idempotency.ErrOther):
		return refuse(contract.Conflict, "Idempotency key %s was used for another call; use a new key", w.next.Key)
	case errors.Is(err, idempotency.ErrBusy):
		return refuse(contract.Unavailable, "The call with idempotency key %s is still under way; repeat it in a moment", w.next.Key)
	case w.ran && w.tool.inside:
		return refuse(contract.Unavailable, "Whether %s was carried out is not known; repeat it with the same idempotency key", w.tool.Name)
	case w.ran:
		return refuse(contract.Unavailable, "%s was carried out, but its idempotency key could not be kept; do not repeat it", w.tool.Name)
	case errors.Is(err, idempotency.ErrUnknown):
		return refuse(contract.Conflict, "Whether the call with idempotency key %s was carried out is not known, because it broke off; "+
			"look, and use a new key if it was not", w.next.Key)
	case ctx.Err() != nil && errors.Is(err, ctx.Err()):
		return err
	default:
		return refuse(contract.Unavailable, "Idempotency keys cannot be looked up right now, so %s was not run; try again", w.tool.Name)
	}
}
