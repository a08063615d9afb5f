package imports

import "strings"

// Kinds of imports in C and C++.
const (
	cQuoted  kind = iota // #include "x"
	cAngled              // #include <x>
	cNext                // #include_next
	cModule              // import x;
	cOwnName             // no import: the module that the file itself belongs to
)

func cLexicon() *lexicon {
	return &lexicon{
		comments: []string{"//"}, open: "/*", shut: "*/", spliced: true, separator: '\'', literal: cLiteral,
	}
}

// cLiteral reads strings, raw ones too, and characters.
func cLiteral(s *scanner) (string, bool) {
	switch s.src[s.at] {
	case '"', '\'':
		return s.quoted(false), true
	case 'R', 'L', 'u', 'U':
		return s.rawString()
	}
	return "", false
}

// rawString reads R"mark(...)mark", if that begins here.
func (s *scanner) rawString() (string, bool) {
	for _, prefix := range []string{`R"`, `LR"`, `uR"`, `UR"`, `u8R"`} {
		if !s.has(prefix) {
			continue
		}
		rest := s.src[s.at+len(prefix):]
		n := strings.IndexByte(rest[:min(len(rest), 17)], '(')
		if n < 0 || strings.ContainsAny(rest[:n], " )\\\"\t\n") {
			return "", false
		}
		begin := s.line
		s.at += len(prefix) + n + 1
		text := s.until(")"+rest[:n]+`"`, "string")
		if s.err != nil {
			s.err.Line = begin
		}
		return text, true
	}
	return "", false
}

// extractC reads the includes of a C file, wherever they stand. What a macro names is left out, and conditions are not
// looked at: an include that some build uses is one.
func extractC(content []byte) ([]spec, error) {
	var specs []spec
	s := scan(content, cLexicon())
	for s.tok.kind != tokenEnd {
		if s.tok.fresh && s.sees("#") {
			specs = s.directive(specs)
		} else {
			s.next()
		}
	}
	return specs, s.problem()
}

// extractCPP reads the includes of a C++ file, and the modules that it imports.
func extractCPP(content []byte) ([]spec, error) {
	var specs []spec
	s := scan(content, cLexicon())
	for s.tok.kind != tokenEnd {
		switch {
		case !s.tok.fresh:
			s.next()
		case s.sees("#"):
			specs = s.directive(specs)
		case s.sees("export", "import", "module"):
			specs = s.modular(specs)
		default:
			s.next()
		}
	}
	return specs, s.problem()
}

// directive reads what follows # on its line, and adds the include that it is, if it is one.
func (s *scanner) directive(specs []spec) []spec {
	line := s.tok.line
	next := s.next()
	if next.fresh {
		return specs
	}
	switch next.text {
	case "include", "import":
		specs = s.header(specs, line)
		s.next()
	case "include_next":
		before := len(specs)
		if specs = s.header(specs, line); len(specs) > before {
			specs[before].kind = cNext
		}
		s.next()
	}
	return specs
}

// header adds the header that stands after s.at on the line, in quotes or angle brackets, and moves past it.
func (s *scanner) header(specs []spec, line int) []spec {
	s.blankInLine()
	end, k := "\"", cQuoted
	if s.has("<") {
		end, k = ">", cAngled
	} else if !s.has("\"") {
		return specs
	}
	rest := s.src[s.at+1:]
	n := strings.IndexAny(rest, end+"\n")
	if n <= 0 || rest[n] == '\n' {
		return specs
	}
	s.at += n + 2
	return append(specs, spec{strings.ReplaceAll(rest[:n], `\`, "/"), line, k})
}

// blankInLine moves past white space and comments within a line, which a backslash may continue.
func (s *scanner) blankInLine() {
	for s.at < len(s.src) {
		switch {
		case s.src[s.at] == ' ' || s.src[s.at] == '\t':
			s.at++
		case s.has("\\\n") || s.has("\\\r\n"):
			s.skip(strings.IndexByte(s.src[s.at:], '\n') + 1)
		case s.has(s.open):
			s.comment()
		default:
			return
		}
	}
}

// modular reads the line of a module: export import a.b; import <x>; import :part; module a.b:part;
func (s *scanner) modular(specs []spec) []spec {
	line := s.tok.line
	s.takes("export")
	switch {
	case s.sees("import"):
		if before := len(specs); s.headerFollows() {
			specs = s.header(specs, line)
			if s.next(); !s.sees(";") {
				specs = specs[:before]
			}
			return specs
		}
		s.next()
		if name := s.moduleName(); name != "" && s.sees(";") {
			specs = append(specs, spec{name, line, cModule})
		}
	case s.takes("module"):
		if name := s.moduleName(); name != "" && s.sees(";") {
			specs = append(specs, spec{name, line, cOwnName})
		}
	default:
		s.next()
	}
	return specs
}

// headerFollows tells whether a header in quotes or angle brackets comes next.
func (s *scanner) headerFollows() bool {
	s.blankInLine()
	return s.has("<") || s.has("\"")
}

// moduleName reads the name of a module, with that of its part after a colon.
func (s *scanner) moduleName() string {
	name := s.name(".")
	if s.takes(":") {
		name += ":" + s.name(".")
	}
	return name
}
