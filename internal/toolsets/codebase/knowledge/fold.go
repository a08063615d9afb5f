package knowledge

import (
	"slices"
	"strings"
	"unicode"
)

// alike is how many words of two texts, in percent of all their words, must be in both for them to say the same.
const alike = 90

// fold keeps the best candidates, at most limit of them, of those that say the same only the first. It tells how many it left
// out because they do.
func fold(candidates []candidate, limit int) (kept []candidate, folded int) {
	for _, c := range candidates {
		c.bag = bagOf(c.piece.Text)
		isSame := func(known candidate) bool { return known.entry.key == c.entry.key || isAlike(known.bag, c.bag) }
		switch {
		case slices.ContainsFunc(kept, isSame):
			folded++
		case len(kept) < limit:
			kept = append(kept, c)
		}
	}
	return kept, folded
}

// bagOf is the words of a text, in lower case.
func bagOf(text string) map[string]struct{} {
	bag := map[string]struct{}{}
	for word := range strings.FieldsFuncSeq(strings.ToLower(text), isBetween) {
		bag[word] = struct{}{}
	}
	return bag
}

func isBetween(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) }

// isAlike compares what two texts have in common with all that they have. Texts without words are never alike.
func isAlike(a, b map[string]struct{}) bool {
	if len(a) > len(b) {
		a, b = b, a
	}
	if len(a)*100 < len(b)*alike || len(a) == 0 {
		return false
	}
	both := 0
	for word := range a {
		if _, found := b[word]; found {
			both++
		}
	}
	return both*100 >= (len(a)+len(b)-both)*alike
}
