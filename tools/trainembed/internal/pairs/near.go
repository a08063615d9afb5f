package pairs

import (
	"slices"

	search "remit/internal/search/tokenize"
)

const (
	// nearly is the share of common content words from which two texts count as similar.
	nearly = 0.5
	// minContentLength is the minimum length of a content word. Shorter words say little about the
	// subject.
	minContentLength = 4
)

// content returns the content words of a text, sorted and without duplicates.
func content(text string) []string {
	var some []string
	for _, word := range search.Words(text) {
		if len(word) >= minContentLength {
			some = append(some, search.Stem(word))
		}
	}
	slices.Sort(some)
	return slices.Compact(some)
}

// near reports whether a text has about the same content words as one in the evaluation sets. One
// common word is not enough.
func (e *evaluation) near(text string) bool {
	some := content(text)
	for _, other := range e.texts {
		if both := common(some, other); both > 1 && float64(both) >= nearly*float64(len(some)+len(other)-both) {
			return true
		}
	}
	return false
}

// common counts the elements that two sorted lists share.
func common(a, b []string) int {
	both := 0
	for len(a) > 0 && len(b) > 0 {
		switch {
		case a[0] < b[0]:
			a = a[1:]
		case a[0] > b[0]:
			b = b[1:]
		default:
			a, b = a[1:], b[1:]
			both++
		}
	}
	return both
}
