package jsontree

import (
	"fmt"
	"strings"
	"unicode/utf16"
)

// Spell writes JSON with escapes in the place of the characters that keep refuses. It is the same JSON still, as long as keep
// takes all of ASCII that may stand outside of strings.
func Spell(json string, keep func(rune) bool) string {
	var b strings.Builder
	for _, r := range json {
		if keep(r) {
			b.WriteRune(r)
			continue
		}
		for _, unit := range utf16.AppendRune(nil, r) {
			fmt.Fprintf(&b, `\u%04x`, unit)
		}
	}
	return b.String()
}
