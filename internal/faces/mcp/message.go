package mcp

import (
	"bytes"
	"encoding/json"
	"strconv"

	"remit/internal/contract/jsontree"
	"remit/internal/engine"
)

// The error codes of JSON-RPC.
const (
	codeParse         = -32700
	codeInvalid       = -32600
	codeNoMethod      = -32601
	codeInvalidParams = -32602
)

// message is one JSON-RPC message, taken apart.
type message struct {
	id     jsontree.Value // null for a notification
	hasID  bool
	isCall bool // it has a method; otherwise it answers a question of ours
	method string
	params jsontree.Value
	result jsontree.Value // of a response to a question of ours
	failed bool           // that response is an error
}

// readMessage takes a line apart. fault is the reply to a line that is no
// message, nil if it is one.
func readMessage(line []byte) (m message, fault []byte) {
	tree, err := jsontree.Parse(line)
	if err != nil {
		return m, errorReply(salvageID(line), codeParse, "Parse error: "+err.Error())
	}
	if tree.Kind == jsontree.Array {
		return m, errorReply(nil, codeInvalid, "Invalid request: batches are not supported; send one message a line")
	}
	if tree.Kind != jsontree.Object {
		return m, errorReply(nil, codeInvalid, "Invalid request: a message is an object, not "+tree.Kind.String())
	}
	return takeApart(&tree)
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

func takeApart(tree *jsontree.Value) (m message, fault []byte) {
	m.id, m.hasID = tree.Get("id")
	if m.hasID && m.id.Kind != jsontree.String && m.id.Kind != jsontree.Number {
		return m, errorReply(nil, codeInvalid, "Invalid request: id must be a string or a number")
	}
	if version := tree.Field("jsonrpc"); version.Kind != jsontree.String || version.Text != "2.0" {
		return m, errorReply(m.id.Raw, codeInvalid, `Invalid request: jsonrpc must be "2.0"`)
	}
	method, isCall := tree.Get("method")
	m.method, m.isCall = method.Text, isCall
	m.params = tree.Field("params")
	var answered bool
	m.result, answered = tree.Get("result")
	_, m.failed = tree.Get("error")
	switch {
	case isCall && method.Kind != jsontree.String:
		return m, errorReply(m.id.Raw, codeInvalid, "Invalid request: method must be a string")
	case !isCall && !answered && !m.failed:
		return m, errorReply(m.id.Raw, codeInvalid, "Invalid request: a message has a method, a result or an error")
	case isCall && m.params.Kind != jsontree.Object && m.params.Kind != jsontree.Null:
		return m, errorReply(m.id.Raw, codeInvalidParams, "Invalid params: params must be an object, not "+m.params.Kind.String())
	}
	return m, nil
}

// appendHead opens a response; id nil means that it could not be read.
func appendHead(b, id []byte) []byte {
	b = append(b, `{"jsonrpc":"2.0","id":`...)
	if id == nil {
		return append(b, "null"...)
	}
	return append(b, id...)
}

func appendResult(b, id, result []byte) []byte {
	b = append(appendHead(b, id), `,"result":`...)
	return append(append(b, result...), '}')
}

func errorReply(id []byte, code int, text string) []byte {
	b := append(appendHead(nil, id), `,"error":{"code":`...)
	b = strconv.AppendInt(b, int64(code), 10)
	b = append(b, `,"message":`...)
	return append(jsontree.AppendString(b, text), '}', '}')
}

func appendRequest(b []byte, id, method string, params []byte) []byte {
	b = append(b, `{"jsonrpc":"2.0","id":`...)
	b = jsontree.AppendString(b, id)
	return appendCall(b, method, params)
}

func appendNotification(b []byte, method string, params []byte) []byte {
	return appendCall(append(b, `{"jsonrpc":"2.0"`...), method, params)
}

func appendCall(b []byte, method string, params []byte) []byte {
	b = append(b, `,"method":`...)
	b = jsontree.AppendString(b, method)
	b = append(b, `,"params":`...)
	return append(append(b, params...), '}')
}

// appendCallResult writes what a tool came to: the JSON as text and, on success,
// as structure too. A failure has no structure, because clients would check it
// against the output schema.
func appendCallResult(b, id []byte, r *engine.Result) []byte {
	b = append(appendHead(b, id), `,"result":{"content":[{"type":"text","text":`...)
	b = jsontree.AppendString(b, string(r.Body))
	b = append(b, `}]`...)
	if r.Err != nil {
		return append(b, `,"isError":true}}`...)
	}
	b = append(b, `,"structuredContent":`...)
	return append(append(b, r.Body...), '}', '}')
}
