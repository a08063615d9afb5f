package imports

import (
	"strconv"
	"strings"
)

// includes adds the file that the expression after require or include names, if that can be told from the text.
func (s *scanner) includes(specs []spec, line int) []spec {
	for s.takes("(") {
	}
	up, beside := s.phpFolder()
	if beside && (up < 0 || !s.takes(".")) || s.tok.kind != tokenText {
		return specs
	}
	text := s.tok.text
	if s.next(); s.sees(".") || text == "" || strings.Contains(text, "$") || strings.HasPrefix(text, "<<<") {
		return specs
	}
	if beside {
		return append(specs, spec{strings.Repeat("../", up) + strings.TrimPrefix(text, "/"), line, phpBeside})
	}
	return append(specs, spec{text, line, phpFile})
}

// phpFolder reads an expression that means the file's own folder or one above it, and tells how far above:
// __DIR__, dirname(__FILE__), dirname(__DIR__, 2).
func (s *scanner) phpFolder() (up int, ok bool) {
	open := 0
	for s.phpCall("dirname") {
		open++
	}
	switch {
	case s.takes("__DIR__"):
	case s.takes("__FILE__"):
		up = -1
	default:
		return 0, false
	}
	for ; open > 0; open-- {
		up++
		if s.takes(",") {
			levels, err := strconv.Atoi(s.tok.text)
			if err != nil || levels < 1 || levels > 50 {
				return -1, true
			}
			up += levels - 1
			s.next()
		}
		if !s.takes(")") || up > 50 {
			return -1, true
		}
	}
	return up, true
}

// phpCall moves past the name of a function and the bracket after it.
func (s *scanner) phpCall(name string) bool {
	s.takes(`\`)
	return s.takes(name) && s.takes("(")
}
