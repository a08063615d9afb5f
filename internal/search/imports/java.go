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

// extractJava reads the head of a Java file; what comes after its imports is not looked at.
func extractJava(content []byte) ([]spec, error) {
	return jvmHead(scan(content, javaLexicon()), func(s *scanner, line int) (spec, bool) {
		s.takes("static")
		found := s.jvmImport(line)
		return found, s.sees(";")
	})
}

// jvmHead reads the package and the imports that a file of Java or Kotlin begins with. importing reads what follows the
// word import.
func jvmHead(s *scanner, importing func(s *scanner, line int) (spec, bool)) ([]spec, error) {
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
			if found, ok := importing(s, line); ok {
				specs = append(specs, found)
			}
		default:
			return specs, s.problem()
		}
	}
}

// annotation moves past an annotation. That of a Kotlin file may say what it is for, and hold several: @file:[A B("x")].
func (s *scanner) annotation() {
	s.annotationName()
	if !s.takes(":") {
		return
	}
	if s.sees("[") {
		s.enclosed("[", "]")
		return
	}
	s.annotationName()
}

// annotationName moves past the name of an annotation and what is in its brackets.
func (s *scanner) annotationName() {
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
