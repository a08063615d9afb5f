package hybrid

import (
	"slices"
	"strings"

	"remit/internal/search/tokenize"
)

// minPartLength is the minimum number of letters in a part of a compound.
const minPartLength = 2

// compounds handles names that are written as one word by some and as several by others, such as
// duckdb and DuckDB. It replaces a word that is in no chunk by two that are, and adds the joined
// words of a name if that is in a chunk.
func (v *view) compounds(text string, terms []term) []term {
	for i := 0; i < len(terms); i++ {
		if v.has(terms[i].hash) || terms[i].word == "" {
			continue
		}
		if first, second, ok := v.parts(terms[i].word); ok {
			terms = slices.Replace(terms, i, i+1, first, second)
			i++
		}
	}
	for field := range strings.FieldsSeq(text) {
		parts := tokenize.Words(field)
		if len(parts) < 2 || len(parts) > 4 {
			continue
		}
		if whole := hash(tokenize.Stem([]byte(strings.Join(parts, "")))); v.has(whole) && !slices.ContainsFunc(terms, func(t term) bool { return t.hash == whole }) {
			terms = append(terms, term{hash: whole})
		}
	}
	return terms
}

// has reports whether any live chunk contains a word.
func (v *view) has(word uint64) bool {
	return slices.ContainsFunc(v.segments, func(s segment) bool {
		l, ok := s.list(word)
		return ok && s.liveCount(l) > 0
	})
}

// parts splits a word into two that chunks contain, the first as long as possible.
func (v *view) parts(word string) (first, second term, ok bool) {
	for at := len(word) - minPartLength; at >= minPartLength; at-- {
		first.hash, second.hash = hash(tokenize.Stem([]byte(word[:at]))), hash(tokenize.Stem([]byte(word[at:])))
		if v.has(first.hash) && v.has(second.hash) {
			return first, second, true
		}
	}
	return first, second, false
}
