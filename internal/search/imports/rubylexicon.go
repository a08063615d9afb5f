package imports

import "strings"

func rubyLexicon() *lexicon {
	return &lexicon{comments: []string{"#"}, passes: rubyPasses, literal: rubyLiteral}
}

// rubyPasses moves past a comment between lines that begin with =begin and =end.
func rubyPasses(s *scanner) bool {
	if !s.has("=begin") || s.at > 0 && s.src[s.at-1] != '\n' {
		return false
	}
	begin := s.line
	for s.at < len(s.src) {
		line := s.restOfLine()
		if strings.HasPrefix(line, "=end") {
			return true
		}
		s.skip(1)
	}
	s.fail(begin, "comment is not closed")
	return true
}

// rubyLiteral reads strings of every sort, regular expressions and what else may hold a quote.
func rubyLiteral(s *scanner) (string, bool) {
	switch c := s.src[s.at]; c {
	case '\'':
		return s.quoted(true), true
	case '"':
		s.at++
		return s.interpolated(0, c, "#{"), true
	case '`':
		return s.rubyDelimited(s.rubyBegins())
	case '/':
		return s.rubyDelimited(s.rubyBegins())
	case '%':
		return s.rubyPercent()
	case '<':
		return s.rubyHeredoc()
	case '?', '!':
		return s.rubyCharacter()
	case '$':
		if s.at+1 < len(s.src) && strings.IndexByte("'\"`/~!@&+*$?:;.,<>=\\", s.src[s.at+1]) >= 0 {
			s.at += 2
			return "", true
		}
	}
	return "", false
}

// certainty says how sure it is that a value begins where an operator might stand.
type certainty uint8

const (
	surely   certainty = iota
	perhaps            // if what begins here ends on the same line
	surelyNo           // an operator
)

// rubyBegins tells whether a value may begin here, by the token before and the space around.
func (s *scanner) rubyBegins() certainty {
	before := s.tok
	switch {
	case before.kind == tokenEnd || s.last != s.line:
		return surely
	case before.kind == tokenText:
		return surelyNo
	case before.kind == tokenMark:
		return s.afterMark(before)
	case isRubyKeyword(before.text):
		return surely
	case before.text == "def" || isDigit(before.text[0]):
		return surelyNo
	}
	spaced := s.src[s.at-1] == ' ' || s.src[s.at-1] == '\t'
	if next := s.src[s.at+1:]; !spaced || next == "" || strings.IndexByte(" \t\r\n=", next[0]) >= 0 {
		return surelyNo
	}
	return perhaps
}

// afterMark tells whether a value may begin after a mark: not after one that closes, nor in the name of an operator.
func (s *scanner) afterMark(before token) certainty {
	adjacent := before.start == s.at-1
	switch before.text {
	case ")", "]", "}":
		return surelyNo
	case ":", ".":
		if adjacent {
			return surelyNo
		}
	}
	return surely
}

// isRubyKeyword tells whether a value follows a word.
func isRubyKeyword(word string) bool {
	switch word {
	case "if", "unless", "while", "until", "and", "or", "not", "when", "in", "return", "then", "else", "elsif", "do",
		"case", "yield", "begin", "puts", "raise", "break", "next", "ensure", "rescue", "split", "match", "require":
		return true
	}
	return false
}

// rubyDelimited reads a literal that begins and ends with the byte at s.at, if a value may begin here.
func (s *scanner) rubyDelimited(sure certainty) (string, bool) {
	shut := s.src[s.at]
	if sure == surelyNo || sure == perhaps && !strings.Contains(s.ahead(), string(shut)) {
		return "", false
	}
	s.at++
	return s.interpolated(0, shut, "#{"), true
}

// ahead gives what follows the byte at s.at, to the end of the line, but not much of it.
func (s *scanner) ahead() string {
	rest := s.src[s.at+1 : min(len(s.src), s.at+1000)]
	line, _, _ := strings.Cut(rest, "\n")
	return line
}

// rubyPercent reads %w[a b], %q(text), %r{expression} and the like.
func (s *scanner) rubyPercent() (string, bool) {
	sure := s.rubyBegins()
	rest := s.src[s.at+1:]
	letter := byte(0)
	if rest != "" && strings.IndexByte("qQwWiIrsx", rest[0]) >= 0 {
		letter, rest = rest[0], rest[1:]
	}
	if rest == "" || sure == surelyNo || isWordByte(rest[0]) || rest[0] <= ' ' || letter == 0 && rest[0] == '=' {
		return "", false
	}
	open, shut := pair(rest[0])
	if sure == perhaps && !strings.Contains(s.ahead(), string(shut)) && letter == 0 {
		return "", false
	}
	s.at = len(s.src) - len(rest) + 1
	if strings.IndexByte("qwis", letter) >= 0 && letter != 0 {
		return s.interpolated(open, shut, ""), true
	}
	return s.interpolated(open, shut, "#{"), true
}

// rubyHeredoc reads <<~NAME, <<-NAME or <<NAME, whose text begins with the next line.
func (s *scanner) rubyHeredoc() (string, bool) {
	rest, ok := strings.CutPrefix(s.src[s.at:], "<<")
	if !ok || rest == "" || s.sees("class") || s.rubyBegins() == surelyNo {
		return "", false
	}
	indent := ""
	if rest[0] == '~' || rest[0] == '-' {
		indent, rest = " ", rest[1:]
	}
	if rest == "" {
		return "", false
	}
	name, length := heredocName(rest)
	if name == "" || indent == "" && (name[0] < 'A' || name[0] > 'Z') {
		return "", false
	}
	s.at = len(s.src) - len(rest) + length
	s.pending = append(s.pending, indent+name)
	return "", true
}

// heredocName reads the name of a heredoc, in quotes or not, and tells how long it is with them.
func heredocName(text string) (name string, length int) {
	if c := text[0]; c == '\'' || c == '"' || c == '`' {
		n := strings.IndexByte(text[1:min(len(text), 200)], c)
		if n < 0 || strings.Contains(text[1:n+1], "\n") {
			return "", 0
		}
		return text[1 : n+1], n + 2
	}
	if isDigit(text[0]) {
		return "", 0
	}
	for length < len(text) && isWordByte(text[length]) {
		length++
	}
	return text[:length], length
}

// rubyCharacter reads ?x, and the mark at the end of a name such as empty?.
func (s *scanner) rubyCharacter() (string, bool) {
	before := s.tok
	if before.kind == tokenWord && before.start+len(before.text) == s.at {
		s.at++
		return "", true
	}
	rest := s.src[s.at:]
	if rest[0] != '?' || s.rubyBegins() == surelyNo || len(rest) < 2 || rest[1] <= ' ' {
		return "", false
	}
	if rest[1] == '\\' {
		s.skip(3)
		return "", true
	}
	if len(rest) > 2 && isWordByte(rest[2]) {
		return "", false
	}
	s.at += 2
	return "", true
}
