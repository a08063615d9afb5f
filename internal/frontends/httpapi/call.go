package httpapi

import (
	"bytes"
	"cmp"
	"errors"
	"io"
	"mime"
	"net/http"
	"os"
	"strconv"
	"strings"
	"time"

	"remit/internal/contract"
	"remit/internal/contract/jsontree"
	"remit/internal/engine"
	"remit/internal/engine/idempotency"
	"remit/internal/engine/telemetry"
)

// What the answer of a tool says in headers, so that scripts need not know the
// shapes of errors.
const (
	outcomeHeader  = "X-Remit-Outcome"  // "ok", or the kind of failure; "pending" waits for a person
	contractHeader = "X-Remit-Contract" // which promise was kept: set/name@version
	replayedHeader = "Idempotency-Replayed"

	truncatedHeader = "Remit-Truncated" // "true": the answer has less than there is
	totalHeader     = "Remit-Total"     // then how many elements there are, if that is known
	remarksHeader   = "Remit-Remarks"   // a JSON object of what the tool says beside its answer
)

// keyHeader makes a call safe to repeat.
const keyHeader = "Idempotency-Key"

// bodyPatience is how long a client may take to send its arguments.
const bodyPatience = 30 * time.Second

// call runs a tool: POST /tools/{name}, with the arguments as body.
func (a *API) call(w http.ResponseWriter, r *http.Request) {
	leave, ok := a.admit(r)
	if !ok {
		w.Header().Set("Retry-After", "1")
		refuse(w, http.StatusServiceUnavailable, "Too many requests are in progress; try again")
		return
	}
	defer leave()
	connection := http.NewResponseController(w)
	// A connection that knows no deadlines is one that its owner bounds. After a
	// refusal the deadline stays, for the rest of the body.
	_ = connection.SetReadDeadline(time.Now().Add(bodyPatience))
	tool, err := a.Engine.Find(r.PathValue("name"))
	if err != nil {
		refuseTool(w, err)
		return
	}
	key, rejected := idempotencyKey(r)
	args := jsontree.Value{}
	if rejected == nil {
		args, rejected = a.arguments(w, r)
	}
	if rejected != nil {
		finish(w, rejected.status, &engine.Result{Tool: tool, Err: rejected.why, Body: tool.Render(rejected.why)}, "")
		return
	}
	_ = connection.SetReadDeadline(time.Time{}) // else it would end a call that takes longer
	who := a.who(r)
	result, err := a.Engine.Call(r.Context(), engine.Call{
		Tool: tool.Name, Args: args, Principal: who.Principal, Grant: who.Grant, Face: "http", Client: client(r), Peer: script{}, Key: key,
		Trace: telemetry.Parent(r.Header.Get("Traceparent"), r.Header.Get("Tracestate")),
	})
	switch {
	case err != nil:
		refuseTool(w, err)
	case result.Need != nil: // only a handler that made it up: script gives no cause for it
		refuse(w, http.StatusNotImplemented, tool.Name+" needs a client that answers questions; call it over MCP")
	case result.Err != nil:
		finish(w, a.status(w, r, &result), &result, key)
	default:
		finish(w, http.StatusOK, &result, key)
	}
}

// status is that of a call which failed. One that takes more rights says how to get them.
func (a *API) status(w http.ResponseWriter, r *http.Request, result *engine.Result) int {
	if a.Challenge != nil {
		if status := a.Challenge(w, r, result.Err); status != 0 {
			return status
		}
	}
	return result.Tool.Status(result.Err.Kind)
}

// refuseTool says why a tool cannot be had: there is none of that name, or the fault is ours.
func refuseTool(w http.ResponseWriter, err error) {
	failure := contract.AsError(err)
	refuse(w, failure.Kind.Status(), failure.Message)
}

// finish sends what a call came to.
func finish(w http.ResponseWriter, status int, result *engine.Result, key string) {
	header := w.Header()
	header.Set(contractHeader, result.Tool.ID+"@"+result.Tool.Version.String())
	header.Set(outcomeHeader, "ok")
	if result.Replayed {
		header.Set(replayedHeader, "true")
	}
	if notes := result.Notes; notes.Truncated {
		header.Set(truncatedHeader, "true")
		if notes.Total >= 0 {
			header.Set(totalHeader, strconv.FormatInt(notes.Total, 10))
		}
	}
	if result.Remarks.Kind == jsontree.Object {
		header.Set(remarksHeader, plain(result.Remarks.Append(nil)))
	}
	if failure := result.Err; failure != nil {
		header.Set(outcomeHeader, string(failure.Kind))
		if seconds := retryAfter(result.Tool, failure, key); seconds > 0 {
			header.Set("Retry-After", strconv.Itoa(seconds))
		}
	}
	answer(w, status, result.Body)
}

// plain writes JSON in the characters that a header may have.
func plain(json []byte) string {
	return jsontree.Spell(string(json), func(r rune) bool { return r < 0x7f })
}

