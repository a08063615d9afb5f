package engine

import (
	"unicode/utf8"

	"remit/internal/contract"
	"remit/internal/contract/jsontree"
)

// NoResource returns the error of a shelf that has nothing at an address. cause, which may be
// nil, is for the log.
func NoResource(uri string, cause error) error {
	return contract.Errorf(contract.NotFound, "There is no resource %s", uri).With("uri", uri).Because(cause)
}

// ContentsOf returns the contents at an address as text if data is UTF-8, as bytes otherwise.
func ContentsOf(uri, mime string, data []byte) Contents {
	if utf8.Valid(data) {
		return Contents{URI: uri, MIME: mime, Text: string(data)}
	}
	return Contents{URI: uri, MIME: mime, Blob: data}
}

// FromUser returns a message of a prompt that the user says.
func FromUser(content jsontree.Value) Message { return Message{Role: "user", Content: content} }
