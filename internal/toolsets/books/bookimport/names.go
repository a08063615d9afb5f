package bookimport

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"path"
	"strconv"
	"strings"
	"unicode"
)

// fits reports whether a name is valid in a book.
func fits(name string) bool {
	odd := func(r rune) bool { return !IsNameRune(r) }
	return name != "" && name[0] != '.' && !strings.Contains(name, "..") && !strings.ContainsFunc(name, odd)
}

// IsNameRune reports whether names of files and folders in a book may contain a character.
func IsNameRune(r rune) bool {
	return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '_' || r == '-' || r == '.'
}

// fit converts a name into one that is valid in a book, with the same extension.
func fit(name string) string {
	if fits(name) {
		return name
	}
	spelt := spell(name)
	if strings.TrimSuffix(spelt, path.Ext(spelt)) != "" {
		return spelt
	}
	// Nothing of the name can be kept, but different names must stay different.
	sum := sha256.Sum256([]byte(name))
	return "untitled-" + hex.EncodeToString(sum[:3]) + spelt
}

// spell writes a text in the allowed characters: it removes accents, replaces white space by a dash
// and drops everything else.
func spell(text string) string {
	var out []byte
	for _, r := range text {
		letters := Folded(r)
		switch {
		case unicode.IsSpace(r):
			letters = "-"
		case IsNameRune(r):
			letters = string(r)
		}
		switch letters {
		case "-":
			if len(out) == 0 || out[len(out)-1] == '-' {
				continue
			}
		case ".":
			out = bytes.TrimRight(out, "-.")
		}
		out = append(out, letters...)
	}
	return string(bytes.TrimRight(out, "-."))
}

// Folded returns a Latin letter without its accent, or "" for any other character.
func Folded(r rune) string {
	const letters = "àaáaâaãaåaāaăaąaçcćcčcďdđdèeéeêeëeēeęeěeğgìiíiîiïiīiıiłlñnńnňnòoóoôoõoøoōořrśsšsşsťtțtùuúuûuūuůuýyÿyźzżzžz"
	switch lower := unicode.ToLower(r); lower {
	case 'ä', 'æ':
		return cased(r, "ae")
	case 'ö', 'œ':
		return cased(r, "oe")
	case 'ü':
		return cased(r, "ue")
	case 'ß':
		return "ss"
	default:
		if _, after, ok := strings.Cut(letters, string(lower)); ok && after != "" && after[0] < 0x80 {
			return cased(r, after[:1])
		}
		return ""
	}
}

// cased capitalises letters if r is upper case.
func cased(r rune, letters string) string {
	if unicode.IsUpper(r) {
		return strings.ToUpper(letters[:1]) + letters[1:]
	}
	return letters
}

// BookID derives a book id from the name of a folder. The result may be too short to be valid.
func BookID(name string) string {
	id := strings.Map(func(r rune) rune {
		if r == '_' || r == '.' {
			return '-'
		}
		return r
	}, strings.ToLower(spell(name)))
	id = strings.Join(strings.FieldsFunc(id, func(r rune) bool { return r == '-' }), "-")
	return strings.TrimRight(id[:min(len(id), maxID)], "-")
}

// maxID is the maximum length of a book id.
const maxID = 50

// taken is the set of names used in one folder. It ignores case, because some file systems do.
type taken map[string]bool

// claim reserves a name and returns it, with a number appended if it is taken.
func (t taken) claim(name string) string {
	ending := path.Ext(name)
	stem := strings.TrimSuffix(name, ending)
	for n := 2; t[strings.ToLower(name)]; n++ {
		name = stem + "-" + strconv.Itoa(n) + ending
	}
	t[strings.ToLower(name)] = true
	return name
}
