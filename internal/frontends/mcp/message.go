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

// message is one parsed JSON-RPC message.
type message struct {
	id     []byte // as it was sent; nil for a notification
	method string // empty if the message is a response
	params jsontree.Value
	result jsontree.Value // of a response
	failed bool           // whether the response is an error
}

func (m *message) isAnswer() bool       { return m.method == "" }
func (m *message) isNotification() bool { return m.id == nil }

// maxBatch is the maximum number of messages in a batch.
const maxBatch = 100

// readMessages parses one message, or a batch if the protocol version has batches. If any message
// of a batch is invalid, it returns a fault and no messages.
func readMessages(data []byte, batches bool) (all []message, batch bool, fault *rpcError) {
	tree, err := jsontree.Parse(data)
	if err != nil {
		return nil, false, rpcErrorf(codeParse, "Parse error: %v", err).about(salvageID(data))
	}
	switch {
	case tree.Kind == jsontree.Array && !batches:
		return nil, true, rpcErrorf(codeInvalid, "Invalid request: this version of the protocol has no batches; send one message at a time")
	case tree.Kind == jsontree.Array && (len(tree.Members) == 0 || len(tree.Members) > maxBatch):
		return nil, true, rpcErrorf(codeInvalid, "Invalid request: a batch holds 1 to %d messages, not %d", maxBatch, len(tree.Members))
	case tree.Kind == jsontree.Array:
		for i := range tree.Members {
			m, fault := parseMessage(&tree.Members[i].Value)
			if fault != nil {
				return nil, true, fault.about(m.id)
			}
			all = append(all, m)
		}
		return all, true, nil
	}
	m, fault := parseMessage(&tree)
	if fault != nil {
		return nil, false, fault.about(m.id)
	}
	return []message{m}, false, nil
}

// parseMessage parses and checks one message. If it returns a fault, the message contains at most
// the id.
func parseMessage(tree *jsontree.Value) (m message, fault *rpcError) {
	if tree.Kind != jsontree.Object {
		return m, rpcErrorf(codeInvalid, "Invalid request: a message is an object, not %s", tree.Kind)
	}
	id, hasID := tree.Get("id")
	if id.Kind == jsontree.Null && isUnaddressedError(tree) {
		return m, nil
	}
	if hasID && id.Kind != jsontree.String && id.Kind != jsontree.Number {
		return m, rpcErrorf(codeInvalid, "Invalid request: id must be a string or a number")
	}
	if len(id.Raw) > maxID {
		return m, rpcErrorf(codeInvalid, "Invalid request: id may have at most %d bytes", maxID)
	}
	if hasID {
		m.id = normalizeID(&id)
	}
	if version := tree.Field("jsonrpc"); version.Kind != jsontree.String || version.Text != "2.0" {
		return m, rpcErrorf(codeInvalid, `Invalid request: jsonrpc must be "2.0"`)
	}
	method, isCall := tree.Get("method")
	result, answered := tree.Get("result")
	_, failed := tree.Get("error")
	params := tree.Field("params")
	switch {
	case isCall && (method.Kind != jsontree.String || method.Text == ""):
		return m, rpcErrorf(codeInvalid, "Invalid request: method must be a string")
	case !isCall && (!hasID || answered == failed):
		return m, rpcErrorf(codeInvalid, "Invalid request: a message has a method, or an id with either a result or an error")
	case isCall && params.Kind != jsontree.Object && params.Kind != jsontree.Null:
		return m, rpcErrorf(codeInvalidParams, "Invalid params: params must be an object, not %s", params.Kind)
	}
	m.method, m.params, m.result, m.failed = method.Text, params, result, failed
	return m, nil
}

// maxID is the maximum size of an id in bytes. The id is kept as long as its request runs.
const maxID = 4 << 10

// isUnaddressedError reports whether a message is an error of the client that names no request. It
// must not be answered: two peers could answer each other's errors forever.
func isUnaddressedError(tree *jsontree.Value) bool {
	_, isCall := tree.Get("method")
	_, failed := tree.Get("error")
	return failed && !isCall
}

