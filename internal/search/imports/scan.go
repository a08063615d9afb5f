package imports

import "strings"

// A lexicon says what comments and literals of a language look like, for a scanner.
type lexicon struct {
	comments   []string // what begins a comment that ends with its line
	open, shut string   // what begins and ends a comment of many lines; none if open is empty
	nested     bool     // whether such comments stand within each other
	spliced    bool     // whether a backslash at a line's end makes the next line a part of the comment
	wordQuote  byte     // what may stand around a word, if anything
	separator  byte     // what may stand between the digits of a number besides _, if anything
	// passes moves past something else that means nothing, if it begins at s.at, which is no part of a word.
	passes func(s *scanner) bool
	// literal reads a literal if one begins at s.at, with skip, until or quoted, and returns what is in it. It is asked
	// wherever a word or a mark begins; the token before is s.tok.
	literal func(s *scanner) (text string, ok bool)
}

type tokenKind uint8

const (
	tokenEnd  tokenKind = iota // the end of the text, or of what can be read of it
	tokenWord                  // letters, digits, _, $ and whatever is not ASCII
	tokenText                  // a literal that the lexicon knows
	tokenMark                  // one byte of anything else
)

// A token is a piece of source text.
type token struct {
	kind  tokenKind
	text  string // as written; of a literal what is between its quotes
	line  int
	start int  // where it begins in the text
	fresh bool // nothing but comments stands before it on its line
}

// A scanner walks over source text token by token, once, without comments. It takes every text as it comes: what is not
// closed is noted as its error, and ends it.
type scanner struct {
	*lexicon
	src  string
	at   int // where the next token is looked for
	line int // the line of at
	tok  token
	err  *SyntaxError

	last    int      // the line on which the token before ended
	pending []string // what ends the texts that begin with the next line
}

// scan begins at the first token of a text. A byte order mark and a line that begins with #! are passed over.
func scan(content []byte, l *lexicon) *scanner {
	s := newScanner(content, l)
	if s.has("#!") && !s.has("#![") {
		s.restOfLine()
	}
	s.next()
	return s
}

// newScanner makes a scanner that is at no token yet.
func newScanner(content []byte, l *lexicon) *scanner {
	return &scanner{lexicon: l, src: strings.TrimPrefix(string(content), "\ufeff"), line: 1}
}

// problem gives what the scanner found wrong so far, as an extractor returns it.
func (s *scanner) problem() error {
	if s.err == nil {
		return nil
	}
	return s.err
}

// next moves to the next token, and returns it.
func (s *scanner) next() token {
	s.blank()
	s.tok = s.read(token{line: s.line, start: s.at, fresh: s.line != s.last})
	s.last = s.line
	return s.tok
}

func (s *scanner) read(t token) token {
	if s.at >= len(s.src) || s.err != nil {
		return t
	}
	if s.literal != nil {
		if text, ok := s.literal(s); ok {
			t.kind, t.text = tokenText, text
			return t
		}
	}
	if s.wordQuote != 0 && s.src[s.at] == s.wordQuote {
		t.kind, t.text = tokenWord, s.quoted(false)
		return t
	}
	if isWordByte(s.src[s.at]) {
		s.word()
		t.kind = tokenWord
	} else {
		s.at++
		t.kind = tokenMark
	}
	t.text = s.src[t.start:s.at]
	return t
}

// word moves past a word or a number.
func (s *scanner) word() {
	number := isDigit(s.src[s.at])
	for s.at < len(s.src) {
		c := s.src[s.at]
		joins := number && c == s.separator && s.at+1 < len(s.src) && isWordByte(s.src[s.at+1])
		if !isWordByte(c) && !joins {
			return
		}
		s.at++
	}
}

// blank moves past white space and comments.
func (s *scanner) blank() {
	for s.at < len(s.src) && s.err == nil {
		switch c := s.src[s.at]; {
		case c == '\n':
			s.skip(1)
			s.bodies()
		case c == ' ' || c == '\t' || c == '\r' || c == '\f' || c == '\v':
			s.at++
		case isWordByte(c) || !s.comment():
			return
		}
	}
}

// bodies moves past the texts that were to begin with this line.
func (s *scanner) bodies() {
	begin := s.line - 1
	for ; len(s.pending) > 0 && s.err == nil; s.pending = s.pending[1:] {
		name := strings.TrimLeft(s.pending[0], " ")
		for ; ; s.skip(1) {
			if s.at >= len(s.src) {
				s.fail(begin, "heredoc "+name+" is not closed")
				return
			}
			line := strings.TrimSuffix(s.restOfLine(), "\r")
			if line == name || name != s.pending[0] && strings.TrimLeft(line, " \t") == name {
				break
			}
		}
	}
}

// comment moves past a comment, if one begins here.
func (s *scanner) comment() bool {
	if s.passes != nil && s.passes(s) {
		return true
	}
	for _, mark := range s.comments {
		if s.has(mark) {
			s.restOfLine()
			return true
		}
	}
	if s.open == "" || !s.has(s.open) {
		return false
	}
	if s.nested {
		s.nest()
		return true
	}
	s.skip(len(s.open))
	s.until(s.shut, "comment")
	return true
}

// nest moves past a comment that may have others in it.
func (s *scanner) nest() {
	begin := s.line
	for depth := 0; s.at < len(s.src); {
		switch {
		case s.has(s.open):
			depth++
			s.at += len(s.open)
		case s.has(s.shut):
			s.at += len(s.shut)
			if depth--; depth == 0 {
				return
			}
		default:
			s.skip(1)
		}
	}
	s.fail(begin, "comment is not closed")
}

// sees tells whether the scanner is at one of these words or marks.
func (s *scanner) sees(texts ...string) bool {
	if s.tok.kind != tokenWord && s.tok.kind != tokenMark {
		return false
	}
	for _, text := range texts {
		if s.tok.text == text {
			return true
		}
	}
	return false
}

// takes moves on if the scanner is at a word or a mark.
func (s *scanner) takes(text string) bool {
	if !s.sees(text) {
		return false
	}
	s.next()
	return true
}

// name reads words with a mark between them, as a.b.c. A mark that no word follows is left.
func (s *scanner) name(mark string) string {
	var b strings.Builder
	for s.tok.kind == tokenWord {
		b.WriteString(s.tok.text)
		s.next()
		if !s.sees(mark) || !s.wordFollows() {
			break
		}
		b.WriteString(mark)
		s.next()
	}
	return b.String()
}

// wordFollows tells whether a word comes after the token that the scanner is at.
func (s *scanner) wordFollows() bool {
	before := *s
	found := s.next().kind == tokenWord
	*s = before
	return found
}

// enclosed moves past what stands between the mark that the scanner is at and the one that closes it, and past that.
func (s *scanner) enclosed(open, shut string) {
	for depth := 0; s.tok.kind != tokenEnd; {
		if s.sees(open) {
			depth++
		} else if s.sees(shut) {
			depth--
		}
		s.next()
		if depth == 0 {
			return
		}
	}
}
