package imports

import "strings"

func kotlinLexicon() *lexicon {
	l := javaLexicon()
	l.nested, l.wordQuote = true, '`'
	return l
}

// extractKotlin reads the head of a Kotlin file; what comes after its imports is not looked at.
func extractKotlin(content []byte) ([]spec, error) {
	return jvmHead(scan(content, kotlinLexicon()), func(s *scanner, line int) (spec, bool) {
		found := s.jvmImport(line)
		if s.takes("as") {
			s.next()
		}
		return found, true
	})
}

// declares tells whether a file declares a name at its top level, which its lines show by having no space before them.
func declares(content []byte, name string, declaration func(line, name string) bool) bool {
	for line := range strings.Lines(string(content)) {
		if line[0] == ' ' || line[0] == '\t' || line[0] == '*' || line[0] == '/' || !strings.Contains(line, name) {
			continue
		}
		if declaration(line, name) {
			return true
		}
	}
	return false
}

// kotlinDeclaration tells whether a line declares a name: modifiers, a word such as fun, and the name, before which a
// function or a property may have type parameters and the type that it extends.
func kotlinDeclaration(line, name string) bool {
	s := scan([]byte(line), kotlinLexicon())
	for s.tok.kind == tokenWord || s.sees("@") {
		switch {
		case s.takes("@"):
			s.annotation()
		case s.takes("class"), s.takes("interface"), s.takes("object"), s.takes("typealias"):
			return s.sees(name)
		case s.takes("fun"), s.takes("val"), s.takes("var"):
			if s.takes("interface") {
				return s.sees(name)
			}
			return s.kotlinMember() == name
		default:
			s.next()
		}
	}
	return false
}

// kotlinMember reads what follows fun, val or var, up to the name that is declared: foo, <T> foo, List<T>.foo, A?.foo.
func (s *scanner) kotlinMember() string {
	if s.sees("<") {
		s.enclosed("<", ">")
	}
	for {
		last := s.tok
		if s.next(); s.sees("<") {
			s.enclosed("<", ">")
		}
		s.takes("?")
		if last.kind != tokenWord || !s.takes(".") {
			return last.text
		}
	}
}
