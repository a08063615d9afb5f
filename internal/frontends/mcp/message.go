package mcp

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"remit/internal/contract"
	"remit/internal/contract/jsontree"
	"remit/internal/engine"
)

// message is one JSON-RPC message, taken apart.
type message struct {
	id     []byte // as it was sent; nil for a notification
	method string // empty if it answers a question of ours
	params jsontree.Value
	result jsontree.Value // of an answer
	failed bool           // that answer is an error
}

func (m *message) isAnswer() bool       { return m.method == "" }
func (m *message) isNotification() bool { return m.id == nil }

// maxBatch is how many messages a batch may hold.
const maxBatch = 100

// readMessages takes apart what a client sent at once: one message, or a batch
// where the version has batches. The fault is about all of it.
func readMessages(data []byte, batches bool) (all []message, batch bool, fault *rpcError) {
	tree, err := jsontree.Parse(data)
	if err != nil {
		return nil, false, faultf(codeParse, "Parse error: %v", err).about(salvageID(data))
	}
	switch {
	case tree.Kind == jsontree.Array && !batches:
		return nil, true, faultf(codeInvalid, "Invalid request: this version of the protocol has no batches; send one message at a time")
	case tree.Kind == jsontree.Array && (len(tree.Members) == 0 || len(tree.Members) > maxBatch):
		return nil, true, faultf(codeInvalid, "Invalid request: a batch holds 1 to %d messages, not %d", maxBatch, len(tree.Members))
	case tree.Kind == jsontree.Array:
		for i := range tree.Members {
			m, fault := takeApart(&tree.Members[i].Value)
			if fault != nil {
				return nil, true, fault.about(m.id)
			}
			all = append(all, m)
		}
		return all, true, nil
	}
	m, fault := takeApart(&tree)
	if fault != nil {
		return nil, false, fault.about(m.id)
	}
	return []message{m}, false, nil
}

// takeApart checks one message. With a fault, the message has its id at most.
func takeApart(tree *jsontree.Value) (m message, fault *rpcError) {
	if tree.Kind != jsontree.Object {
		return m, faultf(codeInvalid, "Invalid request: a message is an object, not %s", tree.Kind)
	}
	id, hasID := tree.Get("id")
	if id.Kind == jsontree.Null && isLostError(tree) {
		return m, nil
	}
	if hasID && id.Kind != jsontree.String && id.Kind != jsontree.Number {
		return m, faultf(codeInvalid, "Invalid request: id must be a string or a number")
	}
	if len(id.Raw) > maxID {
		return m, faultf(codeInvalid, "Invalid request: id may have at most %d bytes", maxID)
	}
	if hasID {
		m.id = plainID(&id)
	}
	if version := tree.Field("jsonrpc"); version.Kind != jsontree.String || version.Text != "2.0" {
		return m, faultf(codeInvalid, `Invalid request: jsonrpc must be "2.0"`)
	}
	method, isCall := tree.Get("method")
	result, answered := tree.Get("result")
	_, failed := tree.Get("error")
	params := tree.Field("params")
	switch {
	case isCall && (method.Kind != jsontree.String || method.Text == ""):
		return m, faultf(codeInvalid, "Invalid request: method must be a string")
	case !isCall && (!hasID || answered == failed):
		return m, faultf(codeInvalid, "Invalid request: a message has a method, or an id with either a result or an error")
	case isCall && params.Kind != jsontree.Object && params.Kind != jsontree.Null:
		return m, faultf(codeInvalidParams, "Invalid params: params must be an object, not %s", params.Kind)
	}
	m.method, m.params, m.result, m.failed = method.Text, params, result, failed
	return m, nil
}

// maxID is how many bytes an id may have: it is kept as long as its request runs.
const maxID = 4 << 10

// isLostError tells an error of the client that is about nothing it could name. To
// answer it with one of ours could go on for ever.
func isLostError(tree *jsontree.Value) bool {
	_, isCall := tree.Get("method")
	_, failed := tree.Get("error")
	return failed && !isCall
}

// plainID is an id as it was sent, except that a string is spelt one way: "a" and
// "\u0061" are the same id.
func plainID(id *jsontree.Value) []byte {
	if id.Kind == jsontree.String && bytes.IndexByte(id.Raw, '\\') >= 0 {
		return jsontree.AppendString(nil, id.Text)
	}
	return id.Raw
}

// cancelled reads which request a client takes back; nil, which is the id of none, if it takes none back.
func cancelled(m *message) []byte {
	if m.method != "notifications/cancelled" {
		return nil
	}
	id := m.params.Field("requestId")
	if id.Kind != jsontree.String && id.Kind != jsontree.Number {
		return nil
	}
	return plainID(&id)
}

// salvageID finds the id of a message that we refuse but that others would read,
// such as one with half a character in a text: its client should not wait in vain.
func salvageID(line []byte) []byte {
	var lenient struct {
		ID ids `json:"id"`
	}
	if json.Unmarshal(line, &lenient) != nil || len(lenient.ID) != 1 {
		return nil
	}
	if id, err := jsontree.Parse(lenient.ID[0]); err != nil || id.Kind != jsontree.String && id.Kind != jsontree.Number {
		return nil
	}
	return lenient.ID[0]
}

