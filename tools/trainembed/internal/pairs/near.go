package pairs

import (
	"slices"

	search "remit/internal/search/tokenize"
)

const (
	// nearly is the share of their telling words that two texts have in common if they are near.
	nearly = 0.5
	// telling is how long a word is at least that tells what a text is about; shorter ones hold it together.
	telling = 4
)

// content gives the telling words of a text, each once, in order.
func content(text string) []string {
	var some []string
	for _, word := range search.Of(text) {
		if len(word) >= telling {
			some = append(some, search.Stem(word))
		}
	}
	slices.Sort(some)
	return slices.Compact(some)
}

// near says that a text has about the same telling words as one of the evaluation sets. One word in common is a subject,
// not a text.
func (e *evaluation) near(text string) bool {
	some := content(text)
	for _, other := range e.texts {
		if both := common(some, other); both > 1 && float64(both) >= nearly*float64(len(some)+len(other)-both) {
			return true
		}
	}
	return false
}

// common counts what two ordered lists share.
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
