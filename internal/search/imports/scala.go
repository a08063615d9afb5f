package imports

import "strings"

// extractScala reads the head of a Scala file: what its packages are, and the imports before anything else. Imports
// further down are not looked at.
func extractScala(content []byte) ([]spec, error) {
	s := scan(content, kotlinLexicon())
	var specs []spec
	full := ""
	for {
		line := s.tok.line
		switch {
		case s.takes(";"):
		case s.takes("package"):
			if s.sees("object") {
				return specs, s.problem()
			}
			full = strings.TrimPrefix(full+"."+s.name("."), ".")
			specs = append(specs, spec{full, line, jvmPackage})
			s.takes("{")
		case s.takes("import"):
			specs = s.scalaNames(specs)
		default:
			return specs, s.problem()
		}
	}
}

// scalaNames reads what follows import: names with commas between them, each perhaps with several in braces.
func (s *scanner) scalaNames(specs []spec) []spec {
	for {
		found := spec{line: s.tok.line, kind: jvmName}
		found.text = strings.TrimPrefix(s.name("."), "_root_.")
		if rest, ok := strings.CutSuffix(found.text, "._"); ok {
			found.text, found.kind = rest, jvmAll
		}
		switch {
		case !s.takes("."):
			specs = append(specs, found)
		case s.takes("*"):
			found.kind = jvmAll
			specs = append(specs, found)
		case s.takes("{"):
			specs = s.scalaGroup(specs, found.text)
		}
		if !s.takes(",") {
			return specs
		}
	}
}

// scalaGroup reads names in braces: {A, B => C, D as E, _}.
func (s *scanner) scalaGroup(specs []spec, prefix string) []spec {
	for s.tok.kind == tokenWord || s.sees("*") {
		found := spec{prefix + "." + s.tok.text, s.tok.line, jvmName}
		if s.sees("_", "*") {
			found.text, found.kind = prefix, jvmAll
		}
		if !s.sees("given") {
			specs = append(specs, found)
		}
		for s.tok.kind != tokenEnd && !s.sees(",", "}") {
			s.next()
		}
		s.takes(",")
	}
	s.takes("}")
	return specs
}

// scalaDeclaration tells whether a line declares a name.
func scalaDeclaration(line, name string) bool {
	s := scan([]byte(line), kotlinLexicon())
	for s.tok.kind == tokenWord {
		if s.sees("class", "trait", "object", "enum", "type", "def", "val", "given") {
			s.next()
			return s.sees(name)
		}
		s.next()
	}
	return false
}
