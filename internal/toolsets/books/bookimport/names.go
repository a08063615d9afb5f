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

// fits tells whether a name can stay as it is.
func fits(name string) bool {
	odd := func(r rune) bool { return !InName(r) }
	return name != "" && name[0] != '.' && !strings.Contains(name, "..") && !strings.ContainsFunc(name, odd)
}

// InName tells whether the name of a file or folder of a book may have a character.
func InName(r rune) bool {
	return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '_' || r == '-' || r == '.'
}

// fit makes a name of letters that a book's paths may have, with the same ending.
func fit(name string) string {
	if fits(name) {
		return name
	}
	spelt := spell(name)
	if strings.TrimSuffix(spelt, path.Ext(spelt)) != "" {
		return spelt
	}
	sum := sha256.Sum256([]byte(name)) // nothing of it can be kept, but names that differ shall go on to
	return "untitled-" + hex.EncodeToString(sum[:3]) + spelt
}

// spell writes a text with the letters that are allowed: accents fall off, white space
// becomes a dash, all else is left out.
func spell(text string) string {
	var out []byte
	for _, r := range text {
		letters := folded(r)
		switch {
		case unicode.IsSpace(r):
			letters = "-"
		case InName(r):
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

// folded is a letter of Latin without its accent; "" for any other.
func folded(r rune) string {
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

// cased gives letters a capital where the one they stand for was.
func cased(r rune, letters string) string {
	if unicode.IsUpper(r) {
		return strings.ToUpper(letters[:1]) + letters[1:]
	}
	return letters
}

// BookID makes an id of a book of what its folder is called. Not all names have the
// letters for one.
func BookID(name string) string {
	id := strings.Map(func(r rune) rune {
		if r == '_' || r == '.' {
			return '-'
		}
		return r
	}, strings.ToLower(spell(name)))
	id = strings.Join(strings.FieldsFunc(id, func(r rune) bool { return r == '-' }), "-")
	return strings.TrimRight(id[:min(len(id), mostID)], "-")
}

// mostID is how long the id of a book may be.
const mostID = 50

// taken are the names that are used in one place. Names that differ in case alone are
// the same: on some machines they would be one file.
type taken map[string]bool

// claim takes a name, or the same with a number if somebody has it.
func (t taken) claim(name string) string {
	ending := path.Ext(name)
	stem := strings.TrimSuffix(name, ending)
	for n := 2; t[strings.ToLower(name)]; n++ {
		name = stem + "-" + strconv.Itoa(n) + ending
	}
	t[strings.ToLower(name)] = true
	return name
}
