package imports

// sign reads a punctuator, and keeps account of brackets. There is none if a bracket belongs to JSX or a template.
func (l *jsLexer) sign(c byte) (jsToken, bool) {
	start := l.pos
	l.pos++
	switch c {
	case '(':
		l.push('(', !l.afterCondition(), start)
		return l.token(jsSign, start, false), true
	case '[':
		l.push('[', true, start)
		return l.token(jsSign, start, false), true
	case '{':
		l.push('{', l.objectBegins(), start)
		return l.token(jsSign, start, false), true
	case ')', ']':
		return l.token(jsSign, start, l.closed(c)), true
	case '}':
		return l.brace(start)
	}
	return l.operator(c, start), true
}

// operator reads the rest of what is no bracket, as far as it matters for what may follow.
func (l *jsLexer) operator(c byte, start int) jsToken {
	next := l.at(l.pos)
	switch {
	case (c == '+' || c == '-') && next == c:
		// It stands behind what it counts up, or before: what follows is the same as without it.
		l.pos++
		return l.token(jsSign, start, l.value && !l.newline)
	case c == '!' && l.value && !l.newline && next != '=':
		return l.token(jsSign, start, true)
	case c == '=' && next == '>', c == '?' && next == '.':
		l.pos++
	case c == '.' && next == '.' && l.at(l.pos+1) == '.':
		l.pos += 2
	}
	return l.token(jsSign, start, false)
}

// afterCondition tells whether a parenthesis that opens here holds the condition of a statement.
func (l *jsLexer) afterCondition() bool {
	if l.last.kind != jsName || l.dotted {
		return false
	}
	switch string(l.src[l.last.start:l.last.end]) {
	case "if", "while", "for", "with":
		return true
	}
	return false
}

// objectBegins tells whether a brace that opens here holds the members of an object rather than a block.
func (l *jsLexer) objectBegins() bool {
	word := string(l.src[l.last.start:l.last.end])
	switch l.last.kind {
	case jsName:
		return !l.value && word != "else" && word != "do"
	case jsSign:
		switch word {
		case ")", "]", ";", "{", "}", "=>", ">":
			return false
		}
		return true
	case jsEnd:
		return len(l.open) > 0
	}
	return false
}

// closed takes back an opening bracket, and tells whether an expression ended with it.
func (l *jsLexer) closed(c byte) bool {
	opening := byte('(')
	if c == ']' {
		opening = '['
	}
	if l.top() == opening {
		return l.pop().value
	}
	return true
}

// brace closes what a brace or a hole has opened. Brackets that were left open within it are given up.
func (l *jsLexer) brace(start int) (jsToken, bool) {
	for l.top() == '(' || l.top() == '[' {
		l.pop()
	}
	switch l.top() {
	case jsHole:
		return l.template(l.pop().start, l.pos)
	case jsxHole:
		l.pop()
		return jsToken{}, false
	case '{':
		return l.token(jsSign, start, l.pop().value), true
	}
	return l.token(jsSign, start, false), true
}
