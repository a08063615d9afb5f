package lexical

import "strings"

// tokenOfRuby reads comments between =begin and =end, all kinds of strings, regular expressions,
// and other tokens that may contain a quote.
func tokenOfRuby(s *Scanner) Kind {
	switch c := s.Src[s.At]; c {
	case '=':
		return s.rubyComment()
	case '_':
		if line, _, _ := strings.Cut(s.Src[s.At:min(s.At+9, len(s.Src))], "\n"); strings.TrimRight(line, "\r") == "__END__" && s.startsLine() {
			s.Skip(len(s.Src))
			return Comment
		}
	case '\'':
		s.At++
		s.escaped("'")
		s.quote = c
		return Text
	case '"':
		s.At++
		s.interpolated(0, c, "#{")
		return Text
	case '`', '/':
		return s.rubyDelimited(s.rubyBegins())
	case '%':
		return s.rubyPercent()
	case '<':
		return s.rubyHeredoc()
	case '?', '!':
		return s.rubyCharacter()
	case '$':
		if s.At+1 < len(s.Src) && strings.IndexByte("'\"`/~!@&+*$?:;.,<>=\\", s.Src[s.At+1]) >= 0 {
			s.At += 2
			return Text
		}
	}
	return End
}

func (s *Scanner) rubyComment() Kind {
	if !s.HasPrefix("=begin") || s.At > 0 && s.Src[s.At-1] != '\n' {
		return End
	}
	s.blockComment("=begin", "\n=end")
	s.restOfLine()
	return Comment
}

// certainty says how certain it is that the next character begins a literal, such as a regular
// expression, and is not an operator: in Ruby, both begin with characters like / and %.
type certainty uint8

const (
	surely    certainty = iota
	perhaps             // only if what begins here ends on the same line
	surelyNot           // it is an operator
)

// rubyBegins decides whether a literal may begin here, by the previous token and the spaces before
// and after the next character.
func (s *Scanner) rubyBegins() certainty {
	before := s.Tok
	switch {
	case before.Kind == End || s.last != s.Line:
		return surely
	case before.Kind == Text:
		return surelyNot
	case before.Kind == Mark:
		return s.afterMark(before)
	case isRubyKeyword(before.Text):
		return surely
	case before.Text == "def" || IsDigit(before.Text[0]):
		return surelyNot
	}
	spaced := s.Src[s.At-1] == ' ' || s.Src[s.At-1] == '\t'
	if next := s.Src[s.At+1:]; !spaced || next == "" || strings.IndexByte(" \t\r\n=", next[0]) >= 0 {
		return surelyNot
	}
	return perhaps
}

// afterMark decides whether a value may begin after a mark: not after a closing bracket, nor within
// the name of an operator.
func (s *Scanner) afterMark(before Token) certainty {
	adjacent := before.Start == s.At-1
	switch before.Text {
	case ")", "]", "}":
		return surelyNot
	case ":", ".":
		if adjacent {
			return surelyNot
		}
	}
	return surely
}

// isRubyKeyword reports whether a value follows the word.
func isRubyKeyword(word string) bool {
	switch word {
	case "if", "unless", "while", "until", "and", "or", "not", "when", "in", "return", "then", "else", "elsif", "do",
		"case", "yield", "begin", "puts", "raise", "break", "next", "ensure", "rescue", "split", "match", "require":
		return true
	}
	return false
}

// rubyDelimited reads a literal that begins and ends with the next byte, if a value may begin here.
func (s *Scanner) rubyDelimited(sure certainty) Kind {
	closing := s.Src[s.At]
	if sure == surelyNot || sure == perhaps && !strings.Contains(s.ahead(), string(closing)) {
		return End
	}
	s.At++
	s.interpolated(0, closing, "#{")
	return Text
}

// ahead returns what follows the next byte, up to the end of the line but at most 1,000 bytes.
func (s *Scanner) ahead() string {
	rest := s.Src[s.At+1 : min(len(s.Src), s.At+1000)]
	line, _, _ := strings.Cut(rest, "\n")
	return line
}

// rubyPercent reads %w[a b], %q(text), %r{expression} and the like.
func (s *Scanner) rubyPercent() Kind {
	sure := s.rubyBegins()
	rest := s.Src[s.At+1:]
	letter := byte(0)
	if rest != "" && strings.IndexByte("qQwWiIrsx", rest[0]) >= 0 {
		letter, rest = rest[0], rest[1:]
	}
	if rest == "" || sure == surelyNot || IsWordByte(rest[0]) || rest[0] <= ' ' || letter == 0 && rest[0] == '=' {
		return End
	}
	open, closing := pair(rest[0])
	if sure == perhaps && !strings.Contains(s.ahead(), string(closing)) && letter == 0 {
		return End
	}
	s.At = len(s.Src) - len(rest) + 1
	begins := "#{"
	if letter != 0 && strings.IndexByte("qwis", letter) >= 0 {
		begins = ""
	}
	s.interpolated(open, closing, begins)
	return Text
}

// rubyHeredoc reads <<~NAME, <<-NAME or <<NAME, whose text begins with the next line.
func (s *Scanner) rubyHeredoc() Kind {
	rest, ok := strings.CutPrefix(s.Src[s.At:], "<<")
	if !ok || rest == "" || s.IsAt("class") || s.rubyBegins() == surelyNot {
		return End
	}
	indent := ""
	if rest[0] == '~' || rest[0] == '-' {
		indent, rest = " ", rest[1:]
	}
	if rest == "" {
		return End
	}
	name, length := hereName(rest)
	if name == "" || indent == "" && (name[0] < 'A' || name[0] > 'Z') {
		return End
	}
	s.At = len(s.Src) - len(rest) + length
	s.pending = append(s.pending, indent+name)
	return Text
}

// rubyCharacter reads ?x, and the mark at the end of a name such as empty?.
func (s *Scanner) rubyCharacter() Kind {
	before := s.Tok
	if before.Kind == Word && before.End == s.At {
		s.At++
		return Text
	}
	rest := s.Src[s.At:]
	if rest[0] != '?' || s.rubyBegins() == surelyNot || len(rest) < 2 || rest[1] <= ' ' {
		return End
	}
	if rest[1] == '\\' {
		s.Skip(3)
		return Text
	}
	if len(rest) > 2 && IsWordByte(rest[2]) {
		return End
	}
	s.At += 2
	return Text
}
