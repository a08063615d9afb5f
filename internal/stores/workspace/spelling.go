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
	if !strings.ContainsFunc(clean, func(r rune) bool { return r >= utf8.RuneSelf }) {
		return clean
	}
	var b strings.Builder
	for _, r := range clean {
		b.WriteString(plainLetters(r))
	}
	return path.Clean(b.String())
}

// ligatures are letters that fold to several.
var ligatures = map[rune]string{
	'ß': "ss", 'ẞ': "ss", 'ﬀ': "ff", 'ﬁ': "fi", 'ﬂ': "fl", 'ﬃ': "ffi", 'ﬄ': "ffl", 'ﬅ': "st", 'ﬆ': "st",
}

// plainLetters gives the ASCII letters that r folds to, and r if there are none.
func plainLetters(r rune) string {
	if letters, ok := ligatures[r]; ok {
		return letters
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
