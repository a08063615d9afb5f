package imports

// Kinds of imports in Java and Kotlin.
const (
	jvmName    kind = iota // one class, function or member
	jvmAll                 // whatever is in a package or a class
	jvmPackage             // no import: the package that the file itself is in
)

func javaLexicon() *lexicon {
	return &lexicon{comments: []string{"//"}, open: "/*", shut: "*/", literal: javaLiteral}
}

// javaLiteral reads strings, text blocks and characters.
func javaLiteral(s *scanner) (string, bool) {
	switch {
	case s.has(`"""`):
		return s.textBlock(), true
	case s.src[s.at] == '"' || s.src[s.at] == '\'':
		return s.quoted(false), true
	}
	return "", false
}

// textBlock moves past a text between three quotes.
func (s *scanner) textBlock() string {
	s.at += 3
	return s.until(`"""`, "string")
}

// javaImports reads the head of a Java file; what comes after its imports is not looked at.
func javaImports(content []byte) ([]spec, error) {
	s := scan(content, javaLexicon())
	var specs []spec
	for {
		line := s.tok.line
		switch {
		case s.takes(";"):
		case s.takes("@"):
			s.annotation()
		case s.takes("package"):
			specs = append(specs, spec{s.name("."), line, jvmPackage})
		case s.takes("import"):
			s.takes("static")
			if found := s.jvmImport(line); s.sees(";") {
				specs = append(specs, found)
			}
		default:
			return specs, s.problem()
		}
	}
}

// annotation moves past the name of an annotation and what is in its brackets.
func (s *scanner) annotation() {
	s.name(".")
	if s.sees("(") {
		s.enclosed("(", ")")
	}
}

// jvmImport reads a name that may end in a star.
func (s *scanner) jvmImport(line int) spec {
	found := spec{s.name("."), line, jvmName}
	if s.takes(".") && s.takes("*") {
		found.kind = jvmAll
	}
	return found
}
