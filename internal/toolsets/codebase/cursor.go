package codebase

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"fmt"

	"remit/internal/contract"
	"remit/internal/search/corpus"
)

// searchID tells one search from another, so that a cursor is used only with the arguments it was given for. It is no
// secret: a cursor leads to nothing that its caller could not find anyway.
type searchID [6]byte

func (in *GrepIn) search() searchID {
	about := fmt.Appendf(nil, "%q %q %t %q", in.Pattern, in.FilePattern, in.CaseSensitive, in.Output)
	sum := sha256.Sum256(about)
	return searchID(sum[:len(searchID{})])
}

// cursor leads to what comes after a place.
func (s searchID) cursor(after corpus.Place) string {
	data := binary.AppendUvarint(s[:], uint64(after.Line))
	return base64.RawURLEncoding.EncodeToString(append(data, after.Path...))
}

// resume gives the place that a cursor leads on from.
func (s searchID) resume(cursor string) (corpus.Place, error) {
	data, err := base64.RawURLEncoding.DecodeString(cursor)
	if err == nil && len(data) > len(s) {
		line, n := binary.Uvarint(data[len(s):])
		if after := (corpus.Place{Line: int(line)}); n > 0 {
			after.Path = string(data[len(s)+n:])
			if s.cursor(after) == cursor {
				return after, nil
			}
		}
	}
	return corpus.Place{}, contract.Errorf(contract.Invalid, "Invalid cursor").With("cursor", cursor).
		With("details", "it is not one of this search; start without it").Because(err)
}

// Cut leaves the first n matches of an answer that is too long.
func (out GrepOut) Cut(n int) any {
	out.Matches = out.Matches[:n]
	out.NextCursor = out.search.cursor(out.Matches[n-1].place)
	return out
}
