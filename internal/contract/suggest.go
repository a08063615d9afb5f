package contract

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"remit/internal/contract/jsontree"
)

// Nearest returns the candidate most similar to word, or "" if none is similar. It ignores letter
// case.
func Nearest(word string, candidates []string) string {
	const maxName = 64 // longer than every name to compare with
	if len(word) > maxName {
		return ""
	}
	word = strings.ToLower(word)
	best, bestDistance := "", len(word)/3+2
	for _, candidate := range candidates {
		// A word in which every letter differs is not a typing error.
		if d := EditDistance(word, strings.ToLower(candidate), bestDistance-1); d < bestDistance && d < len(candidate) {
			best, bestDistance = candidate, d
		}
	}
	return best
}

// OneOf returns an error unless word is one of known. If known has more than two words, the error
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

// Suggestion returns the end of a sentence about an unknown name: the known name that was probably
// meant, or "" if there is none.
func Suggestion(name string, known []string) string {
	if near := Nearest(name, known); near != "" {
		return fmt.Sprintf("; did you mean %q?", near)
	}
	return ""
}

// Hint returns the end of a sentence about an unknown name: the known name that was probably meant,
// or else all of them.
func Hint(name string, known []string) string {
	return cmp.Or(Suggestion(name, known), "; known: "+cmp.Or(strings.Join(known, ", "), "none"))
}

// suggest returns the end of a sentence that names the nearest candidate, or "".
func suggest(word string, candidates []string) string {
	if near := Nearest(word, candidates); near != "" {
		return " (did you mean " + strconv.Quote(near) + "?)"
	}
	return ""
}

// suggestOrList returns the end of a sentence that names the nearest candidate, or else all of
// them.
func suggestOrList(word string, candidates []string) string {
	if hint := suggest(word, candidates); hint != "" || len(candidates) == 0 {
		return hint
	}
	return " (known: " + strings.Join(candidates, ", ") + ")"
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

// EditDistance returns how many single-letter edits turn a into b. If there are more than limit, it
// stops early and returns some number greater than limit.
func EditDistance(a, b string, limit int) int {
	if diff := len(a) - len(b); diff > limit || -diff > limit {
		return limit + 1
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
		if least > limit {
			return limit + 1
		}
	}
	return row[len(b)]
}
