package lexical

import "strings"

// A script is the scanner's state for JavaScript, TypeScript and JSX. It has a stack of its own, so
// that nesting can be arbitrarily deep.
type script struct {
	elements  bool // < may begin a JSX element
	element   bool // there was an element
	open      []frame
	value     bool // the last token ended an expression: / is a division, < a comparison
	exprStart bool // an expression begins here, whatever the previous token is
	dotted    bool // a dot precedes the last token
	noRegexp  int  // before this offset no regular expression ends on its line
	closings  map[string]int
}

// A frame is an open bracket or construct. Its kind is the opening bracket, or one of the constants
// below.
type frame struct {
	kind  byte
	value bool // whether an expression has ended when it is closed, so that a slash is a division
	line  int
}

const (
	templateExpr = '`' // ${ in a template
	jsxExpr      = 'x' // { in JSX
	inTag        = 't' // <a, up to its >
	inElement    = 'c' // the content between <a> and </a>
)

func beginElements(s *Scanner) { s.script = &script{elements: true} }

func beginScript(s *Scanner) { s.script = &script{} }

// doubtful reports whether a script that was read to its end has an error or unclosed elements
// after elements were found.
func (s *Scanner) doubtful() bool {
	for _, f := range s.script.open {
		if f.kind == inTag || f.kind == inElement {
			return true
		}
	}
	return s.Err != nil && s.script.element
}

// IsProperty reports whether the current word of a script is the name of a property.
func (s *Scanner) IsProperty() bool { return s.script.dotted }

// Read calls read with a scanner of the content. For a script, it calls read again without JSX if
// the supposed JSX elements are more likely TypeScript, which looks the same.
func Read[T any](languageName string, content []byte, read func(s *Scanner) T) (T, *Error) {
	s := New(languageName, content)
	found := read(s)
	if s.script != nil && s.doubtful() {
		plain := New("plainscript", content)
		if again := read(plain); plain.Err == nil {
			return again, nil
		}
	}
	return found, s.Err
}

func (j *script) top() byte {
	if len(j.open) == 0 {
		return 0
	}
	return j.open[len(j.open)-1].kind
}

func (j *script) push(s *Scanner, kind byte, value bool) {
	j.open = append(j.open, frame{kind, value, s.Line})
}

func (j *script) pop() frame {
	f := j.open[len(j.open)-1]
	j.open = j.open[:len(j.open)-1]
	return f
}

// scriptToken reads strings, templates, regular expressions and elements.
func scriptToken(s *Scanner) Kind {
	j, c := s.script, s.Src[s.At]
	switch c {
	case '"', '\'':
		if s.quoted() {
			return Text
		}
		s.Fail(s.Line, "unterminated string")
	case '`':
		return j.template(s, s.Line, s.At+1)
	case '}':
		return j.brace(s)
	case '/':
		if next := s.at(s.At + 1); next != '/' && next != '*' && !j.value && s.At >= j.noRegexp && j.regexp(s) {
			return Text
		}
	case '<':
		if !j.value && j.elements && j.elementBegins(s, s.At) {
			j.element = true
			j.push(s, inTag, true)
			s.At++
			return j.markup(s)
		}
	case '+', '-':
		if s.at(s.At+1) == c {
			s.At += 2
			return Mark
		}
	case '\\':
		s.At++
		if s.HasPrefix("u{") {
			for s.At < len(s.Src) && s.Src[s.At] != '}' && s.Src[s.At] != '\n' {
				s.At++
			}
			s.At = min(s.At+1, len(s.Src))
		}
		return Word
	}
	return End
}

// template reads the text of a template literal up to its end or its next expression. line is the
// line on which it began.
func (j *script) template(s *Scanner, line, from int) Kind {
	for i := from; i < len(s.Src); i++ {
		switch c := s.Src[i]; {
		case c == '\\':
			i++
		case c == '`':
			if s.Src[s.At] == '`' {
				s.from, s.to, s.quote = from, i, '`'
			}
			s.Skip(i + 1 - s.At)
			return Text
		case c == '$' && s.at(i+1) == '{':
			s.Skip(i + 2 - s.At)
			j.open = append(j.open, frame{templateExpr, true, line})
			return Text
		}
	}
	s.Skip(len(s.Src))
	s.Fail(line, "unterminated template literal")
	return Text
}

