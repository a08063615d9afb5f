package source

import "strings"

// outlineShell outlines the functions of a shell script. One ends with the bracket that is indented like its name.
func outlineShell(content []byte) []Symbol {
	s := shellOutline{}
	s.end(eachLine(content, func(text string, number int) bool {
		s.line(text, number)
		return true
	}))
	return s.found
}

type shellOutline struct {
	found  []Symbol
	open   bool
	indent int
	until  string // the word that ends the text that is being passed
}

func (s *shellOutline) line(text string, number int) {
	trimmed := strings.TrimSpace(text)
	indent := len(text) - len(strings.TrimLeft(text, " \t"))
	switch {
	case s.until != "":
		if trimmed == s.until {
			s.until = ""
		}
		return
	case trimmed == "" || trimmed[0] == '#':
		return
	case s.open && indent <= s.indent && (trimmed[0] == '}' || trimmed[0] == ')'):
		s.end(number)
	case !s.open:
		s.declaration(trimmed, indent, number)
	}
	if !strings.Contains(trimmed, "<<<") {
		s.until = heredocWord(trimmed)
	}
}

func (s *shellOutline) end(number int) {
	if s.open {
		s.found[len(s.found)-1].End = number
		s.open = false
	}
}

// declaration takes name() { and function name {.
func (s *shellOutline) declaration(trimmed string, indent, number int) {
	rest, keyword := strings.CutPrefix(trimmed, "function ")
	rest = strings.TrimLeft(rest, " ")
	n := strings.IndexAny(rest, " \t(){;=$\"'`|&<>")
	if n < 0 {
		n = len(rest)
	}
	name, rest := rest[:n], strings.TrimSpace(rest[n:])
	rest, parens := strings.CutPrefix(strings.ReplaceAll(rest, "( )", "()"), "()")
	rest = strings.TrimSpace(rest)
	if name == "" || !keyword && !parens {
		return
	}
	if rest != "" && rest[0] != '{' && rest[0] != '(' && rest[0] != '#' && rest[0] != '[' {
		return
	}
	s.found = append(s.found, Symbol{Kind: "function", Name: name, Line: number, End: number})
	s.indent = indent
	closed := strings.HasSuffix(rest, "}") || strings.HasPrefix(rest, "(") && strings.HasSuffix(rest, ")")
	s.open = !closed
}
