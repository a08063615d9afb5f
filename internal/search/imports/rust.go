package imports

import (
	"strings"
	"unicode/utf8"
)

const (
	// rustModule is `mod x;`: the text is the module's name, with those of the modules written out around it, as in a::x,
	// and after a space the path of an attribute, if there is one.
	rustModule kind = iota + 1
	// rustInline is a module that is written out in the file, named in the same way.
	rustInline
	// rustPath is a path that begins with crate, self or super, as seen from the file's own module.
	rustPath
	// rustUse is a path that begins with a crate, or with a module of the file.
	rustUse
	// rustCrate is a path that begins with a crate.
	rustCrate
	// rustInclude is a file whose text is put in, relative to the file.
	rustInclude
)

func rustLexicon() *lexicon {
	return &lexicon{comments: []string{"//"}, open: "/*", shut: "*/", nested: true, literal: rustLiteral}
}

// rustLiteral reads strings and characters, and lifetimes, which mean nothing here.
func rustLiteral(s *scanner) (string, bool) {
	rest := s.src[s.at:]
	if rest[0] == '\'' {
		return rustCharacter(s), true
	}
	prefix := 0
	if rest[0] == 'b' || rest[0] == 'c' {
		prefix++
	}
	if prefix < len(rest) && rest[prefix] == 'r' {
		return rustRaw(s, prefix+1)
	}
	switch {
	case prefix < len(rest) && rest[prefix] == '"':
		s.at += prefix
		return s.quoted(true), true
	case strings.HasPrefix(rest, "b'"):
		s.at++
		return rustCharacter(s), true
	}
	return "", false
}

// rustRaw reads a string whose end is told by as many # as its beginning. prefix is the length of what says so.
func rustRaw(s *scanner, prefix int) (string, bool) {
	rest := s.src[s.at+prefix:]
	marks := len(rest) - len(strings.TrimLeft(rest, "#"))
	if marks == len(rest) || rest[marks] != '"' {
		return "", false
	}
	s.at += prefix + marks + 1
	return s.until(`"`+rest[:marks], "string"), true
}

// rustCharacter moves past 'x', or past a lifetime.
func rustCharacter(s *scanner) string {
	rest := s.src[s.at+1:]
	_, size := utf8.DecodeRuneInString(rest)
	if strings.HasPrefix(rest, `\`) || strings.HasPrefix(rest[size:], "'") {
		return s.quoted(false)
	}
	s.at++
	if rest != "" && isWordByte(rest[0]) {
		s.word()
	}
	return ""
}

// extractRust reads the modules, uses and paths of a Rust file, whatever they are conditional on. What macros are made
// from is not looked at.
func extractRust(content []byte) ([]spec, error) {
	p := rustParser{scanner: scan(content, rustLexicon())}
	for p.tok.kind != tokenEnd && len(p.specs) < mostImports {
		p.item()
	}
	return p.specs, p.problem()
}
