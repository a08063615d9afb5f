package mcp

import (
	"strconv"

	"remit/internal/contract"
	"remit/internal/contract/jsontree"
	"remit/internal/engine"
	"remit/internal/engine/once"
)

// metaPrefix begins every key of _meta that is ours.
const metaPrefix = "io.remit/"

// The keys of _meta that make a call safe to repeat, and say that it was a repeat.
const (
	metaKey      = metaPrefix + "idempotencyKey"
	metaReplayed = metaPrefix + "replayed"
)

// The keys of _meta that tell of an answer with less than there is: that it is cut, and
// how many elements there are, if that is known.
const (
	metaTruncated = metaPrefix + "truncated"
	metaTotal     = metaPrefix + "total"
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

// marksOf are the members of _meta that a result carries, as JSON without the braces.
func marksOf(result *engine.Result) []byte {
	var marks []byte
	switch notes := result.Notes; {
	case result.Replayed:
		marks = []byte(`"` + metaReplayed + `":true`)
	case notes.Truncated && notes.Total >= 0:
		marks = strconv.AppendInt([]byte(`"`+metaTruncated+`":true,"`+metaTotal+`":`), notes.Total, 10)
	case notes.Truncated:
		marks = []byte(`"` + metaTruncated + `":true`)
	}
	for _, remark := range result.Remarks.Members {
		if marks != nil {
			marks = append(marks, ',')
		}
		marks = append(jsontree.AppendString(marks, metaPrefix+remark.Key), ':')
		marks = remark.Value.Append(marks)
	}
	return marks
}

// endNoted closes a result with marks in its _meta.
func (q *request) endNoted(b, marks []byte) []byte {
	if marks == nil {
		return q.end(b)
	}
	if q.from.era == legacy {
		b = append(separate(b), `"_meta":{`...)
	} else {
		signature := q.server.signature() // it ends with _meta
		b = append(separate(b), signature[:len(signature)-1]...)
		b = append(b, ',')
	}
	return append(append(b, marks...), `}}}`...)
}
