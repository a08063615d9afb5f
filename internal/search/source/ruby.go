package source

import "strings"

// outlineRuby outlines Ruby by the words that begin and end things at the same indentation.
func outlineRuby(content []byte) []Symbol {
	r := rubyOutline{}
	last := eachCodeLine("ruby", content, func(line string, indent, number int) {
		if word, _ := firstWord([]byte(line)); word == "end" {
			r.close(indent, number)
		}
		r.declaration(line, indent, number)
	})
	r.close(0, last)
	return r.found
}

type rubyOutline struct{ indentedOutline }

func (r *rubyOutline) declaration(trimmed string, indent, number int) {
	fields := strings.FieldsFunc(trimmed, func(c rune) bool { return c == ' ' || c == '(' || c == ';' || c == '\t' })
	if len(fields) > 2 && (strings.HasPrefix(fields[0], "private") || fields[0] == "protected" || fields[0] == "module_function") {
		fields = fields[1:]
	}
	if len(fields) < 2 || fields[0] != "def" && fields[0] != "class" && fields[0] != "module" {
		return
	}
	outer := r.outer()
	name := strings.TrimPrefix(fields[1], "self.")
	inner := block{symbol: -1, indent: indent, owner: outer.owner, hides: outer.hides || fields[0] == "def"}
	if !outer.hides && fields[1] != "<<" { // class << self is no class
		kind := fields[0]
		if kind == "def" {
			kind = functionKind(outer.owner)
		}
		inner.symbol, inner.owner = len(r.found), cut(outer.owner+name)+"."
		r.found = append(r.found, Symbol{Kind: kind, Name: outer.owner + name, Line: number, End: number})
	}
	if !endsOnLine(trimmed, fields) {
		r.open = append(r.open, inner)
	}
}

// endsOnLine tells whether a declaration is whole: def a = 1, def a; end, class A < B; end.
func endsOnLine(trimmed string, fields []string) bool {
	if fields[len(fields)-1] == "end" {
		return true
	}
	rest := strings.TrimSpace(strings.TrimPrefix(trimmed, "def "+fields[1]))
	if strings.HasPrefix(rest, "(") {
		_, rest, _ = strings.Cut(rest, ")")
	}
	return fields[0] == "def" && strings.HasPrefix(strings.TrimSpace(rest), "= ")
}
