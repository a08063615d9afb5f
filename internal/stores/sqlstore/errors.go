package sqlstore

import (
	"errors"
	"fmt"
)

// wrap wraps err with the act that failed. It returns nil if err is nil.
func wrap(act string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s: %w", act, err)
}

// is reports whether err is, or wraps, an error of type E.
func is[E error](err error) bool {
	_, ok := errors.AsType[E](err)
	return ok
}

// SchemaTooNewError reports that a newer Remit wrote the database. The database is left unchanged.
type SchemaTooNewError struct {
	Version int64 // of the database
	Known   int64 // the latest version that this program supports
}

func (e *SchemaTooNewError) Error() string {
	return fmt.Sprintf("the database has version %d, but this program supports versions up to %d: a newer Remit "+
		"wrote it; use that Remit, or another database", e.Version, e.Known)
}

// CommitUnknownError reports that the connection to the database was lost during a commit, so it is
// unknown whether the change was stored. The caller must not simply repeat the change.
type CommitUnknownError struct{ Cause error }

func (e *CommitUnknownError) Error() string {
	return fmt.Sprintf("the connection to the database was lost during the commit, so it is unknown whether the "+
		"change was stored: %v", e.Cause)
}

func (e *CommitUnknownError) Unwrap() error { return e.Cause }

// RefusedError reports that the database cannot do the work until an operator fixes something.
// Nothing was stored.
type RefusedError struct {
	Reason string // what to fix, without any secret
	Cause  error
}

func (e *RefusedError) Error() string { return e.Reason }
func (e *RefusedError) Unwrap() error { return e.Cause }

// UnreachableError reports that the database does not answer at the moment. Nothing was stored.
type UnreachableError struct {
	Reason string // how it failed, without any secret
	Cause  error
}

func (e *UnreachableError) Error() string { return "the database cannot be reached: " + e.Reason }
func (e *UnreachableError) Unwrap() error { return e.Cause }
