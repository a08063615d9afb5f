package source

import "strings"

// outlineRuby outlines Ruby by the words that begin and end things at the same indentation.
func outlineRuby(content []byte) []Symbol {
	r := rubyOutline{}
	last := eachLine(content, func(text string, number int) bool {
		if strings.TrimRight(text, "\r\n") == "__END__" {
			return false
		}
		r.line(text, number)
		return true
	})
	r.close(0, last)
	return r.found
}

type rubyOutline struct {
	indentedOutline
	comment bool   // between =begin and =end
	until   string // the word that ends the text that is being passed
}

func (r *rubyOutline) line(text string, number int) {
	trimmed := strings.TrimSpace(text)
	indent := len(text) - len(strings.TrimLeft(text, " \t"))
	switch {
	case r.until != "":
		if trimmed == r.until {
			r.until = ""
		}
		return
	case strings.HasPrefix(text, "=begin"), r.comment:
		r.comment = !strings.HasPrefix(text, "=end")
		return
	case trimmed == "" || trimmed[0] == '#':
		return
	}
	if word, _ := firstWord([]byte(trimmed)); word == "end" {
		r.close(indent, number)
	}
	r.declaration(trimmed, indent, number)
	r.until = heredocWord(trimmed)
}

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

// heredocWord reads the WORD of <<~WORD, <<-'WORD' or <<WORD; empty if a line has none.
func heredocWord(line string) string {
	_, rest, ok := strings.Cut(line, "<<")
	if !ok || rest == "" {
		return ""
	}
	rest = strings.TrimLeft(rest, "~-")
	rest = strings.TrimLeft(rest, `"'`)
	word, _ := firstWord([]byte(rest))
	if word == "" || strings.ToUpper(word) != word || rest[0] >= '0' && rest[0] <= '9' {
		return ""
	}
	return word
}