// normalizeID returns an id as it was sent, except that a string is normalized: "a" and "\u0061"
// are the same id.
func normalizeID(id *jsontree.Value) []byte {
	if id.Kind == jsontree.String && bytes.IndexByte(id.Raw, '\\') >= 0 {
		return jsontree.AppendString(nil, id.Text)
	}
	return id.Raw
}

// cancelled returns the id of the request that a client cancels, or nil if the message cancels
// none.
func cancelled(m *message) []byte {
	if m.method != "notifications/cancelled" {
		return nil
	}
	id := m.params.Field("requestId")
	if id.Kind != jsontree.String && id.Kind != jsontree.Number {
		return nil
	}
	return normalizeID(&id)
}

// salvageID returns the id of a message that this server rejects but that other parsers accept, for
// example one with an invalid surrogate. Without the id, its client would wait forever. It does not
// decode a large message a second time.
func salvageID(line []byte) []byte {
	if len(line) > maxSalvage {
		return nil
	}
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

// maxSalvage is the size in bytes above which salvageID returns no id.
const maxSalvage = 64 << 10

// ids collects every id of a message. More than one is as bad as none.
type ids [][]byte

// UnmarshalJSON implements json.Unmarshaler. It is called for each id.
func (i *ids) UnmarshalJSON(data []byte) error {
	*i = append(*i, bytes.Clone(data))
	return nil
}

// appendHead appends the start of a response. An id that could not be read is null, as JSON-RPC
// requires, except in the modern era, whose schema omits it.
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

// Error codes of JSON-RPC and of the protocol. Our own are outside the range that JSON-RPC
// reserves.
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

// rpcError is a JSON-RPC error.
type rpcError struct {
	code int
	text string
	data jsontree.Value // null if there is none
	id   []byte         // of the message that failed, if it could be read
}

func (f *rpcError) Error() string { return f.text }

func rpcErrorf(code int, format string, args ...any) *rpcError {
	return &rpcError{code: code, text: fmt.Sprintf(format, args...)}
}

// about sets the id of the message that failed.
func (f *rpcError) about(id []byte) *rpcError {
	f.id = id
	return f
}

func (f *rpcError) with(name string, value jsontree.Value) *rpcError {
	f.data.Kind = jsontree.Object
	f.data.Members = append(f.data.Members, jsontree.M(name, value))
	return f
}

// reply returns the complete message.
func (f *rpcError) reply(id []byte, e era) []byte {
	b := append(appendHead(nil, id, e), `"error":{"code":`...)
	b = strconv.AppendInt(b, int64(f.code), 10)
	b = append(b, `,"message":`...)
	b = jsontree.AppendString(b, truncate(f.text, maxErrorBytes))
	if f.data.Kind != jsontree.Null {
		b = f.data.Append(append(b, `,"data":`...))
	}
	return append(b, '}', '}')
}

// maxErrorBytes is the maximum size of an error text, which may quote what the client sent.
const maxErrorBytes = 2000

// status returns the HTTP status of the error. Clients of the legacy era treat any status but 200
// as a failed connection.
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

// toRPCError converts an error that is not the result of a tool.
func toRPCError(err error, e era) *rpcError {
	if fault, ok := errors.AsType[*rpcError](err); ok {
		return fault
	}
	if own, ok := errors.AsType[*engine.ProtocolError](err); ok {
		return rpcErrorf(own.Code, "%s", own.Message)
	}
	if missing, ok := errors.AsType[*engine.MissingCapabilityError](err); ok && e == modern {
		return rpcErrorf(codeMissing, "Missing required client capability: %s", missing.Needs).
			with("requiredCapabilities", required(missing.Needs))
	}
	failure := contract.AsError(err)
	code := codeInvalidParams
	if failure.Kind == contract.Internal || failure.Kind == contract.Unavailable {
		code = codeInternal
	}
	return rpcErrorf(code, "%s", failure.Message)
}

// required returns the capabilities object that a client must declare.
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
