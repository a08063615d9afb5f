// Package lexical knows how languages write comments, strings, here-documents and regular expressions. Its one scanner takes
// source text apart for whoever looks for declarations, imports or comments.
package lexical

import (
	"slices"
	"strings"
)

// A Kind tells what a token is.
type Kind uint8

// These are the kinds of tokens.
const (
	End     Kind = iota // the end of the text
	Word                // letters, digits, _, $ and whatever is not ASCII; or a name in quotes
	Text                // a literal
	Mark                // a byte of anything else
	Comment             // given only to those who ask for it
)

// A Token is a piece of source text.
type Token struct {
	Kind Kind
	// Text is the token as written; of a literal, a comment or a name in quotes what is within its marks.
	Text string
	// Start and End are its place in the text.
	Start, End int
	// Line is that of its first byte, counted from 1.
	Line int
	// Quote is the byte that a literal is quoted with; 0 if its text is not what it means: something is filled in, or escaped
	// in a way that matters.
	Quote byte
	// Fresh tells that nothing but comments stands before it on its line.
	Fresh bool
}

// An Error says what is not closed.
type Error struct {
	Line int
	Why  string
}

// A Scanner walks over source text token by token, once, in time linear in its size. It takes every text as it comes: the first
// thing that is not closed is noted, and reaches as far as it may.
type Scanner struct {
	*language
	// Src is the text without a byte order mark, At where the next token is looked for, and Line the line of that place.
	Src      string
	At, Line int
	// Tok is the present token.
	Tok Token
	// Err is the first error.
	Err *Error
	// Comments makes comments tokens; they never become Tok.
	Comments bool

	last     int      // the line on which the token before ended
	from, to int      // what is within the marks of the token that is being read
	quote    byte     // see Token.Quote
	depth    int      // how deep the strings stand that are being read
	pending  []string // what ends the here-documents that begin with the next line
	unclosed [3]int   // before there a quote (', " or another) is known to have no end
	script   *script  // what is known of a script
}

// New makes a scanner that is at no token yet. A line that begins with #! is passed over.
func New(languageName string, content []byte) *Scanner {
	s := &Scanner{language: languageOf(languageName), Src: strings.TrimPrefix(string(content), "\ufeff"), Line: 1}
	if s.Has("#!") && !s.Has("#![") {
		s.restOfLine()
	}
	if s.begin != nil {
		s.begin(s)
	}
	return s
}

// Next moves to the next token, and returns it.
func (s *Scanner) Next() Token {
	for {
		s.space()
		t := Token{Line: s.Line, Start: s.At, Fresh: s.Line != s.last}
		s.from, s.to, s.quote = -1, -1, 0
		if s.At < len(s.Src) {
			t.Kind = s.token()
		}
		t.End, t.Quote = s.At, s.quote
		if s.from < 0 {
			s.from, s.to = t.Start, t.End
		}
		t.Text = s.Src[s.from:s.to]
		if t.Kind == Comment {
			if s.Comments {
				return t
			}
			continue
		}
		s.last = s.Line
		if s.script != nil {
			s.script.note(s, &t)
		}
		s.Tok = t
		return t
	}
}

// token reads what begins here.
func (s *Scanner) token() Kind {
	c := s.Src[s.At]
	class := s.class[c]
	if class&asks != 0 {
		if kind := s.special(s); kind != End {
			return kind
		}
	}
	switch {
	case class&inWord != 0:
		s.word()
		return Word
	case class&begins == 0:
	case s.comment():
		return Comment
	case s.literal(c):
		return Text
	case c == s.wordQuote && s.quoted():
		return Word
	case c == '\\' && s.backslash && s.At+1 < len(s.Src) && s.Src[s.At+1] != '\n':
		s.At++
	}
	s.At++
	return Mark
}

// IsWordByte tells whether a byte may stand in a name of most languages; whatever is not ASCII may.
func IsWordByte(c byte) bool {
	return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || IsDigit(c) || c == '_' || c == '$' || c >= 0x80
}

// IsDigit tells whether a byte is a decimal digit.
func IsDigit(c byte) bool { return '0' <= c && c <= '9' }

// word moves past a word or a number.
func (s *Scanner) word() {
	number := s.separator != 0 && IsDigit(s.Src[s.At])
	for s.At < len(s.Src) {
		c := s.Src[s.At]
		joins := number && c == s.separator && s.At+1 < len(s.Src) && IsWordByte(s.Src[s.At+1])
		if s.class[c]&inWord == 0 && !joins {
			return
		}
		s.At++
	}
}

// space moves past white space, and past here-documents.
func (s *Scanner) space() {
	for s.At < len(s.Src) {
		switch s.Src[s.At] {
		case '\n':
			s.At++
			s.Line++
			if len(s.pending) > 0 {
				s.hereDocuments()
			}
		case ' ', '\t', '\r', '\f', '\v', 0:
			s.At++
		default:
			return
		}
	}
}

// comment moves past a comment, if one begins here.
func (s *Scanner) comment() bool {
	for _, marks := range s.block {
		if s.Has(marks[0]) {
			s.blockComment(marks[0], marks[1])
			return true
		}
	}
	for _, mark := range s.line {
		if s.Has(mark) && (!s.spaced || s.afterSpace()) {
			s.from = s.At + len(mark)
			s.restOfLine()
			s.to = max(s.At, s.from)
			return true
		}
	}
	return false
}

// afterSpace tells whether a blank, or nothing, is before this place on its line.
func (s *Scanner) afterSpace() bool {
	return s.At == 0 || strings.IndexByte(" \t;\n", s.Src[s.At-1]) >= 0
}

// blockComment moves past a comment that has an end of its own, and perhaps others within it.
func (s *Scanner) blockComment(open, shut string) {
	begin, i, depth := s.Line, s.At+len(open), 1
	s.from = i
	for i < len(s.Src) && depth > 0 {
		switch rest := s.Src[i:]; {
		case strings.HasPrefix(rest, shut):
			i += len(shut)
			depth--
		case s.nested && strings.HasPrefix(rest, open):
			i += len(open)
			depth++
		default:
			i++
		}
	}
	s.to = i
	if depth > 0 {
		s.Fail(begin, "unterminated comment")
	} else {
		s.to -= len(shut)
	}
	s.Skip(i - s.At)
}

// Has tells whether the text goes on with prefix.
func (s *Scanner) Has(prefix string) bool { return strings.HasPrefix(s.Src[s.At:], prefix) }

// at gives the byte at a place, 0 beyond the end.
func (s *Scanner) at(place int) byte {
	if place < len(s.Src) {
		return s.Src[place]
	}
	return 0
}

// Skip moves past n bytes, or to the end if there are fewer.
func (s *Scanner) Skip(n int) {
	to := min(s.At+n, len(s.Src))
	s.Line += strings.Count(s.Src[s.At:to], "\n")
	s.At = to
}

// restOfLine moves to the end of the line, and returns what was before it.
func (s *Scanner) restOfLine() string {
	start := s.At
	for {
		n := strings.IndexByte(s.Src[s.At:], '\n')
		if n < 0 {
			s.At = len(s.Src)
			return s.Src[start:]
		}
		s.At += n
		if !s.spliced || !strings.HasSuffix(strings.TrimSuffix(s.Src[start:s.At], "\r"), `\`) {
			return s.Src[start:s.At]
		}
		s.Skip(1)
	}
}

// Fail notes what is wrong, unless something was before.
func (s *Scanner) Fail(line int, why string) {
	if s.Err == nil {
		s.Err = &Error{Line: line, Why: why}
	}
}

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
