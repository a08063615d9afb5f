package engine

import (
	"unicode/utf8"

	"remit/internal/contract"
	"remit/internal/contract/jsontree"
)

// ResourceNotFound returns the error for a URI without a resource. Only the log gets cause, which
// may be nil.
func ResourceNotFound(uri string, cause error) error {
	return contract.Errorf(contract.NotFound, "There is no resource %s", uri).With("uri", uri).Because(cause)
}

// ContentsOf returns the content of a resource as text if data is UTF-8, and as bytes otherwise.
func ContentsOf(uri, mime string, data []byte) Contents {
	if utf8.Valid(data) {
		return Contents{URI: uri, MIME: mime, Text: string(data)}
	}
	return Contents{URI: uri, MIME: mime, Blob: data}
}

// FromUser returns a prompt message in the role of the user.
func FromUser(content jsontree.Value) Message { return Message{Role: "user", Content: content} }
