// Package tokenize splits text and code into the words that a search compares. It does not remove
// stop words.
package tokenize

import (
	"iter"
	"unicode"
	"unicode/utf8"
)

// maxWord is the maximum length of a word in bytes. Anything longer is data, not language; the rest
// is dropped.
const maxWord = 64

// Words returns the words of a text in order: in lower case, without accents, and with identifiers
// split at their word boundaries (parseHTTPRequest2 becomes parse, http, request, 2).
func Words(text string) []string {
	letters := make([]byte, 0, len(text))
	ends := make([]int, 0, len(text)/5+1)
	for word := range All(text) {
		letters = append(letters, word...)
		ends = append(ends, len(letters))
	}
	all, found, start := string(letters), make([]string, len(ends)), 0
	for i, end := range ends {
		found[i], start = all[start:end], end
	}
	return found
}

// All iterates over the words that Words returns. Each word is valid until the next. It is for
// callers that count or look up words and need no strings.
func All(text string) iter.Seq[[]byte] {
	return func(yield func(word []byte) bool) {
		s := scanner{text: text, word: make([]byte, 0, maxWord+utf8.UTFMax)}
		for s.next() {
			if !yield(s.word) {
				return
			}
		}
	}
}

// kind is the kind of a character, which determines word boundaries.
type kind uint8

const (
	gap      kind = '.'
	lower    kind = 'a' // also letters without case
	upper    kind = 'A'
	digit    kind = '0'
	mark     kind = '^' // part of the letter before it, and dropped
	alone    kind = '#' // a word of its own, as in scripts without spaces
	nonASCII kind = '*' // not ASCII: the character must be decoded
)

// scanner finds one word after the other.
type scanner struct {
	text string
	at   int
	word []byte
}

// next advances to the next word, and reports whether there is one.
func (s *scanner) next() bool {
	s.word = s.word[:0]
	last := gap
	for s.at < len(s.text) {
		c := s.text[s.at]
		now := kind(kinds[c])
		if now == nonASCII {
			if ended := s.wide(&last); ended {
				return true
			}
			continue
		}
		if now == gap {
			if last != gap {
				s.skipShortForm()
				return true
			}
			s.at++
			continue
		}
		if last != gap && s.boundary(last, now) {
			return true
		}
		if now == upper {
			c |= 'a' - 'A'
		}
		if len(s.word) < maxWord {
			s.word = append(s.word, c)
		}
		last = now
		s.at++
	}
	return last != gap
}

// boundary reports whether a word ends between a character of one kind and the next character.
func (s *scanner) boundary(last, now kind) bool {
	switch {
	case last == lower && now == lower, last == digit && now == digit, last == upper && now == lower:
		return false
	case last == upper && now == upper:
		return s.startsName()
	}
	return true
}

// startsName reports whether the capital at this place begins a word after an acronym, as R does in
// HTTPRequest, but not the L in URLs.
func (s *scanner) startsName() bool {
	_, size := utf8.DecodeRuneInString(s.text[s.at:])
	rest := s.text[s.at+size:]
	following, after := kindOf(rest)
	if following != lower {
		return false
	}
	if rest[0] != 's' {
		return true
	}
	beyondS, _ := kindOf(rest[after:])
	return beyondS == lower
}

// skipShortForm skips what follows an apostrophe in don't, it's or we've.
func (s *scanner) skipShortForm() {
	rest := s.text[s.at:]
	if len(rest) < 2 || rest[0] != '\'' {
		return
	}
	n := 1
	for n < len(rest) && kind(kinds[rest[n]]) == lower {
		n++
	}
	switch rest[1:n] {
	case "s", "t", "d", "m", "ll", "re", "ve":
		s.at += n
	}
}

// wide reads the next character, which is not ASCII, and reports whether the word ended.
func (s *scanner) wide(last *kind) bool {
	now, size := kindOf(s.text[s.at:])
	if *last != gap && now != mark && (now == gap || s.boundary(*last, now)) {
		return true
	}
	if now != gap && now != mark && len(s.word) < maxWord {
		r, _ := utf8.DecodeRuneInString(s.text[s.at:])
		s.word = appendFolded(s.word, r)
	}
	s.at += size
	if now == mark {
		return false
	}
	*last = now
	return now == alone
}

// kindOf returns the kind and the size of the first character of a text.
func kindOf(text string) (kind, int) {
	if text == "" {
		return gap, 0
	}
	if k := kind(kinds[text[0]]); k != nonASCII {
		return k, 1
	}
	r, size := utf8.DecodeRuneInString(text)
	switch {
	case unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Thai):
		return alone, size
	case unicode.IsUpper(r):
		return upper, size
	case unicode.IsLetter(r):
		return lower, size
	case unicode.IsDigit(r):
		return digit, size
	case unicode.Is(unicode.Mn, r):
		return mark, size
	}
	return gap, size
}

// kinds holds the kind of each byte.
const kinds = "" +
	"................................................0000000000......" +
	".AAAAAAAAAAAAAAAAAAAAAAAAAA......aaaaaaaaaaaaaaaaaaaaaaaaaa....." +
	"****************************************************************" +
	"****************************************************************"

// plain holds the base letter for the accented letters U+00C0 to U+017F, or a dot if there is none
// or more than one.
const plain = "" +
	"aaaaaa.ceeeeiiiidnooooo.ouuuuy.saaaaaa.ceeeeiiiidnooooo.ouuuuy.y" +
	"aaaaaaccccccccddddeeeeeeeeeegggggggghhhhiiiiiiiiii..jjkkklllllll" +
	"lllnnnnnnnnnoooooo..rrrrrrssssssssttttttuuuuuuuuuuuuwwyyyzzzzzzs"

// appendFolded appends a letter in lower case and without its accent.
func appendFolded(word []byte, r rune) []byte {
	if i := int(r) - 0xC0; i >= 0 && i < len(plain) && plain[i] != '.' {
		word = append(word, plain[i])
		if r == 'ß' {
			word = append(word, 's')
		}
		return word
	}
	return utf8.AppendRune(word, unicode.ToLower(r))
}
