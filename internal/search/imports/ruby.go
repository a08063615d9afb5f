package imports

import (
	"path"
	"strings"
)

// Kinds of imports in Ruby.
const (
	rubyFeature kind = iota // require 'x', autoload :X, 'x'
	rubyBeside              // require_relative 'x', and what is made of __dir__ or __FILE__
	rubyLoad                // load 'x.rb'
)

// extractRuby reads what a Ruby file requires, wherever that stands, as far as the text tells it.
func extractRuby(content []byte) ([]spec, error) {
	s := scan(content, rubyLexicon())
	var specs []spec
	for before := (token{}); s.tok.kind != tokenEnd; {
		at := s.tok
		s.next()
		switch {
		case at.kind != tokenWord || isRubyName(s, before, at):
		case at.text == "__END__" && at.fresh && s.tok.fresh:
			return specs, s.problem()
		case at.text == "require" || at.text == "load":
			k := rubyFeature
			if at.text == "load" {
				k = rubyLoad
			}
			specs = s.rubyRequire(specs, at.line, k)
		case at.text == "require_relative":
			specs = s.rubyRequire(specs, at.line, rubyBeside)
		case at.text == "autoload":
			s.takes("(")
			if s.takes(":") && s.tok.kind == tokenWord {
				if s.next(); s.takes(",") {
					specs = s.rubyRequire(specs, at.line, rubyFeature)
				}
			}
		}
		before = at
	}
	return specs, s.problem()
}

// isRubyName tells whether a word is the name of something, whatever else it might mean: what is defined, a symbol, a
// key, or a member of anything but Kernel.
func isRubyName(s *scanner, before, at token) bool {
	switch {
	case before.kind == tokenWord && before.text == "def":
		return true
	case before.kind == tokenMark && before.text == ":" && before.start == at.start-1:
		return true
	case before.kind == tokenMark && before.text == ".":
		return !strings.HasSuffix(s.src[:before.start], "Kernel")
	}
	return s.sees(":") && s.tok.start == at.start+len(at.text) && !strings.HasPrefix(s.src[s.tok.start:], "::")
}

// rubyRequire adds the file that an expression names: a string, or one made of the file's own place.
func (s *scanner) rubyRequire(specs []spec, line int, k kind) []spec {
	if s.tok.fresh {
		return specs
	}
	s.takes("(")
	if s.tok.kind == tokenText {
		text := s.tok.text
		if rest, ok := strings.CutPrefix(text, "#{__dir__}/"); ok {
			text, k = rest, rubyBeside
		}
		if s.next(); s.sees("+", "%", ".") && !s.tok.fresh || strings.Contains(text, "#{") || text == "" {
			return specs
		}
		return append(specs, spec{text, line, k})
	}
	if text, ok := s.rubyPlace(); ok {
		return append(specs, spec{text, line, rubyBeside})
	}
	return specs
}

// rubyPlace reads an expression that names a file from where the file itself is.
func (s *scanner) rubyPlace() (string, bool) {
	switch {
	case s.rubyFile("expand_path"):
		text := s.tok.text
		if s.tok.kind != tokenText || s.next().text != "," {
			return "", false
		}
		s.next()
		if s.takes("__FILE__") {
			return cutFile(text)
		}
		return text, s.rubyFolder()
	case s.rubyFile("join"):
		if !s.rubyFolder() {
			return "", false
		}
		parts := []string{}
		for s.takes(",") && s.tok.kind == tokenText {
			parts = append(parts, s.tok.text)
			s.next()
		}
		return path.Join(parts...), len(parts) > 0 && s.sees(")")
	case s.rubyFolder():
		if !s.takes("+") || s.tok.kind != tokenText {
			return "", false
		}
		return strings.TrimPrefix(s.tok.text, "/"), true
	}
	return "", false
}

// cutFile makes a path from a file one from its folder.
func cutFile(text string) (string, bool) {
	joined := path.Join("file", text)
	return joined, joined != "file" && !strings.HasPrefix(joined, "file/")
}

// rubyFile moves past a call of a function of File, up to its arguments.
func (s *scanner) rubyFile(function string) bool {
	if !s.sees("File") || !strings.HasPrefix(s.src[s.at:], "."+function+"(") {
		return false
	}
	for range 4 {
		s.next()
	}
	return true
}

// rubyFolder moves past __dir__ or File.dirname(__FILE__).
func (s *scanner) rubyFolder() bool {
	if s.takes("__dir__") {
		return true
	}
	return s.rubyFile("dirname") && s.takes("__FILE__") && s.takes(")")
}
