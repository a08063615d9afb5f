package imports

import (
	"strings"

	"remit/internal/search/lexical"
)

// Kinds of imports in C and C++.
const (
	cQuoted  kind = iota // #include "x"
	cAngled              // #include <x>
	cNext                // #include_next
	cModule              // import x;
	cOwnName             // no import: the module that the file itself belongs to
)

// extractC reads the includes of a C file, wherever they stand. What a macro names is left out, and conditions are not
// looked at: an include that some build uses is one.
func extractC(content []byte) ([]spec, error) {
	var specs []spec
	s := scan("c", content)
	for s.Tok.Kind != lexical.End {
		if s.Tok.Fresh && s.Sees("#") {
			specs = s.directive(specs)
		} else {
			s.Next()
		}
	}
	return specs, s.problem()
}

// extractCPP reads the includes of a C++ file, and the modules that it imports.
func extractCPP(content []byte) ([]spec, error) {
	var specs []spec
	s := scan("c", content)
	for s.Tok.Kind != lexical.End {
		switch {
		case !s.Tok.Fresh:
			s.Next()
		case s.Sees("#"):
			specs = s.directive(specs)
		case s.Sees("export", "import", "module"):
			specs = s.modular(specs)
		default:
			s.Next()
		}
	}
	return specs, s.problem()
}

// directive reads what follows # on its line, and adds the include that it is, if it is one.
func (s scanner) directive(specs []spec) []spec {
	line := s.Tok.Line
	next := s.Next()
	if next.Fresh {
		return specs
	}
	switch next.Text {
	case "include", "import":
		specs = s.header(specs, line)
		s.Next()
	case "include_next":
		before := len(specs)
		if specs = s.header(specs, line); len(specs) > before {
			specs[before].kind = cNext
		}
		s.Next()
	}
	return specs
}

// header adds the header that stands after s.At on the line, in quotes or angle brackets, and moves past it.
func (s scanner) header(specs []spec, line int) []spec {
	s.blankInLine()
	end, k := "\"", cQuoted
	if s.Has("<") {
		end, k = ">", cAngled
	} else if !s.Has("\"") {
		return specs
	}
	rest := s.Src[s.At+1:]
	n := strings.IndexAny(rest, end+"\n")
	if n <= 0 || rest[n] == '\n' {
		return specs
	}
	s.At += n + 2
	return append(specs, spec{strings.ReplaceAll(rest[:n], `\`, "/"), line, k})
}

// blankInLine moves past white space and comments within a line, which a backslash may continue.
func (s scanner) blankInLine() {
	for s.At < len(s.Src) {
		switch {
		case s.Src[s.At] == ' ' || s.Src[s.At] == '\t':
			s.At++
		case s.Has("\\\n") || s.Has("\\\r\n"):
			s.Skip(strings.IndexByte(s.Src[s.At:], '\n') + 1)
		case s.Has("/*"):
			end := strings.Index(s.Src[s.At+2:], "*/")
			if end < 0 {
				return
			}
			s.Skip(end + 4)
		default:
			return
		}
	}
}

// modular reads the line of a module: export import a.b; import <x>; import :part; module a.b:part;
func (s scanner) modular(specs []spec) []spec {
	line := s.Tok.Line
	s.Takes("export")
	switch {
	case s.Sees("import"):
		if before := len(specs); s.headerFollows() {
			specs = s.header(specs, line)
			if s.Next(); !s.Sees(";") {
				specs = specs[:before]
			}
			return specs
		}
		s.Next()
		if name := s.moduleName(); name != "" && s.Sees(";") {
			specs = append(specs, spec{name, line, cModule})
		}
	case s.Takes("module"):
		if name := s.moduleName(); name != "" && s.Sees(";") {
			specs = append(specs, spec{name, line, cOwnName})
		}
	default:
		s.Next()
	}
	return specs
}

// headerFollows tells whether a header in quotes or angle brackets comes next.
func (s scanner) headerFollows() bool {
	s.blankInLine()
	return s.Has("<") || s.Has("\"")
}

// moduleName reads the name of a module, with that of its part after a colon.
func (s scanner) moduleName() string {
	name := s.Name(".")
	if s.Takes(":") {
		name += ":" + s.Name(".")
	}
	return name
}
