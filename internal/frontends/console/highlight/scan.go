package highlight

import "strings"

// scan marks code with the table of its language.
func (p *highlighter) scan(l *language) {
	for at := 0; at < len(p.text); {
		at = p.next(l, at)
	}
}

// next marks the token at a position and returns the position after it.
func (p *highlighter) next(l *language, at int) int {
	rest := p.text[at:]
	if end := l.commentAt(p.text, at); end > at {
		p.mark(comment, at, end)
		return end
	}
	for i := range l.Quotes {
		if q := &l.Quotes[i]; strings.HasPrefix(rest, q.Mark) {
			if end, ok := q.end(rest); ok {
				class := str
				if l.Keys == ":" && follows(p.text, at+end, l.Keys) {
					class = typeName
				}
				p.mark(class, at, at+end)
				return at + end
			}
		}
	}
	switch c := rest[0]; {
	case isDigit(c):
		end := at + spanOf(rest, func(c byte) bool { return isWord(c) || c == '.' })
		p.mark(number, at, end)
		return end
	case isWord(c) || c >= 0x80:
		return p.word(l, at)
	case strings.IndexByte(l.Sigils, c) >= 0 && len(rest) > 1 && (isWord(rest[1]) || c == '$' && rest[1] == '{'):
		end := at + 1 + spanOf(rest[1:], func(c byte) bool { return isWord(c) || c == '-' && l.Hyphens || c == '{' || c == '}' })
		p.mark(l.sigilClass(c), at, end)
		return end
	}
	return at + 1
}

// word marks a name if it is a keyword, a type or a field.
func (p *highlighter) word(l *language, at int) int {
	end := at + spanOf(p.text[at:], func(c byte) bool { return isWord(c) || c >= 0x80 || c == '-' && l.Hyphens })
	name := p.text[at:end]
	if l.Fold {
		name = strings.ToLower(name)
	}
	switch {
	case l.LineStart && !startsLine(p.text, at):
	case l.Keys != "" && follows(p.text, end, l.Keys):
		p.mark(typeName, at, end)
	case l.words[name] != "":
		p.mark(l.words[name], at, end)
	case l.Capitals && name[0] >= 'A' && name[0] <= 'Z':
		p.mark(typeName, at, end)
	}
	return end
}

// follows reports whether a sign comes next, after at most a few blanks.
func follows(text string, at int, sign string) bool {
	for n := 0; at < len(text) && n < 32 && (text[at] == ' ' || text[at] == '\t'); n++ {
		at++
	}
	return strings.HasPrefix(text[at:], sign)
}

// startsLine reports whether only a few blanks precede a position in its line.
func startsLine(text string, at int) bool {
	for n := 0; at > 0 && n < 32 && (text[at-1] == ' ' || text[at-1] == '\t'); n++ {
		at--
	}
	return at == 0 || text[at-1] == '\n'
}

// commentAt returns the end of the comment that starts at a position, or the position itself if
// there is none.
func (l *language) commentAt(text string, at int) int {
	rest := text[at:]
	for _, open := range l.Line {
		if !strings.HasPrefix(rest, open) || l.Spaced && at > 0 && strings.IndexByte(" \t\n;", text[at-1]) < 0 {
			continue
		}
		if end := strings.IndexByte(rest, '\n'); end >= 0 {
			return at + end
		}
		return len(text)
	}
	if !l.Block || !strings.HasPrefix(rest, "/*") {
		return at
	}
	if end := strings.Index(rest[2:], "*/"); end >= 0 {
		return at + end + 4
	}
	return len(text)
}

// end returns the length of the string at the start of a text.
func (q *quote) end(text string) (int, bool) {
	if q.Single {
		return endOfCharacter(text)
	}
	for i := len(q.Mark); i < len(text); i++ {
		switch c := text[i]; {
		case c == '\\' && !q.Raw:
			i++
		case c == '\n' && !q.Lines:
			return i, true
		case strings.HasPrefix(text[i:], q.Mark):
			return i + len(q.Mark), true
		}
	}
	return len(text), true
}

// endOfCharacter returns the length of a character literal such as 'x' or '\n'. It returns false
// for the single quote of a Rust lifetime.
func endOfCharacter(text string) (int, bool) {
	const maxBytes = 12
	short := text[:min(len(text), maxBytes)]
	end := strings.IndexByte(short[1:], '\'') + 1
	if strings.HasPrefix(short, `'\''`) {
		return 4, true
	}
	if end < 2 || text[1] != '\\' && len([]rune(short[1:end])) != 1 {
		return 0, false
	}
	return end + 1, true
}

func spanOf(text string, is func(byte) bool) int {
	n := 0
	for n < len(text) && is(text[n]) {
		n++
	}
	return n
}

func isDigit(c byte) bool { return c >= '0' && c <= '9' }

func isWord(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || isDigit(c) || c == '_'
}

// markup marks HTML and XML.
func (p *highlighter) markup() {
	for at := 0; at < len(p.text); {
		next := strings.IndexAny(p.text[at:], "<&")
		if next < 0 {
			return
		}
		at += next
		rest := p.text[at:]
		switch {
		case strings.HasPrefix(rest, "<!--"):
			end := len(p.text)
			if stop := strings.Index(rest, "-->"); stop >= 0 {
				end = at + stop + 3
			}
			p.mark(comment, at, end)
			at = end
		case rest[0] == '&':
			end := 1 + spanOf(rest[1:], func(c byte) bool { return isWord(c) || c == '#' })
			if end > 1 && end < len(rest) && rest[end] == ';' {
				p.mark(number, at, at+end+1)
			}
			at += end
		default:
			at = p.tag(at)
		}
	}
}

// tag marks a tag with its attributes.
func (p *highlighter) tag(at int) int {
	isName := func(c byte) bool { return isWord(c) || c == '-' || c == ':' || c == '.' }
	start := at + 1 + spanOf(p.text[at+1:], func(c byte) bool { return c == '/' || c == '?' || c == '!' })
	end := start + spanOf(p.text[start:], isName)
	if end == start {
		return start
	}
	p.mark(keyword, start, end)
	for end < len(p.text) {
		switch c := p.text[end]; {
		case c == '>':
			return end + 1
		case c == '<':
			return end
		case c == '"' || c == '\'':
			q := quote{Mark: string(c), Lines: true, Raw: true}
			length, _ := q.end(p.text[end:])
			p.mark(str, end, end+length)
			end += length
		case isName(c):
			length := spanOf(p.text[end:], isName)
			p.mark(typeName, end, end+length)
			end += length
		default:
			end++
		}
	}
	return end
}
