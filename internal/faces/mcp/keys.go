package mcp

import (
	"remit/internal/contract"
	"remit/internal/contract/jsontree"
	"remit/internal/engine/once"
)

// The keys of _meta that make a call safe to repeat, and say that it was a repeat.
const (
	metaKey      = "io.remit/idempotencyKey"
	metaReplayed = "io.remit/replayed"
)

// idempotencyKey reads the key of a call; "" if the client sent none.
func (q *request) idempotencyKey() (string, error) {
	meta := q.params.Field("_meta")
	key, given := meta.Get(metaKey)
	if !given {
		return "", nil
	}
	if key.Kind != jsontree.String {
		return "", faultf(codeInvalidParams, "Invalid params: _meta[%q] must be a string, not %s", metaKey, key.Kind)
	}
	if err := once.CheckKey(key.Text); err != nil {
		return "", faultf(codeInvalidParams, "Invalid params: _meta[%q]: %s", metaKey, contract.AsError(err).Message)
	}
	return key.Text, nil
}

// endReplayed closes a result that an earlier call with the same key came to.
func (q *request) endReplayed(b []byte) []byte {
	const mark = `"` + metaReplayed + `":true`
	if q.from.era == legacy {
		return append(separate(b), `"_meta":{`+mark+`}}}`...)
	}
	signature := q.server.signature() // it ends with _meta
	b = append(separate(b), signature[:len(signature)-1]...)
	return append(b, `,`+mark+`}}}`...)
}
