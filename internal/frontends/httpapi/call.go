package httpapi

import (
	"bytes"
	"errors"
	"mime"
	"net/http"
	"os"
	"strconv"
	"strings"
	"time"

	"remit/internal/bodies"
	"remit/internal/contract"
	"remit/internal/contract/jsontree"
	"remit/internal/engine"
	"remit/internal/engine/idempotency"
	"remit/internal/engine/telemetry"
)

// Response headers with the outcome of a call, so that scripts need not parse errors.
const (
	// "ok" or the kind of error; "pending" means that a person must approve.
	outcomeHeader  = "X-Remit-Outcome"
	contractHeader = "X-Remit-Contract" // the contract of the tool: set/name@version
	replayedHeader = "Idempotency-Replayed"

	truncatedHeader = "Remit-Truncated" // "true" if the result was truncated
	totalHeader     = "Remit-Total"     // then the total number of elements, if it is known
	remarksHeader   = "Remit-Remarks"   // a JSON object with the tool's remarks on its result
)

// keyHeader makes a call safe to repeat.
const keyHeader = "Idempotency-Key"

// reasonHeader says why the caller wants a call, for the person who approves it.
const reasonHeader = "Remit-Reason"

// bodyTimeout is how long a client may take to send the arguments.
const bodyTimeout = 30 * time.Second

// call runs a tool: POST /tools/{name}, with the arguments as body.
func (a *API) call(w http.ResponseWriter, r *http.Request) {
	leave, ok := a.admit(w)
	if !ok {
		return
	}
	defer leave()
	connection := http.NewResponseController(w)
	// If the connection supports no deadlines, its owner limits it. After a rejection the deadline
	// stays, for the rest of the body.
	_ = connection.SetReadDeadline(time.Now().Add(bodyTimeout))
	tool, err := a.Engine.Find(r.PathValue("name"))
	if err != nil {
		a.refused(r, engine.UnknownTool, r.PathValue("name"))
		writeToolError(w, err)
		return
	}
	sent, rejected := a.arguments(r, int64(tool.Size.Request))
	defer sent.memory.Release()
	if rejected != nil {
		if errors.Is(rejected.err, bodies.ErrBusy) {
			// The call has not begun, so any caller may repeat it.
			w.Header().Set("Retry-After", "1")
		} else {
			a.refused(r, engine.NoCall, tool.Name+": "+rejected.err.Message)
		}
		finish(w, rejected.status, &engine.Result{Tool: tool, Err: rejected.err, Body: tool.Render(rejected.err)}, "")
		return
	}
	if sent.unread == 0 {
		_ = connection.SetReadDeadline(time.Time{}) // the deadline must not end a long call
	}
	who := a.who(r)
	result, err := a.Engine.Call(r.Context(), engine.Call{
		Tool: tool.Name, Args: sent.args, Principal: who.Principal, Grant: who.Grant, Frontend: "http", Client: client(r), Peer: scriptClient{},
		Key: sent.key, Unread: sent.unread, Reason: r.Header.Get(reasonHeader), Trace: telemetry.Parent(r.Header.Get("Traceparent"), r.Header.Get("Tracestate")),
	})
	switch {
	case err != nil:
		writeToolError(w, err)
	// Unreachable unless the handler created it: scriptClient never asks.
	case result.Suspended != nil:
		writeError(w, http.StatusNotImplemented, tool.Name+" needs a client that answers questions; call it over MCP")
	case result.Err != nil:
		finish(w, a.status(w, r, &result), &result, sent.key)
	default:
		finish(w, http.StatusOK, &result, sent.key)
	}
}

// admit takes a place among the requests in progress. If there is none, it answers the request
// itself and returns false.
func (a *API) admit(w http.ResponseWriter) (leave func(), ok bool) {
	if a.Admit == nil {
		return func() {}, true
	}
	if leave, ok = a.Admit(); !ok {
		w.Header().Set("Retry-After", "1")
		writeError(w, http.StatusServiceUnavailable, "Too many requests are in progress; try again")
	}
	return leave, ok
}

// refused records a request that never became a call.
func (a *API) refused(r *http.Request, kind engine.RefusalKind, about string) {
	who := a.who(r)
	a.Engine.Refused(r.Context(), kind, engine.Requester{
		Principal: who.Principal, Grant: who.Grant, Frontend: "http", Client: client(r),
	}, about)
}

// status returns the status of a failed call. If the caller lacks rights, it also sets the headers
// that say how to get them.
func (a *API) status(w http.ResponseWriter, r *http.Request, result *engine.Result) int {
	if a.Challenge != nil {
		if status := a.Challenge(w, r, result.Err); status != 0 {
			return status
		}
	}
	return result.Tool.Status(result.Err.Kind)
}

