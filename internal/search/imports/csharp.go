package imports

import "strings"

// Kinds of imports in C#.
const (
	csharpNamespace kind = iota // using A.B;
	csharpType                  // using static A.B.C; or using X = A.B.C;, which may be a namespace too
	csharpOwn                   // no import: the namespace that the file itself is in
)

func csharpLexicon() *lexicon {
	return &lexicon{comments: []string{"//"}, open: "/*", shut: "*/", passes: csharpDirective, literal: csharpLiteral}
}

// csharpDirective moves past a line of the preprocessor.
func csharpDirective(s *scanner) bool {
	if !s.has("#") {
		return false
	}
	s.restOfLine()
	return true
}

// csharpLiteral reads strings of every sort and characters.
func csharpLiteral(s *scanner) (string, bool) {
	switch s.src[s.at] {
	case '"', '\'', '@', '$':
	default:
		return "", false
	}
	rest := strings.TrimLeft(s.src[s.at:], "@$")
	prefix := s.src[s.at : len(s.src)-len(rest)]
	switch {
	case strings.HasPrefix(rest, `"""`):
		s.at += len(prefix)
		quotes := s.src[s.at : len(s.src)-len(strings.TrimLeft(rest, `"`))]
		s.at += len(quotes)
		return s.until(quotes, "string"), true
	case strings.HasPrefix(rest, `"`) && strings.Contains(prefix, "@"):
		s.at += len(prefix)
		return s.verbatim(), true
	case strings.HasPrefix(rest, `"`) || rest != "" && rest[0] == '\'' && prefix == "":
		s.at += len(prefix)
		return s.quoted(false), true
	}
	return "", false
}

// verbatim reads a string in which only a quote means anything, and two of them mean one.
func (s *scanner) verbatim() string {
	start, begin := s.at+1, s.line
	s.at++
	for s.err == nil {
		s.until(`"`, "string")
		if !s.has(`"`) {
			break
		}
		s.at++
	}
	if s.err != nil {
		s.err.Line = begin
	}
	return s.src[start:s.at]
}

// extractCSharp reads the head of a C# file, and of the namespace in it; what comes after that is not looked at.
func extractCSharp(content []byte) ([]spec, error) {
	s := scan(content, csharpLexicon())
	var specs []spec
	for {
		line := s.tok.line
		switch {
		case s.takes(";"), s.takes("{"), s.takes("global"):
		case s.sees("["):
			s.enclosed("[", "]")
		case s.takes("extern"):
			s.takes("alias")
			s.next()
		case s.takes("namespace"):
			specs = append(specs, spec{s.name("."), line, csharpOwn})
		case s.takes("using"):
			if found, ok := s.using(line); ok {
				specs = append(specs, found)
			}
		default:
			return specs, s.problem()
		}
	}
}

// using reads what follows the word: a namespace, static and a type, or another name for something. What is no
// directive but a statement is none.
func (s *scanner) using(line int) (spec, bool) {
	found := spec{line: line}
	if s.takes("static") {
		found.kind = csharpType
	}
	s.takes("unsafe")
	found.text = s.csharpName()
	if s.takes("=") {
		found.kind, found.text = csharpType, s.csharpName()
	}
	if s.sees("<") {
		s.enclosed("<", ">")
	}
	return found, found.text != "" && s.sees(";")
}

// csharpName reads a name that may begin with global:: or another alias.
func (s *scanner) csharpName() string {
	s.takes("@")
	name := s.name(".")
	for s.takes(":") {
		if s.tok.kind == tokenWord {
			name = s.name(".")
		}
	}
	return name
}

// csharpDeclares tells whether a C# file is in a namespace.
func csharpDeclares(content []byte, namespace string) bool {
	specs, _ := extractCSharp(content)
	full := ""
	for _, s := range specs {
		if s.kind != csharpOwn {
			continue
		}
		full = strings.TrimPrefix(full+"."+s.text, ".")
		if full == namespace {
			return true
		}
	}
	return false
}

// csharpDefines tells whether a C# file defines a type, by the word before its name.
func csharpDefines(content []byte, name string) bool {
	if !strings.Contains(string(content), name) {
		return false
	}
	s := scan(content, csharpLexicon())
	for s.tok.kind != tokenEnd {
		if !s.sees("class", "struct", "enum", "interface", "record") {
			s.next()
			continue
		}
		if s.next(); s.sees(name) {
			return true
		}
	}
	return false
}
