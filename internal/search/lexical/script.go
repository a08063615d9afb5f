package lexical

import "strings"

// A script is what a scanner knows of JavaScript, TypeScript and JSX. It keeps its own stack, so that no nesting is too deep
// for it.
type script struct {
	elements bool // < may begin an element of JSX
	element  bool // one was there
	open     []frame
	value    bool // the last token ended an expression: a slash divides, and < compares
	anew     bool // an expression begins anew, whatever the token before is
	dotted   bool // a dot stood before the last token
	noRegexp int  // up to here no regular expression ends on its line
	closings map[string]int
}

// A frame is something that was opened and is not closed yet. Its kind is the bracket that opened it, or one of those below.
type frame struct {
	kind  byte
	value bool // whether an expression has ended when it is closed, so that a slash divides
	line  int
}

const (
	hole        = '`' // ${ in a template
	elementHole = 'x' // { in JSX
	inTag       = 't' // <a, up to its >
	inElement   = 'c' // what stands between <a> and </a>
)

func beginElements(s *Scanner) { s.script = &script{elements: true} }

func beginScript(s *Scanner) { s.script = &script{} }

// doubtful tells of a script that was read to its end whether there is an error, or no end, where elements were.
func (s *Scanner) doubtful() bool {
	for _, f := range s.script.open {
		if f.kind == inTag || f.kind == inElement {
			return true
		}
	}
	return s.Err != nil && s.script.element
}

// Property tells whether the present word of a script is the name of a property.
func (s *Scanner) Property() bool { return s.script.dotted }

// Read reads a file with read. A script is read once more if what was taken for elements of JSX is more likely something of
// TypeScript, which looks the same.
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

// scriptToken takes strings, templates, regular expressions and elements.
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
		if s.Has("u{") {
			for s.At < len(s.Src) && s.Src[s.At] != '}' && s.Src[s.At] != '\n' {
				s.At++
			}
			s.At = min(s.At+1, len(s.Src))
		}
		return Word
	}
	return End
}

// template reads the text of a template that began on a line, up to its end or to what is filled in.
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
			j.open = append(j.open, frame{hole, true, line})
			return Text
		}
	}
	s.Skip(len(s.Src))
	s.Fail(line, "unterminated template literal")
	return Text
}

// regexp moves past a regular expression, if what stands here can be one: it ends on its line.
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

// brace closes what a brace or a hole has opened. Brackets that were left open within it are given up.
func (j *script) brace(s *Scanner) Kind {
	for j.top() == '(' || j.top() == '[' {
		j.pop()
	}
	switch j.top() {
	case hole:
		return j.template(s, j.pop().line, s.At+1)
	case elementHole:
		j.pop()
		s.At++
		return j.markup(s)
	}
	return End
}

// note keeps account of a token before it becomes the present one: what may follow it, and which brackets are open.
func (j *script) note(s *Scanner, t *Token) {
	last := &s.Tok
	afterDot := !j.anew && last.Kind == Mark && last.Text == "." && s.Src[max(last.Start-1, 0)] != '.'
	switch t.Kind {
	case End:
		for _, f := range j.open {
			if f.kind == hole {
				s.Fail(f.line, "unterminated template literal")
			}
		}
	case Word:
		j.value = afterDot || !awaitsValue(t.Text)
	case Text:
		top := j.top()
		j.anew = (top == hole || top == elementHole) && s.Src[t.End-1] == '{'
		j.value, j.dotted = !j.anew, afterDot
		return
	case Mark:
		j.mark(s, t)
	}
	j.dotted, j.anew = afterDot, false
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
		// ++ stands behind what it counts up, or before: what follows is the same as without it.
		value = len(t.Text) > 1 && j.value && !t.Fresh
	case '!':
		value = j.value && !t.Fresh && s.at(t.End) != '='
	}
	j.value = value
}

// afterCondition tells whether a parenthesis that opens here holds the condition of a statement.
func (j *script) afterCondition(s *Scanner) bool {
	if s.Tok.Kind != Word || j.dotted || j.anew {
		return false
	}
	switch s.Tok.Text {
	case "if", "while", "for", "with":
		return true
	}
	return false
}

// objectBegins tells whether a brace that opens here holds the members of an object rather than a block.
func (j *script) objectBegins(s *Scanner) bool {
	switch last := &s.Tok; {
	case j.anew || last.Kind == End:
		return len(j.open) > 0
	case last.Kind == Word:
		return !j.value && last.Text != "else" && last.Text != "do"
	case last.Kind == Mark:
		return strings.IndexByte(")];{}>", last.Text[0]) < 0
	}
	return false
}

// awaitsValue tells whether an expression follows a keyword.
func awaitsValue(word string) bool {
	switch word {
	case "return", "typeof", "instanceof", "in", "of", "new", "delete", "void", "throw", "case", "do", "else", "await", "yield",
		"default", "extends":
		return true
	}
	return false
}