// writeToolError answers a request whose tool does not exist or cannot be loaded.
func writeToolError(w http.ResponseWriter, err error) {
	failure := contract.AsError(err)
	writeError(w, failure.Kind.Status(), failure.Message)
}

// finish sends the result of a call.
func finish(w http.ResponseWriter, status int, result *engine.Result, key string) {
	header := w.Header()
	header.Set(contractHeader, result.Tool.ID+"@"+result.Tool.Version.String())
	header.Set(outcomeHeader, "ok")
	if result.Replayed {
		header.Set(replayedHeader, "true")
	}
	if notes := result.Truncation; notes.Truncated {
		header.Set(truncatedHeader, "true")
		if notes.Total >= 0 {
			header.Set(totalHeader, strconv.FormatInt(notes.Total, 10))
		}
	}
	if result.Metadata.Kind == jsontree.Object {
		header.Set(remarksHeader, escapeHeader(result.Metadata.Append(nil)))
	}
	if failure := result.Err; failure != nil {
		header.Set(outcomeHeader, string(failure.Kind))
		if seconds := retryAfter(result.Tool, failure, key); seconds > 0 {
			header.Set("Retry-After", strconv.Itoa(seconds))
		}
	}
	writeJSON(w, status, result.Body)
}

// escapeHeader escapes the characters in JSON that a header may not contain.
func escapeHeader(json []byte) string {
	return jsontree.Escape(string(json), func(r rune) bool { return r < 0x7f })
}

// retryAfter returns when to repeat a call, in seconds, or 0 if the header is not to be sent.
// Clients repeat automatically because of that header, so a write that may have happened does not
// carry it, unless its key makes a repeat safe. It is also omitted while the outcome of the call is
// unknown, because a repeat would not learn more.
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

// idempotencyKey returns the key of a call, or "" if there is none.
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

// rejection is the error of a request that did not become a call.
type rejection struct {
	status int
	err    *contract.Error
}

func reject(status int, kind contract.Kind, format string, args ...any) *rejection {
	return &rejection{status, contract.Errorf(kind, format, args...)}
}

// sent is what a request asks for.
type sent struct {
	key    string
	args   jsontree.Value
	unread int64         // the size of arguments that are too large to be read; 0 if they were read
	memory bodies.Memory // of the arguments; the caller must release it
}

// arguments reads and parses a request with a body of at most limit bytes. An empty body means no
// arguments. The contract checks everything else.
func (a *API) arguments(r *http.Request, limit int64) (s sent, rejected *rejection) {
	if s.key, rejected = idempotencyKey(r); rejected != nil {
		return s, rejected
	}
	if rejected := checkContentType(r); rejected != nil {
		return s, rejected
	}
	data, memory, err := a.Bodies.Read(r, limit)
	s.memory = memory
	var over *http.MaxBytesError
	switch {
	case errors.As(err, &over):
		s.unread = max(r.ContentLength, limit+1)
		return s, nil
	case err != nil:
		return s, unreadable(err)
	case len(data) == 0:
		s.args = jsontree.Obj()
		return s, nil
	}
	if r.Header.Get("Content-Type") == formType && !bytes.HasPrefix(bytes.TrimLeft(data, " \t\r\n"), []byte("{")) {
		return s, reject(http.StatusUnsupportedMediaType, contract.Invalid, "the body is a form; send application/json")
	}
	if s.args, err = jsontree.Parse(data); err != nil {
		return s, reject(http.StatusBadRequest, contract.Invalid, "the body is not valid JSON: %s", err)
	}
	return s, nil
}

// unreadable converts the error of reading a body.
func unreadable(err error) *rejection {
	switch {
	case errors.Is(err, bodies.ErrBusy):
		busy := reject(http.StatusServiceUnavailable, contract.Unavailable, "Too many large requests are in progress; try again")
		busy.err.Cause = err
		return busy
	case errors.Is(err, os.ErrDeadlineExceeded):
		return reject(http.StatusRequestTimeout, contract.Unavailable, "the body did not arrive within %s", bodyTimeout)
	default:
		return reject(http.StatusBadRequest, contract.Invalid, "the body ended early")
	}
}

// checkContentType rejects a body whose headers say that it is not plain JSON.
func checkContentType(r *http.Request) *rejection {
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

// formType is what curl -d sends with any body, so also with JSON.
const formType = "application/x-www-form-urlencoded"

// client returns the client's name, truncated because every audit record contains it.
func client(r *http.Request) string {
	const limit = 100
	name := r.UserAgent()
	return strings.ToValidUTF8(name[:min(len(name), limit)], "")
}
