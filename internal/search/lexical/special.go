package lexical

import "strings"

// rawStringOfC reads R"mark(...)mark".
func rawStringOfC(s *Scanner) Kind {
	for _, prefix := range []string{`R"`, `LR"`, `uR"`, `UR"`, `u8R"`} {
		if s.Src[s.At] != prefix[0] || !s.HasPrefix(prefix) {
			continue
		}
		rest := s.Src[s.At+len(prefix):]
		n := strings.IndexByte(rest[:min(len(rest), 17)], '(')
		if n < 0 || strings.ContainsAny(rest[:n], " )\\\"\t\n") {
			return End
		}
		s.At += len(prefix) + n + 1
		s.until(")" + rest[:n] + `"`)
		return Text
	}
	return End
}

// textOfCSharp reads verbatim strings, raw strings with any number of quotes, and preprocessor
// lines, which it treats as comments.
func textOfCSharp(s *Scanner) Kind {
	switch s.Src[s.At] {
	case '#':
		if !s.startsLine() {
			return End
		}
		s.restOfLine()
		return Comment
	case '"', '@', '$':
	default:
		return End
	}
	prefix := 0 // $, @ or both, or several $
	for prefix < 8 && (s.at(s.At+prefix) == '@' || s.at(s.At+prefix) == '$') {
		prefix++
	}
	rest := s.Src[s.At+prefix:]
	switch {
	case strings.HasPrefix(rest, `"""`):
		quotes := rest[:len(rest)-len(strings.TrimLeft(rest, `"`))]
		s.At += prefix + len(quotes)
		s.until(quotes)
	case strings.HasPrefix(rest, `"`) && strings.Contains(s.Src[s.At:s.At+prefix], "@"):
		s.verbatim(prefix + 1)
	default:
		return End
	}
	return Text
}

// verbatim moves past a string in which only a quote is special, and a doubled quote stands for
// one.
func (s *Scanner) verbatim(prefix int) {
	begin, i := s.Line, s.At+prefix
	s.from = i
	for i < len(s.Src) && (s.Src[i] != '"' || s.at(i+1) == '"') {
		if s.Src[i] == '"' {
			i++
		}
		i++
	}
	if i >= len(s.Src) {
		s.Fail(begin, "string is not closed")
	}
	s.to = min(i, len(s.Src))
	s.Skip(i + 1 - s.At)
}

// startsLine reports whether only blanks precede this place on its line.
func (s *Scanner) startsLine() bool {
	i := s.At
	for i > 0 && (s.Src[i-1] == ' ' || s.Src[i-1] == '\t') {
		i--
	}
	return i == 0 || s.Src[i-1] == '\n'
}

// rawStringOfRust reads raw strings with any number of # around them, prefixed strings, and
// lifetimes.
func rawStringOfRust(s *Scanner) Kind {
	rest := s.Src[s.At:]
	prefix := 0
	if rest[0] == 'b' || rest[0] == 'c' {
		prefix++
	}
	switch next := s.at(s.At + prefix); {
	case next == 'r':
		marks := prefix + 1
		for s.at(s.At+marks) == '#' {
			marks++
		}
		if s.at(s.At+marks) != '"' {
			return End
		}
		s.At += marks + 1
		s.until(`"` + rest[prefix+1:marks])
		s.quote = '"'
		return Text
	case prefix > 0 && next == '"':
		s.At++
		s.longString(`"`)
		return Text
	case next == '\'' && (prefix == 0 || rest[0] == 'b'):
		s.At += prefix
		if s.character() {
			return Text
		}
		s.At++
		if IsWordByte(s.at(s.At)) {
			s.word()
		}
		return Mark
	}
	return End
}

// commentOfSCSS reads comments to the end of the line, but not the // of a URL.
func commentOfSCSS(s *Scanner) Kind {
	if !s.HasPrefix("//") || s.At > 0 && s.Src[s.At-1] == ':' {
		return End
	}
	s.from = s.At + 2
	s.restOfLine()
	s.to = s.At
	return Comment
}

