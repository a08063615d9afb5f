// Package lexical splits source text into tokens. Its one scanner supports the comments, strings,
// here-documents and regular expressions of many languages. It does not parse: other packages use
// it to find declarations, imports and comments.
package lexical

import (
	"slices"
	"strings"
)

// A Kind is the kind of a token.
type Kind uint8

// The kinds of tokens.
const (
	End     Kind = iota // the end of the text
	Word                // letters, digits, _, $ and non-ASCII characters; or a quoted name
	Text                // a literal
	Mark                // a byte of anything else
	Comment             // returned only if Scanner.Comments is set
)

// A Token is a part of the source text.
type Token struct {
	Kind Kind
	// Text is the token as written. For a literal, a comment or a quoted name it is what is between
	// the delimiters.
	Text string
	// Start and End are its offsets in the source.
	Start, End int
	// Line is the line of its first byte, counted from 1.
	Line int
	// Quote is the quote of a literal. It is 0 if Text is not the literal's value, because of
	// interpolation or of escapes that matter.
	Quote byte
	// FirstOnLine is true if only comments precede the token on its line.
	FirstOnLine bool
}

// An Error describes something that is not closed.
type Error struct {
	Line   int
	Reason string
}

// A Scanner splits source text into tokens, in one pass and in linear time. It accepts any text. It
// records the first construct that is not closed, and lets it extend as far as it can.
type Scanner struct {
	*language
	// Src is the text without a byte order mark, At the offset at which the next token is searched,
	// and Line the line of that offset.
	Src      string
	At, Line int
	// Tok is the current token.
	Tok Token
	// Err is the first error.
	Err *Error
	// Comments makes Next return comments. They never become Tok.
	Comments bool

	last     int      // line on which the previous token ended
	from, to int      // the token's text without delimiters
	quote    byte     // see Token.Quote
	depth    int      // nesting depth of the strings being read
	pending  []string // names of here-documents that begin on the next line
	unclosed [3]int   // offsets before which a quote (', " or another) is known to be unclosed
	script   *script  // state for scripts
}

// New returns a scanner before the first token. It skips a first line that begins with #!.
func New(languageName string, content []byte) *Scanner {
	s := &Scanner{language: languageOf(languageName), Src: strings.TrimPrefix(string(content), "\ufeff"), Line: 1}
	if s.HasPrefix("#!") && !s.HasPrefix("#![") {
		s.restOfLine()
	}
	if s.begin != nil {
		s.begin(s)
	}
	return s
}

// Next advances to the next token and returns it.
func (s *Scanner) Next() Token {
	for {
		s.space()
		t := Token{Line: s.Line, Start: s.At, FirstOnLine: s.Line != s.last}
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

// token reads the token at this place.
func (s *Scanner) token() Kind {
	c := s.Src[s.At]
	class := s.class[c]
	if class&startsSpecial != 0 {
		if kind := s.special(s); kind != End {
			return kind
		}
	}
	switch {
	case class&inWord != 0:
		s.word()
		return Word
	case class&startsToken == 0:
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

// IsWordByte reports whether a byte can be part of a name in most languages. Non-ASCII bytes can.
func IsWordByte(c byte) bool {
	return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || IsDigit(c) || c == '_' || c == '$' || c >= 0x80
}

// IsDigit reports whether a byte is a decimal digit.
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

// space moves past white space and here-documents.
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

// comment moves past a comment, if one begins here, and reports whether it did.
func (s *Scanner) comment() bool {
	for _, marks := range s.block {
		if s.HasPrefix(marks[0]) {
			s.blockComment(marks[0], marks[1])
			return true
		}
	}
	for _, mark := range s.line {
		if s.HasPrefix(mark) && (!s.spaced || s.afterSpace()) {
			s.from = s.At + len(mark)
			s.restOfLine()
			s.to = max(s.At, s.from)
			return true
		}
	}
	return false
}

// afterSpace reports whether a blank or the start of the line precedes this place.
func (s *Scanner) afterSpace() bool {
	return s.At == 0 || strings.IndexByte(" \t;\n", s.Src[s.At-1]) >= 0
}

// blockComment moves past a block comment, with those nested in it.
func (s *Scanner) blockComment(open, closing string) {
	begin, i, depth := s.Line, s.At+len(open), 1
	s.from = i
	for i < len(s.Src) && depth > 0 {
		switch rest := s.Src[i:]; {
		case strings.HasPrefix(rest, closing):
			i += len(closing)
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
		s.to -= len(closing)
	}
	s.Skip(i - s.At)
}

// HasPrefix reports whether the remaining text begins with prefix.
func (s *Scanner) HasPrefix(prefix string) bool { return strings.HasPrefix(s.Src[s.At:], prefix) }

// at returns the byte at an offset, or 0 beyond the end.
func (s *Scanner) at(place int) byte {
	if place < len(s.Src) {
		return s.Src[place]
	}
	return 0
}

// Skip moves n bytes forward, or to the end if there are fewer.
func (s *Scanner) Skip(n int) {
	to := min(s.At+n, len(s.Src))
	s.Line += strings.Count(s.Src[s.At:to], "\n")
	s.At = to
}

// restOfLine moves to the end of the line, and returns the text up to there.
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

// Fail records an error, unless there is one already.
func (s *Scanner) Fail(line int, why string) {
	if s.Err == nil {
		s.Err = &Error{Line: line, Reason: why}
	}
}

// IsAt reports whether the current token is one of these words or marks.
func (s *Scanner) IsAt(texts ...string) bool {
	return (s.Tok.Kind == Word || s.Tok.Kind == Mark) && slices.Contains(texts, s.Tok.Text)
}

// Accept advances if the current token is this word or mark, and reports whether it did.
func (s *Scanner) Accept(text string) bool {
	if !s.IsAt(text) {
		return false
	}
	s.Next()
	return true
}

// Name reads words separated by mark, such as a.b.c. It leaves a mark that is not followed by a
// word.
func (s *Scanner) Name(mark string) string {
	var b strings.Builder
	for s.Tok.Kind == Word {
		b.WriteString(s.Tok.Text)
		s.Next()
		if !s.IsAt(mark) || !s.wordFollows() {
			break
		}
		b.WriteString(mark)
		s.Next()
	}
	return b.String()
}

// wordFollows reports whether a word follows the current token.
func (s *Scanner) wordFollows() bool {
	before := *s
	found := s.Next().Kind == Word
	*s = before
	return found
}

// SkipEnclosed moves past the bracket at the current token, its contents and the closing bracket.
func (s *Scanner) SkipEnclosed(open, closing string) {
	for depth := 0; s.Tok.Kind != End; {
		if s.IsAt(open) {
			depth++
		} else if s.IsAt(closing) {
			depth--
		}
		s.Next()
		if depth == 0 {
			return
		}
	}
}
