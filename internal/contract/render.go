package contract

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"remit/internal/contract/jsontree"
)

// Shape is the form in which a set's errors reach the caller.
type Shape string

// The four shapes of the seeds.
const (
	Coded    Shape = "coded"    // {"error":{"code":403,"message":"..."}}
	Plain    Shape = "plain"    // {"error":"..."}
	Envelope Shape = "envelope" // {"success":false,"error":{"code":"...","message":"...","details":{}}}
	Named    Shape = "named"    // {"error":"NotFoundError","message":"..."}
)

// Shapes lists the shapes that a set may choose from.
func Shapes() []Shape { return []Shape{Coded, Plain, Envelope, Named} }

// ErrorRule is how a contract words one kind of failure.
type ErrorRule struct {
	Code string `json:"code,omitempty" yaml:"code"`
	// Message may name details in braces: "Path not allowed: {path}". Empty
	// means the message of the failure itself, which is also what {message} gives.
	Message string   `json:"message,omitempty" yaml:"message"`
	Details []string `json:"details,omitempty" yaml:"details"` // which details are sent
	When    string   `json:"when,omitempty" yaml:"when"`       // for documents: what brings it about
}

// alwaysSent are details that tell the caller what to do next, in every shape.
var alwaysSent = []string{"retry_after", "approval"}

// Render gives the body that a caller gets for a failure. Cause stays out.
func (c *Contract) Render(e *Error) []byte {
	rule := c.Errors[e.Kind]
	code := rule.Code
	if e.Code != "" {
		code = e.Code
	}
	message := jsontree.Str(rule.words(e))
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

// codeValue writes a code made of digits as a number, as seed 000 shows it.
func codeValue(code string) jsontree.Value {
	if n, err := strconv.ParseInt(code, 10, 64); err == nil {
		return jsontree.Int(n)
	}
	return jsontree.Str(code)
}

func (r ErrorRule) words(e *Error) string {
	if r.Message == "" {
		return e.Message
	}
	text := strings.ReplaceAll(r.Message, "{message}", e.Message)
	for name, value := range e.Details {
		if s, ok := value.(string); ok {
			text = strings.ReplaceAll(text, "{"+name+"}", s)
		}
	}
	if strings.Contains(text, "{") && strings.Contains(r.Message, "{") && unfilled(r.Message, e) {
		return e.Message
	}
	return text
}

// unfilled tells whether a template names a detail that the failure lacks.
func unfilled(template string, e *Error) bool {
	for part := range strings.SplitSeq(template, "{") {
		name, _, found := strings.Cut(part, "}")
		if _, isText := e.Details[name].(string); found && name != "message" && !isText {
			return true
		}
	}
	return false
}

func sentDetails(e *Error, rule ErrorRule) []jsontree.Member {
	var out []jsontree.Member
	for _, name := range slices.Sorted(maps.Keys(e.Details)) {
		if !slices.Contains(rule.Details, name) && !slices.Contains(alwaysSent, name) {
			continue
		}
		v, err := jsontree.Of(e.Details[name])
		if err != nil {
			v = jsontree.Str(fmt.Sprint(e.Details[name]))
		}
		out = append(out, jsontree.Member{Key: name, Value: v})
	}
	return out
}

// Status is the HTTP status that a kind of failure stands for.
func (k Kind) Status() int {
	switch k {
	case Invalid:
		return 400
	case Denied, Pending:
		return 403
	case NotFound:
		return 404
	case Conflict:
		return 409
	case TooLarge:
		return 413
	case Limited:
		return 429
	case Unavailable:
		return 503
	default:
		return 500
	}
}
