package contract

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"remit/internal/contract/jsontree"
)

// Nearest returns the candidate that a person most likely meant by word, or ""
// if none is near. Letter case is no distance.
func Nearest(word string, candidates []string) string {
	const longest = 64 // nothing that we name is longer
	if len(word) > longest {
		return ""
	}
	word = strings.ToLower(word)
	best, bestDistance := "", len(word)/3+2
	for _, candidate := range candidates {
		// Changing every letter is not a slip of the finger.
		if d := Distance(word, strings.ToLower(candidate), bestDistance-1); d < bestDistance && d < len(candidate) {
			best, bestDistance = candidate, d
		}
	}
	return best
}

// OneOf refuses a word that is none of those known. Where they are more than two, it
// names the nearest.
func OneOf(word string, known ...string) error {
	if slices.Contains(known, word) {
		return nil
	}
	last, near := len(known)-1, ""
	if last > 1 {
		near = Suggestion(word, known)
	}
	return fmt.Errorf("%q must be %s or %s%s", word, strings.Join(known[:last], ", "), known[last], near)
}

// Suggestion ends a sentence about an unknown name with the name that was probably meant;
// it is "" if there is none.
func Suggestion(name string, known []string) string {
	if near := Nearest(name, known); near != "" {
		return fmt.Sprintf("; did you mean %q?", near)
	}
	return ""
}

// Hint ends a sentence about an unknown name: with the name that was probably meant, or
// else with all there are.
func Hint(name string, known []string) string {
	return cmp.Or(Suggestion(name, known), "; there are "+cmp.Or(strings.Join(known, ", "), "none"))
}

// suggest gives the end of a sentence that names the nearest candidate.
func suggest(word string, candidates []string) string {
	if near := Nearest(word, candidates); near != "" {
		return " (did you mean " + strconv.Quote(near) + "?)"
	}
	return ""
}

// suggestOrList names the nearest candidate, or else all there are.
func suggestOrList(word string, candidates []string) string {
	if hint := suggest(word, candidates); hint != "" || len(candidates) == 0 {
		return hint
	}
	return " (known are " + strings.Join(candidates, ", ") + ")"
}

func suggestValue(v *jsontree.Value, enum []jsontree.Value) string {
	if v.Kind != jsontree.String {
		return ""
	}
	candidates := make([]string, len(enum))
	for i := range enum {
		candidates[i] = enum[i].Text
	}
	return suggest(v.Text, candidates)
}

// Distance is how many single-letter edits turn a into b. Beyond most it is anything
// that is more, which costs little to find out.
func Distance(a, b string, most int) int {
	if diff := len(a) - len(b); diff > most || -diff > most {
		return most + 1
	}
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := 1; i <= len(a); i++ {
		diagonal, least := row[0], i
		row[0] = i
		for j := 1; j <= len(b); j++ {
			cost := diagonal
			if a[i-1] != b[j-1] {
				cost++
			}
			diagonal = row[j]
			row[j] = min(cost, row[j]+1, row[j-1]+1)
			least = min(least, row[j])
		}
		if least > most {
			return most + 1
		}
	}
	return row[len(b)]
}