// dollarsOfSQL reads dollar-quoted strings between $tags$.
func dollarsOfSQL(s *Scanner) Kind {
	if s.Src[s.At] != '$' {
		return End
	}
	i := s.At + 1
	for i < s.At+64 && IsWordByte(s.at(i)) && s.Src[i] != '$' {
		i++
	}
	if s.at(i) != '$' {
		return End
	}
	tag := s.Src[s.At : i+1]
	s.At = i + 1
	s.until(tag)
	return Text
}

// commentOfBatch reads a line that begins with rem.
func commentOfBatch(s *Scanner) Kind {
	if !s.HasPrefix("REM ") && !s.HasPrefix("rem ") || !s.afterSpace() {
		return End
	}
	s.from = s.At + 4
	s.restOfLine()
	s.to = s.At
	return Comment
}

// hereDocumentOfShell reads <<WORD, whose text begins on the next line, and skips <<<.
func hereDocumentOfShell(s *Scanner) Kind {
	if s.HasPrefix("<<<") {
		s.At += 3
		return Mark
	}
	rest, ok := strings.CutPrefix(s.Src[s.At:], "<<")
	if !ok {
		return End
	}
	rest = strings.TrimLeft(strings.TrimPrefix(rest, "-"), " \t")
	name, length := hereName(rest)
	if name == "" || strings.ToUpper(name) != name { // 1<<n is a number
		return End
	}
	s.At = len(s.Src) - len(rest) + length
	s.pending = append(s.pending, " "+name)
	return Text
}

// outsidePHP moves past text that is not code, to after the next <?php or <?=.
func outsidePHP(s *Scanner) {
	for {
		n := strings.Index(s.Src[s.At:], "<?")
		if n < 0 {
			s.Skip(len(s.Src))
			return
		}
		s.Skip(n + 2)
		switch c := s.at(s.At); {
		case c == '=':
			s.At++
			return
		case len(s.Src)-s.At >= 3 && strings.EqualFold(s.Src[s.At:s.At+3], "php"):
			s.At += 3
			return
		case c == ' ' || c == '\t' || c == '\r' || c == '\n':
			return
		}
	}
}

// tokenOfPHP reads text outside of the code, comments that end with their line or with the code,
// and all kinds of strings.
func tokenOfPHP(s *Scanner) Kind {
	switch c := s.Src[s.At]; {
	case c == '?' && s.HasPrefix("?>"):
		s.At += 2
		outsidePHP(s)
		return Comment
	case c == '/' && s.HasPrefix("//"), c == '#' && !s.HasPrefix("#["):
		start := s.At
		if n := strings.Index(s.restOfLine(), "?>"); n >= 0 {
			s.At = start + n
		}
		s.from, s.to = start+1, s.At
		return Comment
	case c == '\'':
		s.At++
		s.escaped("'")
		s.quote = c
	case c == '"' || c == '`':
		s.At++
		s.interpolated(0, c, "{$")
		if strings.Contains(s.Src[s.from:s.to], "$") {
			s.quote = 0
		}
	case c == '<' && s.HasPrefix("<<<"):
		return s.heredocOfPHP()
	default:
		return End
	}
	return Text
}

// heredocOfPHP reads a text that begins with <<<NAME and ends with a line that begins with NAME.
func (s *Scanner) heredocOfPHP() Kind {
	line, _, more := strings.Cut(s.Src[s.At+3:], "\n")
	name := strings.Trim(line, " \t\r\"'")
	if _, length := hereName(name); !more || name == "" || length != len(name) {
		return End
	}
	begin := s.Line
	for s.restOfLine(); s.At < len(s.Src); s.restOfLine() {
		s.Skip(1)
		for s.HasPrefix(" ") || s.HasPrefix("\t") {
			s.At++
		}
		if end := s.At + len(name); s.HasPrefix(name) && !IsWordByte(s.at(end)) {
			s.At = end
			return Text
		}
	}
	s.Fail(begin, "heredoc "+name+" is not closed")
	return Text
}
