package source

import (
	"bytes"
	"unicode/utf8"
)

// syntaxOf says what is not code in a language of braces.
func syntaxOf(language string) syntax {
	s := syntax{line: []string{"//"}, block: [2]string{"/*", "*/"}, quotes: `"'`}
	switch language {
	case "javascript", "typescript":
		s.special = specialScript
	case "c", "cpp":
		s.special = specialC
	case "csharp":
		s.triple, s.special = true, specialCSharp
	case "java", "groovy", "dart":
		s.triple = true
	case "kotlin", "swift":
		s.triple, s.nested = true, true
	case "scala":
		s.triple, s.nested, s.quotes, s.special = true, true, `"`, specialChar
	case "rust":
		s.nested, s.quotes, s.long, s.special = true, "", `"`, specialRust
	case "php":
		s.quotes, s.long, s.special = "", `"'`, specialPHP
	case "python":
		s = syntax{line: []string{"#"}, quotes: `"'`, triple: true}
	case "graphql":
		s = syntax{line: []string{"#"}, quotes: `"`, triple: true}
	case "css":
		s.line = nil
	case "scss", "less":
		s.line, s.special = nil, specialSCSS
	case "sql":
		s = syntax{line: []string{"--"}, block: s.block, nested: true, special: specialSQL}
	}
	return s
}

// specialScript takes templates and regular expressions.
func specialScript(b *blanker) bool {
	top := len(b.templates) - 1
	switch c := b.in[b.at]; {
	case c == '`':
		b.template(b.at + 1)
	case c == '{' && top >= 0:
		b.templates[top]++
		return false
	case c == '}' && top >= 0 && b.templates[top] > 0:
		b.templates[top]--
		return false
	case c == '}' && top >= 0:
		b.templates = b.templates[:top]
		b.template(b.at + 1)
	case c == '/' && b.mayBeRegexp():
		end := b.regexpEnd()
		if end == 0 {
			return false
		}
		b.literal(end)
	default:
		return false
	}
	return true
}

// template takes the text of a template, up to its end or to the expression that is next in it.
func (b *blanker) template(from int) {
	for i := from; i < len(b.in); i++ {
		switch b.in[i] {
		case '\\':
			i++
		case '`':
			b.literal(i + 1)
			return
		case '$':
			if i+1 < len(b.in) && b.in[i+1] == '{' {
				b.templates = append(b.templates, 0)
				b.literal(i + 2)
				return
			}
		}
	}
	b.literal(len(b.in))
}

// mayBeRegexp tells whether a slash here begins a regular expression, and not a division, a comment or the end of a tag.
func (b *blanker) mayBeRegexp() bool {
	if b.at+1 >= len(b.in) || bytes.IndexByte([]byte("/*>"), b.in[b.at+1]) >= 0 {
		return false
	}
	if b.last < 0 {
		return true
	}
	switch c := b.in[b.last]; {
	case bytes.IndexByte([]byte("(,=:[!&|?{;+-*%~^"), c) >= 0:
		return true
	case c == '>':
		return b.last > 0 && b.in[b.last-1] == '='
	case isNameByte(c):
		start := b.last
		for start > 0 && b.last-start < 10 && isNameByte(b.in[start-1]) {
			start--
		}
		switch string(b.in[start : b.last+1]) {
		case "return", "typeof", "case", "in", "of", "delete", "void", "throw", "new", "await", "yield", "else", "do":
			return true
		}
	}
	return false
}

// regexpEnd gives the place after a regular expression that ends on this line; zero if none does, and then none is
// looked for in what was passed.
func (b *blanker) regexpEnd() int {
	if b.at < b.noRegexp {
		return 0
	}
	class := false
	b.noRegexp = min(b.lineEnd(b.at), b.at+1000)
	for i := b.at + 1; i < b.noRegexp; i++ {
		switch b.in[i] {
		case '\\':
			i++
		case '[':
			class = true
		case ']':
			class = false
		case '/':
			if !class {
				return i + 1
			}
		}
	}
	return 0
}

// specialChar takes characters in quotes where a quote alone means something else.
func specialChar(b *blanker) bool {
	if b.in[b.at] != '\'' {
		return false
	}
	rest := b.in[b.at+1:]
	_, size := utf8.DecodeRune(rest)
	switch {
	case size > 0 && rest[0] == '\\':
		if i := bytes.IndexByte(rest[min(2, len(rest)):min(14, len(rest))], '\''); i >= 0 {
			b.literal(b.at + 1 + 2 + i + 1)
			return true
		}
	case size > 0 && len(rest) > size && rest[size] == '\'' && rest[0] != '\'':
		b.literal(b.at + 1 + size + 1)
		return true
	}
	b.code(1)
	return true
}

// specialRust takes characters, and strings with any number of # around them.
func specialRust(b *blanker) bool {
	c := b.in[b.at]
	if (c != '#' && c != '"') || b.at == 0 || b.in[b.at-1] != 'r' {
		return specialChar(b)
	}
	i := b.at
	for i < len(b.in) && b.in[i] == '#' {
		i++
	}
	if i == len(b.in) || b.in[i] != '"' {
		b.code(i - b.at)
		return true
	}
	b.literal(b.find(`"`+string(b.in[b.at:i]), i+1))
	return true
}

// specialPHP takes what is outside of the code, texts that end with a word of their own, and the other comments.
func specialPHP(b *blanker) bool {
	switch {
	case b.sees("?>"):
		b.erase(b.find("<?", b.at))
	case b.sees("<<<"):
		return b.heredoc()
	case b.sees("#") && !b.sees("#["):
		b.erase(b.lineEnd(b.at))
	default:
		return false
	}
	return true
}

// heredoc takes <<<WORD up to the line that begins with the word.
func (b *blanker) heredoc() bool {
	word, _ := firstWord(bytes.TrimLeft(b.in[b.at+3:min(b.at+100, len(b.in))], " \"'"))
	if word == "" {
		return false
	}
	for at := b.lineEnd(b.at); at < len(b.in); {
		at++
		end := len(b.in)
		if i := bytes.IndexByte(b.in[at:], '\n'); i >= 0 {
			end = at + i
		}
		line := b.in[at:end]
		if first, rest := firstWord(line); first == word {
			b.literal(end - len(rest))
			return true
		}
		at = end
	}
	b.literal(len(b.in))
	return true
}

// specialSCSS takes comments to the end of a line, but not the middle of an address.
func specialSCSS(b *blanker) bool {
	if !b.sees("//") || b.at > 0 && b.in[b.at-1] == ':' {
		return false
	}
	b.erase(b.lineEnd(b.at))
	return true
}

// specialSQL takes strings, in which a backslash means nothing, and what stands between $tags$.
func specialSQL(b *blanker) bool {
	switch b.in[b.at] {
	case '\'':
		b.literal(b.find("'", b.at+1))
		return true
	case '$':
		i := b.at + 1
		for i < len(b.in) && i < b.at+64 && isNameByte(b.in[i]) && b.in[i] != '$' {
			i++
		}
		if i < len(b.in) && b.in[i] == '$' {
			b.literal(b.find(string(b.in[b.at:i+1]), i+1))
			return true
		}
	}
	return false
}
