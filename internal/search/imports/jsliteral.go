package imports

// number reads a number, whatever its base.
func (l *jsLexer) number() jsToken {
	start := l.pos
	for l.pos < len(l.src) {
		c := l.src[l.pos]
		signed := (c == '+' || c == '-') && l.src[l.pos-min(1, l.pos-start)]|0x20 == 'e' && l.at(start+1)|0x20 != 'x'
		if !jsNameByte(c) && c != '.' && !signed {
			break
		}
		l.pos++
	}
	return l.token(jsOther, start, true)
}

// string reads up to the quote that ends a string; a line's end within one is a fault, unless it is escaped.
func (l *jsLexer) string(quote byte) (jsToken, bool) {
	start := l.pos
	for l.pos++; l.pos < len(l.src); l.pos++ {
		switch l.src[l.pos] {
		case quote:
			l.pos++
			return l.token(jsString, start, true), true
		case '\\':
			l.pos++
			if l.at(l.pos) == '\r' && l.at(l.pos+1) == '\n' {
				l.pos++
			}
		case '\n':
			l.fail(start, "unterminated string")
			return jsToken{}, false
		}
	}
	l.fail(start, "unterminated string")
	return jsToken{}, false
}

// template reads the text of a template that began at start, up to its end or to what is filled in.
func (l *jsLexer) template(start, from int) (jsToken, bool) {
	for l.pos = from; l.pos < len(l.src); l.pos++ {
		switch c := l.src[l.pos]; {
		case c == '\\':
			l.pos++
		case c == '`':
			l.pos++
			kind := jsTemplate
			if from != start+1 {
				kind = jsOther
			}
			return l.token(kind, start, true), true
		case c == '$' && l.at(l.pos+1) == '{':
			l.pos += 2
			l.push(jsHole, true, start)
			l.fresh()
			return jsToken{}, false
		}
	}
	l.fail(start, "unterminated template literal")
	return jsToken{}, false
}

// regexp reads a regular expression, if what stands here can be one: it ends on its line.
func (l *jsLexer) regexp() bool {
	class := false
	for i := l.pos + 1; i < len(l.src) && l.src[i] != '\n'; i++ {
		switch c := l.src[i]; {
		case c == '\\' && l.at(i+1) != '\n':
			i++
		case c == '[':
			class = true
		case c == ']':
			class = false
		case c == '/' && !class:
			for i++; jsNameByte(l.at(i)); i++ {
				continue
			}
			l.pos = i
			return true
		}
	}
	l.noRegexp = lineEnd(l.src, l.pos)
	return false
}
