package contract

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"remit/internal/contract/jsontree"
)

// Kind classifies a failure. A contract maps each kind to the code and message that it promises.
type Kind string

// The kinds of failure, from the caller's fault to ours.
const (
	Invalid     Kind = "invalid"     // the arguments break the contract
	Denied      Kind = "denied"      // a rule or a person refused the call
	NotFound    Kind = "not_found"   // there is no such thing
	Conflict    Kind = "conflict"    // the data changed in the meantime
	TooLarge    Kind = "too_large"   // over a size the contract states
	Limited     Kind = "limited"     // too many calls; the details hold retry_after
	Pending     Kind = "pending"     // a person has yet to approve
	Unavailable Kind = "unavailable" // a store is down or the deadline passed; try again
	Internal    Kind = "internal"    // a fault of Remit
)

// Kinds lists every kind, in the order in which documentation shows them.
func Kinds() []Kind {
	return []Kind{Invalid, Denied, NotFound, Conflict, TooLarge, Limited, Pending, Unavailable, Internal}
}

// Status returns the HTTP status of a kind. Nothing of a call that waits for approval was accepted,
// so its status is 403.
func (k Kind) Status() int { return cmp.Or(statuses[k], 500) }

var statuses = map[Kind]int{
	Invalid: 400, Denied: 403, NotFound: 404, Conflict: 409, TooLarge: 413, Limited: 429, Pending: 403, Unavailable: 503,
}

// Error is the only error that callers see. Message and Details are sent to the caller; Cause is
// only logged.
type Error struct {
	Kind    Kind
	Code    string // overrides the contract's code for the kind, if set
	Message string
	Details map[string]any
	Cause   error

	schema bool // the arguments violate the schema, and the schema has no message of its own
}

// Errorf returns an Error of a kind, with a message for the caller.
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

// Because sets the cause, which is only logged, and returns e.
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

// AsError returns the Error in err. Any other error is a fault of Remit: it becomes an Error of
// kind internal with err as its cause, and its text is not sent.
func AsError(err error) *Error {
	if e, ok := errors.AsType[*Error](err); ok {
		return e
	}
	return Errorf(Internal, "Internal error").Because(err)
}

// Shape is the JSON form of a set's errors.
type Shape string

// The four shapes.
const (
	Coded Shape = "coded" // {"error":{"code":403,"message":"..."}}
	Plain Shape = "plain" // {"error":"..."}
	// {"success":false,"error":{"code":"...","message":"...","details":{}}}.
	Envelope Shape = "envelope"
	Named    Shape = "named" // {"error":"NotFoundError","message":"..."}
)

// Shapes lists the shapes that a set may choose from.
func Shapes() []Shape { return []Shape{Coded, Plain, Envelope, Named} }

// ErrorRule says how a contract reports one kind of failure.
type ErrorRule struct {
	Code string `json:"code,omitempty" yaml:"code"`
	// Message may name details in braces: "Path not allowed: {path}". If it is empty, the message
	// of the failure is used, which {message} also stands for.
	Message string `json:"message,omitempty" yaml:"message"`
	// The message if arguments violate the schema and x-message gives none.
	Schema  string   `json:"schema,omitempty" yaml:"schema"`
	Details []string `json:"details,omitempty" yaml:"details"` // the details that are sent
	// The HTTP status; zero means the status of the kind.
	Status int    `json:"status,omitempty" yaml:"status"`
	When   string `json:"when,omitempty" yaml:"when"` // for documentation: what causes it
}

// Status returns the HTTP status of a kind of failure: the one that the contract states, or else
// the status of the kind. That of a pending call is the same in every contract.
func (c *Contract) Status(kind Kind) int {
	if kind == Pending {
		return kind.Status()
	}
	return cmp.Or(c.Errors[kind].Status, kind.Status())
}

// alwaysSent lists the details that say what to do next, which rule denied a path, or which paths
// are allowed instead. They are sent in every shape.
var alwaysSent = []string{"retry_after", "approval", "rule", "allowed"}

// Code returns the contract's code for a failure.
func (c *Contract) Code(e *Error) string {
	return cmp.Or(e.Code, c.Errors[e.Kind].Code)
}

// Message returns the words in which a caller is told of a failure.
func (c *Contract) Message(e *Error) string { return c.Errors[e.Kind].words(e) }

// Render returns the body that a caller gets for a failure. It leaves out Cause.
func (c *Contract) Render(e *Error) []byte {
	rule := c.Errors[e.Kind]
	code := c.Code(e)
	message := jsontree.Str(c.Message(e))
	details := sentDetails(e, rule)
	var body jsontree.Value
	switch c.Shape {
	case Coded:
		inner := []jsontree.Member{jsontree.M("code", codeValue(code)), jsontree.M("message", message)}
		body = jsontree.Obj(jsontree.M("error", jsontree.Obj(append(inner, details...)...)))
	case Envelope:
		inner := jsontree.Obj(jsontree.M("code", jsontree.Str(code)), jsontree.M("message", message), jsontree.M("details", jsontree.Obj(details...)))
		body = jsontree.Obj(jsontree.M("success", jsontree.Boolean(false)), jsontree.M("error", inner))
	case Named:
		outer := []jsontree.Member{jsontree.M("error", jsontree.Str(code)), jsontree.M("message", message)}
		body = jsontree.Obj(append(outer, details...)...)
	default:
		body = jsontree.Obj(append([]jsontree.Member{jsontree.M("error", message)}, details...)...)
	}
	return body.Append(nil)
}

// codeValue returns a code as a JSON number if it consists of digits, such as 403, and as a string
// otherwise.
func codeValue(code string) jsontree.Value {
	if n, err := strconv.ParseInt(code, 10, 64); err == nil {
		return jsontree.Int(n)
	}
	return jsontree.Str(code)
}

// words fills in the template in one pass, so that braces in a value are not replaced. If the
// template names a detail that the failure lacks, words returns the message of the failure.
func (r ErrorRule) words(e *Error) string {
	var text strings.Builder
	rest := r.Message
	if e.schema && r.Schema != "" {
		rest = r.Schema
	}
	for {
		before, from, found := strings.Cut(rest, "{")
		text.WriteString(before)
		if !found {
			break
		}
		name, after, closed := strings.Cut(from, "}")
		value, known := e.detailText(name)
		if !closed || !known {
			return e.Message
		}
		text.WriteString(value)
		rest = after
	}
	if text.Len() == 0 {
		return e.Message
	}
	return text.String()
}

// detailText returns a detail as text for a message.
func (e *Error) detailText(name string) (string, bool) {
	if name == "message" {
		return e.Message, true
	}
	detail, ok := e.Details[name]
	if !ok {
		return "", false
	}
	v := detailValue(detail)
	if v.Kind == jsontree.String {
		return v.Text, true
	}
	return string(v.Append(nil)), true
}

func sentDetails(e *Error, rule ErrorRule) []jsontree.Member {
	var out []jsontree.Member
	for _, name := range slices.Sorted(maps.Keys(e.Details)) {
		if !slices.Contains(rule.Details, name) && !slices.Contains(alwaysSent, name) {
			continue
		}
		out = append(out, jsontree.Member{Key: name, Value: detailValue(e.Details[name])})
	}
	return out
}

func detailValue(detail any) jsontree.Value {
	v, err := jsontree.Of(detail)
	if err != nil {
		return jsontree.Str(fmt.Sprint(detail))
	}
	return v
}
