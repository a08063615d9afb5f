package knowledge

import (
	"strings"
	"unicode"
)

// alike is how many words of two texts, in percent of all their words, must be in both for them to say the same.
const alike = 90

// fold keeps the best candidates, at most limit of them, of those that say the same only the first. It tells how many it left
// out because they do.
func fold(candidates []candidate, limit int) (kept []candidate, folded int) {
	var bags []map[string]struct{}
	for _, c := range candidates {
		bag := bagOf(c.piece.Text)
		if isSaid(kept, bags, c, bag) {
			folded++
			continue
		}
		if len(kept) < limit {
			kept = append(kept, c)
			bags = append(bags, bag)
		}
	}
	return kept, folded
}

func isSaid(kept []candidate, bags []map[string]struct{}, c candidate, bag map[string]struct{}) bool {
	for i := range kept {
		if kept[i].entry.key == c.entry.key || isAlike(bags[i], bag) {
			return true
		}
	}
	return false
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