// regexp moves past a regular expression, if there is one that ends on its line, and reports
// whether it did.
func (j *script) regexp(s *Scanner) bool {
	class := false
	i := s.At + 1
	for ; i < len(s.Src) && s.Src[i] != '\n'; i++ {
		switch c := s.Src[i]; {
		case c == '\\' && s.at(i+1) != '\n':
			i++
		case c == '[':
			class = true
		case c == ']':
			class = false
		case c == '/' && !class:
			for i++; IsWordByte(s.at(i)); i++ {
				continue
			}
			s.At = i
			return true
		}
	}
	j.noRegexp = i
	return false
}

// brace closes a brace or an expression in a template or element. It discards brackets that were
// left open within.
func (j *script) brace(s *Scanner) Kind {
	for j.top() == '(' || j.top() == '[' {
		j.pop()
	}
	switch j.top() {
	case templateExpr:
		return j.template(s, j.pop().line, s.At+1)
	case jsxExpr:
		j.pop()
		s.At++
		return j.markup(s)
	}
	return End
}

// note updates the state for a token before it becomes the current one: what may follow it, and
// which brackets are open.
func (j *script) note(s *Scanner, t *Token) {
	last := &s.Tok
	afterDot := !j.exprStart && last.Kind == Mark && last.Text == "." && s.Src[max(last.Start-1, 0)] != '.'
	switch t.Kind {
	case End:
		for _, f := range j.open {
			if f.kind == templateExpr {
				s.Fail(f.line, "unterminated template literal")
			}
		}
	case Word:
		j.value = afterDot || !awaitsValue(t.Text)
	case Text:
		top := j.top()
		j.exprStart = (top == templateExpr || top == jsxExpr) && s.Src[t.End-1] == '{'
		j.value, j.dotted = !j.exprStart, afterDot
		return
	case Mark:
		j.mark(s, t)
	}
	j.dotted, j.exprStart = afterDot, false
}

func (j *script) mark(s *Scanner, t *Token) {
	value := false
	switch c := t.Text[0]; c {
	case '(':
		j.push(s, c, !j.afterCondition(s))
	case '[':
		j.push(s, c, true)
	case '{':
		j.push(s, c, j.objectBegins(s))
	case ')', ']':
		value = true
		if top := j.top(); top == '(' && c == ')' || top == '[' && c == ']' {
			value = j.pop().value
		}
	case '}':
		if j.top() == '{' {
			value = j.pop().value
		}
	case '+', '-':
		// ++ and -- do not change whether an expression has ended, before or after their operand.
		value = len(t.Text) > 1 && j.value && !t.FirstOnLine
	case '!':
		value = j.value && !t.FirstOnLine && s.at(t.End) != '='
	}
	j.value = value
}

// afterCondition reports whether the parenthesis that opens here contains the condition of a
// statement.
func (j *script) afterCondition(s *Scanner) bool {
	if s.Tok.Kind != Word || j.dotted || j.exprStart {
		return false
	}
	switch s.Tok.Text {
	case "if", "while", "for", "with":
		return true
	}
	return false
}

// objectBegins reports whether the brace that opens here begins an object literal rather than a
// block.
func (j *script) objectBegins(s *Scanner) bool {
	switch last := &s.Tok; {
	case j.exprStart || last.Kind == End:
		return len(j.open) > 0
	case last.Kind == Word:
		return !j.value && last.Text != "else" && last.Text != "do"
	case last.Kind == Mark:
		return strings.IndexByte(")];{}>", last.Text[0]) < 0
	}
	return false
}

// awaitsValue reports whether an expression follows a keyword.
func awaitsValue(word string) bool {
	switch word {
	case "return", "typeof", "instanceof", "in", "of", "new", "delete", "void", "throw", "case", "do", "else", "await", "yield",
		"default", "extends":
		return true
	}
	return false
}
