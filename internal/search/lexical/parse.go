package lexical

import (
	"slices"
	"strings"
)

// Sees tells whether the scanner is at one of these words or marks.
func (s *Scanner) Sees(texts ...string) bool {
	return (s.Tok.Kind == Word || s.Tok.Kind == Mark) && slices.Contains(texts, s.Tok.Text)
}

// Takes moves on if the scanner is at a word or a mark.
func (s *Scanner) Takes(text string) bool {
	if !s.Sees(text) {
		return false
	}
	s.Next()
	return true
}

// Name reads words with a mark between them, as a.b.c. A mark that no word follows is left.
func (s *Scanner) Name(mark string) string {
	var b strings.Builder
	for s.Tok.Kind == Word {
		b.WriteString(s.Tok.Text)
		s.Next()
		if !s.Sees(mark) || !s.wordFollows() {
			break
		}
		b.WriteString(mark)
		s.Next()
	}
	return b.String()
}

// wordFollows tells whether a word comes after the token that the scanner is at.
func (s *Scanner) wordFollows() bool {
	before := *s
	found := s.Next().Kind == Word
	*s = before
	return found
}

// Enclosed moves past what stands between the mark that the scanner is at and the one that closes it, and past that.
func (s *Scanner) Enclosed(open, shut string) {
	for depth := 0; s.Tok.Kind != End; {
		if s.Sees(open) {
			depth++
		} else if s.Sees(shut) {
			depth--
		}
		s.Next()
		if depth == 0 {
			return
		}
	}
}
