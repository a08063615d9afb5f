package mcp

import (
	"bytes"
	"encoding/json"

	"remit/internal/contract/jsontree"
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

// cancelled reads which request a client takes back.
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
