package imports

import (
	"strconv"
	"strings"

	"remit/internal/search/lexical"
)

// Kinds of imports in PHP.
const (
	phpFile     kind = iota // a file beneath the including one's folder, or the include path
	phpBeside               // a file by its place from the folder of the including one: __DIR__ . '/x'
	phpClass                // use A\B
	phpFunction             // use function A\f, use const A\C
	phpOwn                  // no import: the namespace that the file itself is in
)

// extractPHP reads what a PHP file uses and includes, wherever that stands.
func extractPHP(content []byte) ([]spec, error) {
	s := scan("php", content)
	uses := naming{mark: `\`, one: phpClass, all: phpClass, words: map[string]kind{"function": phpFunction, "const": phpFunction}}
	var specs []spec
	depth, top := 0, 0 // top is the depth at which use imports: in a class it is about traits
	for before := (lexical.Token{}); s.Tok.Kind != lexical.End; {
		at := s.Tok
		s.Next()
		switch {
		case at.Kind == lexical.Mark:
			switch at.Text {
			case "{":
				depth++
			case "}":
				depth--
			}
		case isMember(s, before, at):
		case isKeyword(at, "namespace"):
			specs = append(specs, spec{s.Name(`\`), at.Line, phpOwn})
			if top = 0; s.Sees("{") {
				top = 1
			}
		case isKeyword(at, "use") && depth == top:
			specs = s.names(specs, uses, "")
		case isKeyword(at, "require", "require_once", "include", "include_once"):
			specs = s.includes(specs, at.Line)
		}
		before = at
	}
	return specs, s.problem()
}

// isMember tells whether a word is the name of a member, function or constant, whatever else it might mean.
func isMember(s scanner, before, at lexical.Token) bool {
	text := strings.TrimRight(s.Src[:at.Start], " ")
	return strings.HasSuffix(text, "->") || strings.HasSuffix(text, "::") || isKeyword(before, "function", "const")
}

// includes adds the file that the expression after require or include names, if that can be told from the text.
func (s scanner) includes(specs []spec, line int) []spec {
	for s.Takes("(") {
	}
	up, beside := s.phpFolder()
	if beside && (up < 0 || !s.Takes(".")) || !isText(s.Tok) {
		return specs
	}
	text := s.Tok.Text
	if s.Next(); s.Sees(".") || text == "" {
		return specs
	}
	if beside {
		return append(specs, spec{strings.Repeat("../", up) + strings.TrimPrefix(text, "/"), line, phpBeside})
	}
	return append(specs, spec{text, line, phpFile})
}

// phpFolder reads an expression that means the file's own folder or one above it, and tells how far above:
// __DIR__, dirname(__FILE__), dirname(__DIR__, 2).
func (s scanner) phpFolder() (up int, ok bool) {
	open := 0
	for s.phpCall("dirname") {
		open++
	}
	switch {
	case s.Takes("__DIR__"):
	case s.Takes("__FILE__"):
		up = -1
	default:
		return 0, false
	}
	for ; open > 0; open-- {
		up++
		if s.Takes(",") {
			levels, err := strconv.Atoi(s.Tok.Text)
			if err != nil || levels < 1 || levels > 50 {
				return -1, true
			}
			up += levels - 1
			s.Next()
		}
		if !s.Takes(")") || up > 50 {
			return -1, true
		}
	}
	return up, true
}

// phpCall moves past the name of a function and the bracket after it.
func (s scanner) phpCall(name string) bool {
	s.Takes(`\`)
	return s.Takes(name) && s.Takes("(")
}
