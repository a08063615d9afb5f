package contract

import (
	"cmp"
	"errors"
	"fmt"
)

// Kind says what went wrong in Remit's own words; a contract maps each kind to
// the code and the wording that its callers were promised.
type Kind string

// The kinds of failure, from the caller's fault to ours.
const (
	Invalid     Kind = "invalid"     // the arguments break the contract
	Denied      Kind = "denied"      // a rule or a person says no
	NotFound    Kind = "not_found"   // there is no such thing
	Conflict    Kind = "conflict"    // it changed meanwhile
	TooLarge    Kind = "too_large"   // over a size the contract states
	Limited     Kind = "limited"     // too many calls; details hold retry_after
	Pending     Kind = "pending"     // a person has yet to approve
	Unavailable Kind = "unavailable" // a store is down or the deadline passed; try again
	Internal    Kind = "internal"    // a fault of Remit
)

// Kinds lists every kind, in the order in which documents show them.
func Kinds() []Kind {
	return []Kind{Invalid, Denied, NotFound, Conflict, TooLarge, Limited, Pending, Unavailable, Internal}
}

// Status is the HTTP status of a failure. A call that waits for a person has
// neither failed nor been carried out: it is accepted.
func (k Kind) Status() int { return cmp.Or(statuses[k], 500) }

var statuses = map[Kind]int{
	Invalid: 400, Denied: 403, NotFound: 404, Conflict: 409, TooLarge: 413, Limited: 429, Pending: 202, Unavailable: 503,
}

// Error is the only failure a caller ever sees. Message and Details are for the
// caller; Cause is for the log and is never sent.
type Error struct {
	Kind    Kind
	Code    string // overrides the code that the contract gives the kind, if set
	Message string
	Details map[string]any
	Cause   error

	schema bool // arguments break the schema, and it has no words of its own for that
}

// Errorf makes an Error of a kind, with a message for the caller.
func Errorf(kind Kind, format string, args ...any) *Error {
	return &Error{Kind: kind, Message: fmt.Sprintf(format, args...)}
}

// With adds a detail and returns e, so that it can be chained.
func (e *Error) With(key string, value any) *Error {
	if e.Details == nil {
		e.Details = map[string]any{}
	}
	e.Details[key] = value
	return e
}

// Because records what really happened, for the log alone.
func (e *Error) Because(cause error) *Error {
	e.Cause = cause
	return e
}

func (e *Error) Error() string {
	if e.Cause != nil {
		return fmt.Sprintf("%s: %s: %v", e.Kind, e.Message, e.Cause)
	}
	return fmt.Sprintf("%s: %s", e.Kind, e.Message)
}

func (e *Error) Unwrap() error { return e.Cause }

// AsError finds the Error in err. Anything else is a fault of ours: it becomes
// kind internal, with err as the cause and nothing of it in the message.
func AsError(err error) *Error {
	if e, ok := errors.AsType[*Error](err); ok {
		return e
	}
	return Errorf(Internal, "Internal error").Because(err)
}
