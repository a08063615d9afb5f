package hybrid

import (
	"slices"
	"strings"

	"remit/internal/search/tokenize"
)

// shortestPart is how many letters a part of a compound has at least.
const shortestPart = 2

// compounds makes up for names that some write as one word and others as several, as duckdb and DuckDB: a word that no piece
// has gives way to two that pieces have, and words of a name that no piece has are joined.
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
		parts := tokenize.Of(field)
		if len(parts) < 2 || len(parts) > 4 {
			continue
		}
		if whole := hash(tokenize.Stem([]byte(strings.Join(parts, "")))); v.has(whole) && !slices.ContainsFunc(terms, func(t term) bool { return t.hash == whole }) {
			terms = append(terms, term{hash: whole})
		}
	}
	return terms
}

// has tells whether any piece that is there has a word.
func (v *view) has(word uint64) bool {
	return slices.ContainsFunc(v.segments, func(s segment) bool {
		l, ok := s.list(word)
		return ok && s.holds(l) > 0
	})
}

// parts takes a word apart into two that pieces have, the first as long as can be.
func (v *view) parts(word string) (first, second term, ok bool) {
	for at := len(word) - shortestPart; at >= shortestPart; at-- {
		first.hash, second.hash = hash(tokenize.Stem([]byte(word[:at]))), hash(tokenize.Stem([]byte(word[at:])))
		if v.has(first.hash) && v.has(second.hash) {
			return first, second, true
		}
	}
	return first, second, false
}
