package source

import "strings"

// outlineShell outlines the functions of a shell script. One ends with the bracket that is indented like its name.
func outlineShell(content []byte) []Symbol {
	s := shellOutline{}
	s.end(eachCodeLine("shell", content, func(line string, indent, number int) {
		switch {
		case s.open && indent <= s.indent && (line[0] == '}' || line[0] == ')'):
			s.end(number)
		case !s.open:
			s.declaration(line, indent, number)
		}
	}))
	return s.found
}

type shellOutline struct {
	found  []Symbol
	open   bool
	indent int
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
