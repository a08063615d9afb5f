package cli

import (
	"strings"
	"unicode"
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
	case unicode.Is(wide, r):
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

// wide are the blocks whose characters take two columns: those of East Asia, and
// pictures. Where a block is mixed it counts as wide, so that a line may turn out
// short but never too long.
var wide = &unicode.RangeTable{
	R16: []unicode.Range16{
		{0x1100, 0x115f, 1}, // Hangul Jamo
		{0x231a, 0x231b, 1}, // watch, hourglass
		{0x23e9, 0x23f3, 1}, // arrows of players, clocks
		{0x2614, 0x2615, 1}, // umbrella, hot drink
		{0x2648, 0x2653, 1}, // zodiac
		{0x26a1, 0x26a1, 1}, // lightning
		{0x2705, 0x2705, 1}, // check mark
		{0x270a, 0x270b, 1}, // hands
		{0x2728, 0x2728, 1}, // sparkles
		{0x274c, 0x274e, 1}, // crosses
		{0x2753, 0x2757, 1}, // question and exclamation marks
		{0x2795, 0x2797, 1}, // plus, minus, division
		{0x2b1b, 0x2b1c, 1}, // squares
		{0x2b50, 0x2b55, 1}, // star, circle
		{0x2e80, 0x303e, 1}, // radicals, punctuation
		{0x3041, 0xa4cf, 1}, // kana to Yi
		{0xa960, 0xa97f, 1}, // Hangul Jamo, extended
		{0xac00, 0xd7a3, 1}, // Hangul
		{0xf900, 0xfaff, 1}, // ideographs for compatibility
		{0xfe30, 0xfe6f, 1}, // forms for compatibility
		{0xff01, 0xff60, 1}, // full width
		{0xffe0, 0xffe6, 1}, // signs of full width
	},
	R32: []unicode.Range32{
		{0x16fe0, 0x1b2ff, 1}, // Tangut to Nushu
		{0x1f300, 0x1f64f, 1}, // pictures, faces
		{0x1f680, 0x1f6ff, 1}, // transport
		{0x1f900, 0x1f9ff, 1}, // more pictures
		{0x1fa70, 0x1faff, 1}, // and more
		{0x20000, 0x3fffd, 1}, // more ideographs
	},
}
