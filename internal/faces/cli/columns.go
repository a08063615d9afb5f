package cli

import (
	"strings"
	"unicode"

	"golang.org/x/text/width"
)

// columns is how many columns of a terminal a text takes.
func columns(text string) int {
	n := 0
	for _, r := range text {
		n += columnsOf(r)
	}
	return n
}

func columnsOf(r rune) int {
	switch {
	case r < 0x300: // Latin, without a look at any table
		return 1
	case unicode.In(r, unicode.Mn, unicode.Me, unicode.Cf):
		return 0
	}
	switch width.LookupRune(r).Kind() {
	case width.EastAsianWide, width.EastAsianFullwidth:
		return 2
	default:
		return 1
	}
}

// cut shortens a text to so many columns, and shows that it did.
func cut(text string, room int) string {
	if room < 1 {
		return ""
	}
	if len(text) <= room || columns(text) <= room {
		return text
	}
	var b strings.Builder
	for _, r := range text {
		if room -= columnsOf(r); room < 1 { // one is for the ellipsis
			break
		}
		b.WriteRune(r)
	}
	return b.String() + "…"
}
