package mcp

import (
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
