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

// keyed reports whether the call runs only once for its key, however often it is repeated. Tools
// that only read ignore keys, because reading again does no harm.
func (w *work) keyed() bool { return w.call.Continuation.Key != "" && !w.tool.Hints.ReadOnly }

// bindKey checks the key. A call that continues must have the key of its first attempt.
func (w *work) bindKey() error {
	key := w.call.Key
	if key == "" {
		return nil
	}
	if err := idempotency.CheckKey(key); err != nil {
		return err
	}
	if w.call.Continuation.Attempt > 0 && key != w.call.Continuation.Key {
		return contract.Errorf(contract.Invalid, "The idempotency key differs from the key that the call began with; send that key, or none")
	}
	w.call.Continuation.Key = key
	return nil
}

// replay returns the answer of an earlier call with the same key, if there is one. It runs before
// approval, so that nobody is asked about a call that has been carried out.
func (w *work) replay(ctx context.Context, args *jsontree.Value) (answer jsontree.Value, err error) {
	if !w.keyed() {
		return answer, nil
	}
	if w.engine.Idempotency == nil {
		return answer, contract.Errorf(contract.Invalid, "This server does not store idempotency keys; call %s without one", w.tool.Name)
	}
	w.request = w.digest(args)
	w.repeats = w.keyDigest()
	limited := w.engine.withDeadline(ctx, w.timeout(), w.caller(), w.call.Grant, nil)
	defer limited.cancel()
	kept, found, err := w.find(limited)
	switch {
	case err != nil:
		return answer, w.callerError(ctx, limited, w.keyError(limited, err))
	case !found:
		return answer, nil
	}
	return w.useStored(kept)
}

func (w *work) find(ctx context.Context) (kept []byte, found bool, err error) {
	store, err := w.engine.Idempotency(ctx)
	if err != nil {
		return nil, false, err
	}
	return store.Find(ctx, w.id(), w.request, w.engine.Now())
}

// digest identifies the content of a call with a key: its accepted arguments and the major version
// of the contract.
func (w *work) digest(args *jsontree.Value) string {
	sum := sha256.Sum256(append([]byte(strconv.Itoa(w.tool.Version.Major)+"\n"), args.Canonical()...))
	return hex.EncodeToString(sum[:])
}

// keyDigest identifies the key and the content of a call in audit records.
func (w *work) keyDigest() string {
	id := w.id()
	sum := sha256.Sum256([]byte(id.Owner + "\x00" + id.Tool + "\x00" + id.Key + "\x00" + w.request))
	return hex.EncodeToString(sum[:10])
}

func (w *work) id() idempotency.ID {
	return idempotency.ID{Owner: w.call.Owner(), Tool: w.tool.ID, Key: w.call.Continuation.Key}
}

// useStored makes a stored answer the answer of this call, which then has done nothing.
func (w *work) useStored(kept []byte) (jsontree.Value, error) {
	answer, err := jsontree.ParseTrusted(kept)
	if err != nil {
		return answer, fmt.Errorf("read stored answer: %w", err)
	}
	w.replayed, w.ran = true, false
	return answer, nil
}

// runOnce runs the handler of a keyed call. It stores an answer as the caller gets it, and does not
// store failures.
func (w *work) runOnce(ctx context.Context, invoke invocation) (answer jsontree.Value, err error) {
	store, err := w.engine.Idempotency(ctx)
	if err != nil {
		return answer, w.keyError(ctx, err)
	}
	var failure error // of the handler
	effect := func(ctx context.Context) ([]byte, error) {
		if answer, failure = w.runRecovered(ctx, invoke); failure == nil {
			return answer.Append(make([]byte, 0, 256)), nil
		}
		if !w.tool.transactional && !hasNoEffect(failure) {
			return nil, fmt.Errorf("%w: %w", idempotency.ErrUnknown, failure)
		}
		return nil, failure
	}
	kept, replayed, err := w.do(ctx, store, effect)
	switch {
	case failure != nil && err != nil:
		return answer, failure
	case err != nil:
		return answer, w.keyError(ctx, err)
	case replayed:
		return w.useStored(kept)
	}
	return answer, nil
}

func (w *work) do(ctx context.Context, store idempotency.Store, effect idempotency.Operation) (kept []byte, replayed bool, err error) {
	now := w.engine.Now()
	if w.tool.transactional {
		return store.Do(ctx, w.id(), w.request, now, effect)
	}
	lease := now.Add(w.timeout() + idempotency.Grace)
	return store.DoOutside(ctx, w.id(), w.request, now, lease, effect)
}

// runRecovered runs the handler and recovers its panics, because the store must give up or keep its
// claim afterwards.
func (w *work) runRecovered(ctx context.Context, invoke invocation) (answer jsontree.Value, err error) {
	defer w.engine.recoverPanic(w.tool.ID, &err)
	return w.runHandler(ctx, invoke)
}

// ErrUnknownOutcome is wrapped by the error of a handler that does not know whether it changed
// anything. A call with an idempotency key then keeps its key.
var ErrUnknownOutcome = idempotency.ErrUnknown

// hasNoEffect reports whether a handler that failed has certainly changed nothing: it returned an
// error of the contract, or it only asked the client. A handler that was stopped or that panicked
// may have changed anything, and so may one whose error wraps idempotency.ErrUnknown.
func hasNoEffect(failure error) bool {
	var own *contract.Error
	var missing *MissingCapabilityError
	_, waits := paused(failure)
	switch {
	case errors.As(failure, &own):
		return own.Kind != contract.Internal && !errors.Is(own, idempotency.ErrUnknown)
	default:
		return waits || errors.As(failure, &missing) || errors.Is(failure, errNoPeer)
	}
}

// keyError returns the error of a keyed call that has no answer although its handler did not fail.
func (w *work) keyError(ctx context.Context, err error) error {
	refuse := func(kind contract.Kind, format string, args ...any) error {
		return contract.Errorf(kind, format, args...).Because(err)
	}
	switch {
	case errors.Is(err, idempotency.ErrKeyReused):
		return refuse(contract.Conflict, "Idempotency key %s was used for another call; use a new key", w.call.Continuation.Key)
	case errors.Is(err, idempotency.ErrBusy):
		return refuse(contract.Unavailable, "The call with idempotency key %s is still running; repeat it in a moment", w.call.Continuation.Key)
	case w.ran && w.tool.transactional:
		return refuse(contract.Unavailable, "It is unknown whether %s was carried out; repeat it with the same idempotency key", w.tool.Name)
	case w.ran:
		return refuse(contract.Unavailable, "%s was carried out, but its idempotency key could not be stored; do not repeat it",
			w.tool.Name)
	case errors.Is(err, idempotency.ErrUnknown):
		return refuse(contract.Conflict, "It is unknown whether the call with idempotency key %s was carried out, because it was interrupted; "+
			"check its effect, and use a new key if it was not", w.call.Continuation.Key)
	case ctx.Err() != nil && errors.Is(err, ctx.Err()):
		return err
	default:
		return refuse(contract.Unavailable, "Idempotency keys cannot be looked up right now, so %s was not run; try again", w.tool.Name)
	}
}
