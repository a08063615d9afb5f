package sqlstore

import (
	"errors"
	"fmt"
)

// doing says what was to be done when err happened, if it did.
func doing(act string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s: %w", act, err)
}

// is tells whether err is, or wraps, an error of a type.
func is[E error](err error) bool {
	_, ok := errors.AsType[E](err)
	return ok
}

// NewerError says that a newer Remit made the database what it is. It is left as it is.
type NewerError struct {
	Version int64 // of the database
	Known   int64 // the latest that this program knows
}

func (e *NewerError) Error() string {
	return fmt.Sprintf("it has version %d and this program knows versions up to %d: a newer Remit wrote it; use that one, or another database", e.Version, e.Known)
}

// UnknownError says that the database was lost while it committed: whether the
// change was kept is not known. It may not simply be made again.
type UnknownError struct{ Cause error }

func (e *UnknownError) Error() string {
	return fmt.Sprintf("the database was lost while it committed, and whether the change was kept is not known: %v", e.Cause)
}

func (e *UnknownError) Unwrap() error { return e.Cause }

// RefusedError says that the database cannot do it until an operator mends
// something. Nothing was kept.
type RefusedError struct {
	Reason string // what is to be mended, without anything secret
	Cause  error
}

func (e *RefusedError) Error() string { return e.Reason }
func (e *RefusedError) Unwrap() error { return e.Cause }

// UnreachableError says that the database does not answer at the moment. Nothing was kept.
type UnreachableError struct {
	Reason string // how it failed, without anything secret
	Cause  error
}

func (e *UnreachableError) Error() string { return "the database cannot be reached: " + e.Reason }
func (e *UnreachableError) Unwrap() error { return e.Cause }