// retryAfter is when to repeat a call, in seconds; zero if it says nothing. Clients
// repeat by that header without asking anybody, so a write that may have
// happened does not carry it, unless its key makes that safe and of use: while nobody
// knows what became of the call, a repeat will not hear more.
func retryAfter(tool *engine.Tool, failure *contract.Error, key string) int {
	switch failure.Kind {
	case contract.Limited:
		seconds, _ := failure.Details["retry_after"].(int)
		return seconds
	case contract.Unavailable:
		if tool.Hints.ReadOnly || tool.Hints.Idempotent || key != "" && !errors.Is(failure, idempotency.ErrUnknown) {
			return 1
		}
	}
	return 0
}

// idempotencyKey reads the key of a call as it was sent; "" if there is none.
func idempotencyKey(r *http.Request) (string, *rejection) {
	given := r.Header.Values(keyHeader)
	switch len(given) {
	case 0:
		return "", nil
	case 1:
		if err := idempotency.CheckKey(given[0]); err != nil {
			return "", &rejection{http.StatusBadRequest, contract.AsError(err)}
		}
		return given[0], nil
	default:
		return "", reject(http.StatusBadRequest, contract.Invalid, "%s was sent %d times; send it once", keyHeader, len(given))
	}
}

// large is how many bytes make a large request.
const large = 1 << 20

// admit counts a request; false if there are too many, or too many large ones.
func (a *API) admit(r *http.Request) (leave func(), ok bool) {
	leaveAll := func() {}
	if a.Admit != nil {
		if leaveAll, ok = a.Admit(); !ok {
			return nil, false
		}
	}
	if size := r.ContentLength; a.AdmitLarge != nil && (size > large || size < 0) {
		// What does not say its size may be large; what is too large is not read further.
		leaveLarge, ok := a.AdmitLarge(min(max(size, large), a.maxBody()))
		if !ok {
			leaveAll()
			return nil, false
		}
		return func() { leaveLarge(); leaveAll() }, true
	}
	return leaveAll, true
}

// rejection is why a body never became a call.
type rejection struct {
	status int
	why    *contract.Error
}

func reject(status int, kind contract.Kind, format string, args ...any) *rejection {
	return &rejection{status, contract.Errorf(kind, format, args...)}
}

// arguments reads the body. An empty one is no arguments at all; what a JSON
// value has to be beyond that is the contract's affair.
func (a *API) arguments(w http.ResponseWriter, r *http.Request) (jsontree.Value, *rejection) {
	if rejected := foreign(r); rejected != nil {
		return jsontree.Value{}, rejected
	}
	body, rejected := a.body(w, r)
	if rejected != nil {
		return jsontree.Value{}, rejected
	}
	if len(body) == 0 {
		return jsontree.Obj(), nil
	}
	if r.Header.Get("Content-Type") == formType && !bytes.HasPrefix(bytes.TrimLeft(body, " \t\r\n"), []byte("{")) {
		return jsontree.Value{}, reject(http.StatusUnsupportedMediaType, contract.Invalid, "the body is a form; send application/json")
	}
	args, err := jsontree.Parse(body)
	if err != nil {
		return args, reject(http.StatusBadRequest, contract.Invalid, "the body is not valid JSON: %s", err)
	}
	return args, nil
}

// foreign finds a body that says of itself that it is no plain JSON.
func foreign(r *http.Request) *rejection {
	if coding := r.Header.Get("Content-Encoding"); coding != "" && coding != "identity" {
		return reject(http.StatusUnsupportedMediaType, contract.Invalid, "the body is encoded as %q; send it without Content-Encoding", coding)
	}
	given := r.Header.Get("Content-Type")
	if given == "" || given == formType {
		return nil
	}
	kind, parameters, err := mime.ParseMediaType(given)
	charset := parameters["charset"]
	if err != nil || kind != "application/json" || charset != "" && !strings.EqualFold(charset, "utf-8") {
		return reject(http.StatusUnsupportedMediaType, contract.Invalid, "Content-Type is %q; send application/json", given)
	}
	return nil
}

// formType is what curl -d says of any body, and so of JSON too.
const formType = "application/x-www-form-urlencoded"

func (a *API) maxBody() int64 { return cmp.Or(a.MaxBody, defaultMaxBody) }

func (a *API) body(w http.ResponseWriter, r *http.Request) ([]byte, *rejection) {
	most := a.maxBody()
	tooLarge := reject(http.StatusRequestEntityTooLarge, contract.TooLarge, "the body is larger than %d bytes (%s)", most, contract.Bytes(most))
	if r.ContentLength > most {
		return nil, tooLarge
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, most))
	var over *http.MaxBytesError
	switch {
	case err == nil:
		return body, nil
	case errors.As(err, &over):
		return nil, tooLarge
	case errors.Is(err, os.ErrDeadlineExceeded):
		return nil, reject(http.StatusRequestTimeout, contract.Unavailable, "the body did not arrive within %s", bodyPatience)
	default:
		return nil, reject(http.StatusBadRequest, contract.Invalid, "the body ended early")
	}
}

// client is how the client names itself, cut: it goes into every audit record.
func client(r *http.Request) string {
	const most = 100
	name := r.UserAgent()
	return strings.ToValidUTF8(name[:min(len(name), most)], "")
}
