package books

import (
	"context"
	"errors"

	"remit/internal/contract"
)

// invalidPath is the name of an error that a kind alone does not give.
const invalidPath = "InvalidPathError"

// failure words what a store says. A call that was given up is worded by the engine.
func failure(ctx context.Context, err error) error {
	if err == nil || errors.As(err, new(*contract.Error)) || ctx.Err() != nil && errors.Is(err, ctx.Err()) {
		return err
	}
	return contract.Errorf(contract.Unavailable, "The book storage cannot be used right now; try again").Because(err)
}

// failureAt words what a store says of the object at a key.
func failureAt(ctx context.Context, key string, err error) error {
	var conflict *ConflictError
	switch {
	case errors.Is(err, ErrNotFound):
		return notFound(key).Because(err)
	case errors.As(err, &conflict):
		return conflictAt(key, "", conflict.Actual).Because(err)
	case errors.Is(err, ErrUnknown):
		return contract.Errorf(contract.Unavailable, "Others changed %s at the same time, and the answer of the book storage got lost, so it is not known whether this change was made; read it again", key).
			With("path", key).Because(err)
	case errors.Is(err, ErrNoPlace):
		e := contract.Errorf(contract.Invalid, "%s cannot be stored: a part of it is a file, or it is a folder", key).With("path", key).Because(err)
		e.Code = invalidPath
		return e
	default:
		return failure(ctx, err)
	}
}

// notFound says that there is nothing at a key.
func notFound(key string) *contract.Error {
	return contract.Errorf(contract.NotFound, "Content not found: %s", key).With("path", key)
}

// conflictAt says that somebody else changed an object. expected is "" if the caller
// named no hash, actual is "" if the object is gone.
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