// ids collects every id of a message; more than one is as bad as none.
type ids [][]byte

// UnmarshalJSON is called for each.
func (i *ids) UnmarshalJSON(data []byte) error {
	*i = append(*i, bytes.Clone(data))
	return nil
}

// appendHead opens a response. An id that could not be read is null, as JSON-RPC
// has it, except in the modern era, whose schema wants it left out.
func appendHead(b, id []byte, e era) []byte {
	b = append(b, `{"jsonrpc":"2.0",`...)
	switch {
	case id != nil:
		b = append(append(append(b, `"id":`...), id...), ',')
	case e == legacy:
		b = append(b, `"id":null,`...)
	}
	return b
}

func question(id, method string, params []byte) []byte {
	b := jsontree.AppendString([]byte(`{"jsonrpc":"2.0","id":`), id)
	return appendCall(b, method, params)
}

func notification(method string, params []byte) []byte {
	return appendCall([]byte(`{"jsonrpc":"2.0"`), method, params)
}

func appendCall(b []byte, method string, params []byte) []byte {
	b = append(b, `,"method":`...)
	b = jsontree.AppendString(b, method)
	b = append(b, `,"params":`...)
	return append(append(b, params...), '}')
}

// The error codes of JSON-RPC and of the protocol. Our own stay outside the
// range that JSON-RPC reserves.
const (
	codeParse         = -32700
	codeInvalid       = -32600
	codeNoMethod      = -32601
	codeInvalidParams = -32602
	codeInternal      = -32603

	codeNoResource  = -32002 // of the legacy era
	codeHeaders     = -32020
	codeMissing     = -32021
	codeUnsupported = -32022

	codeCancelled = -32800
	codeBusy      = -33000
)

// rpcError is an error of the protocol, in place of a result.
type rpcError struct {
	code int
	text string
	data jsontree.Value // null if there is none
	id   []byte         // of the message it is about, if it could be read
}

func (f *rpcError) Error() string { return f.text }

func faultf(code int, format string, args ...any) *rpcError {
	return &rpcError{code: code, text: fmt.Sprintf(format, args...)}
}

// about says which message the fault is about, where that could be read.
func (f *rpcError) about(id []byte) *rpcError {
	f.id = id
	return f
}

func (f *rpcError) with(name string, value jsontree.Value) *rpcError {
	f.data.Kind = jsontree.Object
	f.data.Members = append(f.data.Members, jsontree.M(name, value))
	return f
}

// reply is the whole message.
func (f *rpcError) reply(id []byte, e era) []byte {
	b := append(appendHead(nil, id, e), `"error":{"code":`...)
	b = strconv.AppendInt(b, int64(f.code), 10)
	b = append(b, `,"message":`...)
	b = jsontree.AppendString(b, cutTo(f.text, mostWords))
	if f.data.Kind != jsontree.Null {
		b = f.data.Append(append(b, `,"data":`...))
	}
	return append(b, '}', '}')
}

// mostWords is how long a message gets: it may quote what the client sent.
const mostWords = 2000

// status is what the fault is on HTTP. Clients of the legacy era take anything
// but 200 for a fault of the connection.
func (f *rpcError) status(e era) int {
	switch {
	case f.code == codeParse || f.code == codeInvalid:
		return http.StatusBadRequest
	case f.code == codeBusy:
		return http.StatusServiceUnavailable
	case e == legacy:
		return http.StatusOK
	case f.code == codeNoMethod:
		return http.StatusNotFound
	case f.code == codeInvalidParams || f.code <= codeHeaders && f.code >= codeUnsupported:
		return http.StatusBadRequest
	default:
		return http.StatusOK
	}
}

// faultOf words a failure that is not the answer of a tool.
func faultOf(err error, e era) *rpcError {
	if fault, ok := errors.AsType[*rpcError](err); ok {
		return fault
	}
	if own, ok := errors.AsType[*engine.ProtocolError](err); ok {
		return faultf(own.Code, "%s", own.Message)
	}
	if missing, ok := errors.AsType[*engine.IncapableError](err); ok && e == modern {
		return faultf(codeMissing, "Missing required client capability: %s", missing.Needs).
			with("requiredCapabilities", required(missing.Needs))
	}
	failure := contract.AsError(err)
	code := codeInvalidParams
	if failure.Kind == contract.Internal || failure.Kind == contract.Unavailable {
		code = codeInternal
	}
	return faultf(code, "%s", failure.Message)
}

// required is what a client has to declare.
func required(c engine.Capability) jsontree.Value {
	names := strings.Split(string(c), ".")
	if c == engine.Tasks {
		names = []string{"extensions", tasksExtension}
	}
	declared := jsontree.Obj()
	for _, name := range slices.Backward(names) {
		declared = jsontree.Obj(jsontree.M(name, declared))
	}
	return declared
}
