package workspace

import (
	"path"
	"strings"
	"unicode"
	"unicode/utf8"
)

// plainSpelling returns the name that a case-insensitive file system may use for a clean path. Such
// file systems (APFS, HFS+, ext4 with casefold) fold letters that have no ordinary case, and ignore
// invisible characters: to them `.ſecrets` is `.secrets`. Policy patterns are ASCII, so only
// folding to ASCII matters.
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

// ligatures maps letters that fold to several letters.
var ligatures = map[rune]string{
	'ß': "ss", 'ẞ': "ss", 'ﬀ': "ff", 'ﬁ': "fi", 'ﬂ': "fl", 'ﬃ': "ffi", 'ﬄ': "ffl", 'ﬅ': "st", 'ﬆ': "st",
}

// plainLetters returns the ASCII letters that r folds to, or r if there are none.
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
