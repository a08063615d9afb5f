package console

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"znkr.io/diff"

	"remit/internal/visible"
)

// piece is a part of a line of a diff.
type piece struct {
	Text    string
	Changed bool
}

// Limits of the search for changed words. Marks in a line that is mostly new, or very long, do not
// help.
const (
	maxWordLine = 500 // characters
	minCommon   = 60  // percent of the words that both lines have
)

// changedWords returns the parts of two lines, given as tokens, of which the second replaces the
// first; nil if they have too little in common.
func changedWords(a, b []string) (removed, added []piece) {
	words, common := wordsIn(a)+wordsIn(b), 0
	for _, e := range diff.Edits(a, b) {
		switch e.Op {
		case diff.Insert:
			added = appendPiece(added, e.Y, true)
		case diff.Delete:
			removed = appendPiece(removed, e.X, true)
		default:
			common += 2 * wordsIn([]string{e.X})
			removed, added = appendPiece(removed, e.X, false), appendPiece(added, e.X, false)
		}
	}
	changed := func(p piece) bool { return p.Changed }
	if words == 0 || 100*common < minCommon*words || !slices.ContainsFunc(removed, changed) && !slices.ContainsFunc(added, changed) {
		return nil, nil
	}
	return escaped(removed), escaped(added)
}

// wordTokens splits a line into words, spaces and single other characters. It returns nil for a
// line that is too long.
func wordTokens(line string) (list []string) {
	line = strings.TrimSuffix(line, "\n")
	if utf8.RuneCountInString(line) > maxWordLine {
		return nil
	}
	kind := func(r rune) int {
		switch {
		case unicode.IsLetter(r) || unicode.IsDigit(r) || unicode.IsMark(r) || r == '_':
			return 1
		case unicode.IsSpace(r):
			return 2
		}
		return 0
	}
	start, last := 0, 0
	for i, r := range line {
		k := kind(r)
		if i > start && (k == 0 || k != last) {
			list = append(list, line[start:i])
			start = i
		}
		last = k
	}
	if start < len(line) {
		list = append(list, line[start:])
	}
	return list
}

func wordsIn(tokens []string) (n int) {
	for _, t := range tokens {
		if r, _ := utf8.DecodeRuneInString(t); unicode.IsLetter(r) || unicode.IsDigit(r) || r == '_' {
			n++
		}
	}
	return n
}

// appendPiece appends a token to the last piece, if both have changed or neither has.
func appendPiece(list []piece, token string, changed bool) []piece {
	if n := len(list); n > 0 && list[n-1].Changed == changed {
		list[n-1].Text += token
		return list
	}
	return append(list, piece{token, changed})
}

// escaped joins changed pieces that only a space separates, and escapes invisible characters.
func escaped(list []piece) (joined []piece) {
	for i, p := range list {
		between := i > 0 && i+1 < len(list) && !p.Changed && strings.TrimSpace(p.Text) == ""
		joined = appendPiece(joined, p.Text, p.Changed || between)
	}
	for i := range joined {
		joined[i].Text = visible.Text(joined[i].Text)
	}
	return joined
}
