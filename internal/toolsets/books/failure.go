package books

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strings"
	"time"

	"remit/internal/contract"
	"remit/internal/engine"
)

// invalidPath is an error code that cannot be derived from the error's kind.
const invalidPath = "InvalidPathError"

// failure converts an error of a store into a contract.Error. It leaves the error of a cancelled
// call to the engine.
func failure(ctx context.Context, err error) error {
	if err == nil || errors.As(err, new(*contract.Error)) || ctx.Err() != nil && errors.Is(err, ctx.Err()) {
		return err
	}
	return contract.Errorf(contract.Unavailable, "The book storage cannot be used right now; try again").Because(err)
}

// failureAt converts an error of a store about the object at a key into a contract.Error.
func failureAt(ctx context.Context, key string, err error) error {
	var conflict *ConflictError
	var unknown *UnknownError
	var pending *PendingError
	switch {
	case errors.Is(err, ErrNotFound) && !errors.As(err, new(*contract.Error)):
		return notFound(key).Because(err)
	case errors.As(err, &conflict):
		return conflictAt(key, "", conflict.Actual).Because(err)
	case errors.As(err, &unknown):
		return contract.Errorf(contract.Unavailable, "It is not known yet whether %s was changed: the book storage did not answer. "+
			"Remit finds out within %d s; read it then, before you repeat the change", key, secondsUntil(unknown.Until)).
			With("path", key).Because(fmt.Errorf("%w: %w", engine.ErrUnknownOutcome, err))
	case errors.As(err, &pending):
		return contract.Errorf(contract.Unavailable, "An earlier write of %s may still reach the book storage, so nothing was changed; "+
			"try again in %d s", key, secondsUntil(pending.Until)).With("path", key).Because(err)
	case errors.Is(err, ErrUnknown):
		return contract.Errorf(contract.Unavailable, "It is unknown whether %s was changed; read it before you repeat the change", key).
			With("path", key).Because(fmt.Errorf("%w: %w", engine.ErrUnknownOutcome, err))
	case errors.Is(err, ErrPathConflict):
		e := contract.Errorf(contract.Invalid, "%s cannot be stored: a part of the path is a file, or the path is a folder", key).With("path", key).Because(err)
		e.Code = invalidPath
		return e
	default:
		return failure(ctx, err)
	}
}

// storedAnyway returns the error for a file that was stored although its book could not be
// registered.
func storedAnyway(key string, err error) error {
	var failed *contract.Error
	if !errors.As(err, &failed) {
		return err
	}
	stored := *failed
	// Only the registry is unchanged.
	why := strings.Replace(failed.Message, ", so nothing was changed", "", 1)
	stored.Message = fmt.Sprintf("%s is stored, but its book is not in %s yet. %s", key, registryKey, why)
	return &stored
}

// secondsUntil returns the seconds until a time, at least one.
func secondsUntil(at time.Time) int {
	return max(1, int(math.Ceil(time.Until(at).Seconds())))
}

// notFound returns the error for a key without an object.
func notFound(key string) *contract.Error {
	return contract.Errorf(contract.NotFound, "Content not found: %s", key).With("path", key)
}

// conflictAt returns the error for an object that somebody else changed. expected is "" if the
// caller named no hash; actual is "" if the object was deleted.
func conflictAt(key, expected, actual string) *contract.Error {
	e := contract.Errorf(contract.Conflict, "Content changed meanwhile: %s; read it again and merge", key).With("path", key)
	if expected != "" {
		e = e.With("expected_hash", expected)
	}
	if actual == "" {
		return e.With("actual_hash", nil)
	}
	return e.With("actual_hash", actual)
}
