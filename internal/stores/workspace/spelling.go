package workspace

import (
	"path"
	"strings"
	"unicode"
	"unicode/utf8"
)

// plainSpelling gives the name that a forgiving disk may take a clean path for.
// Such disks (APFS, HFS+, ext4 with casefold) fold letters that have no
// ordinary case, and overlook characters that show nothing: to them `.ſecrets`
// is `.secrets`. Rules are written in ASCII, so that is as far as this goes.
func plainSpelling(clean string) string {
	if isASCII(clean) {
		return clean
	}
	var b strings.Builder
	for _, r := range clean {
		b.WriteString(plainLetters(r))
	}
	return path.Clean(b.String())
}

func isASCII(s string) bool {
	for i := range len(s) {
		if s[i] >= utf8.RuneSelf {
			return false
		}
	}
	return true
}

// plainLetters gives the ASCII letters that r folds to, and r if there are none.
func plainLetters(r rune) string {
	switch r {
	case 'ß', 'ẞ':
		return "ss"
	case 'ﬀ':
		return "ff"
	case 'ﬁ':
		return "fi"
	case 'ﬂ':
		return "fl"
	case 'ﬃ':
		return "ffi"
	case 'ﬄ':
		return "ffl"
	case 'ﬅ', 'ﬆ':
		return "st"
	}
	if unicode.In(r, unicode.Cf, unicode.Variation_Selector, unicode.Other_Default_Ignorable_Code_Point) {
		return ""
	}
	for same := unicode.SimpleFold(r); same != r; same = unicode.SimpleFold(same) {
		if same < utf8.RuneSelf {
			return string(same)
		}
	}
	return string(r)
}
