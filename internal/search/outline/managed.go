package outline

// outlineManaged outlines Java, C#, Dart and Groovy: types, and methods within them.
func outlineManaged(language string) func(content []byte) []Symbol {
	return func(content []byte) []Symbol {
		m := managed{scanner: newScanner(language, content), language: language}
		m.walk(0, len(m.tokens), "")
		return m.found
	}
}

type managed struct {
	*scanner
	language string
}

func (m managed) walk(from, to int, owner string) {
	for i := from; i < to; {
		i = max(i+1, m.declaration(i, to, owner))
	}
}

// isManagedType reports whether a keyword precedes the name of a type or of a namespace.
func isManagedType(word string) bool {
	switch word {
	case "class", "interface", "enum", "record", "struct", "namespace", "mixin", "extension", "trait":
		return true
	}
	return false
}

// declaration reads one member of a file, a namespace or a type, and returns the token after it.
func (m managed) declaration(i, to int, owner string) int {
	for i < to && m.text(i) == "[" { // attributes
		i = m.past(i)
	}
	if i >= to {
		return to
	}
	h := m.readHead(i, to, isManagedType)
	// A record looks like a method, and record may be a name elsewhere.
	if h.keyword >= 0 && m.isName(h.keyword+1) && (h.name < 0 || h.name > h.keyword) {
		return m.declareType(h, to, owner)
	}
	if h.name < 0 || h.stop >= to && owner == "" {
		return m.skipMember(h, to)
	}
	return m.declareMethod(h, to, owner)
}

func (m managed) declareType(h head, to int, owner string) int {
	word, name := m.text(h.keyword), h.keyword+1
	if next := m.text(name); word == "record" && (next == "struct" || next == "class") {
		name++
	}
	last := name
	for m.text(last+1) == "." && m.isName(last+2) {
		last += 2
	}
	open, end := m.body(last+1, to, false, false)
	if word == "namespace" {
		if open < 0 { // for the rest of the file
			return end + 1
		}
		m.within(open, end, func(from, to int) { m.walk(from, to, owner) })
		return end + 1
	}
	m.add(word, owner, name, end)
	inner := cut(owner+m.text(name)) + "."
	m.within(open, end, func(from, to int) {
		if word == "enum" {
			from = m.skipValue(from, to) + 1 // its constants
		}
		m.walk(from, to, inner)
	})
	return end + 1
}

func (m managed) declareMethod(h head, to int, owner string) int {
	last := min(h.stop, to-1)
	switch {
	case h.equals && m.text(h.stop) == "=" && m.text(h.params-2) != "operator" && m.language != "dart":
		return m.skipValue(h.stop, to) + 1
	case h.equals:
		last = m.skipValue(h.stop, to)
	case h.stop < to && m.text(h.stop) == "{":
		last = min(m.past(h.stop), to) - 1
	case m.isCall(h):
		return last + 1
	}
	m.addNamed(functionKind(owner), owner+m.functionName(h), h.name, last)
	return last + 1
}

// isCall reports whether a head that ends with a semicolon is a call: only a name precedes its
// parentheses.
func (m managed) isCall(h head) bool {
	before := m.text(h.name - 1)
	switch before {
	case "", ";", "}", "{", ".", "return", "await", ")":
		return true
	}
	return false
}

// A head is the part of a declaration before its body, in languages where no keyword begins a
// function.
type head struct {
	keyword int // of a type: class, struct, enum, ...; -1 if there is none
	name    int // what precedes the parameters; -1 if there is none
	params  int // the parenthesis that opens the parameters; -1 if there is none
	stop    int // the first of { ; = => after it
	equals  bool
}

// readHead reads the head of the declaration at i.
func (s *scanner) readHead(i, to int, isType func(word string) bool) head {
	h := head{keyword: -1, name: -1, params: -1}
	for j := i; j < to; {
		switch text := s.text(j); {
		case text == "{" || text == ";" || text == "}" || text == "=" || text == "=>":
			h.stop, h.equals = j, text == "=" || text == "=>"
			return h
		case text == "<" && h.params < 0:
			j = max(j+1, s.pastAngle(j))
			continue
		case text == "@" && s.text(j+1) != "interface":
			j = s.pastAnnotation(j)
			continue
		case text == "operator" && h.params < 0:
			j = s.operatorName(&h, j)
			continue
		case text == "(" && h.params < 0 && s.namesFunction(j-1):
			h.name, h.params = j-1, j
		case h.keyword < 0 && h.params < 0 && isType(text):
			h.keyword = j
		}
		j = s.past(j)
	}
	h.stop = to
	return h
}

// namesFunction reports whether a token before a parenthesis can be the name of a function.
func (s *scanner) namesFunction(i int) bool {
	if !s.isName(i) {
		return false
	}
	switch s.text(i) {
	case "if", "for", "while", "switch", "return", "sizeof", "catch", "throw", "noexcept", "alignas", "decltype", "requires",
		"explicit", "static_assert", "__attribute__", "__declspec", "_Alignas", "asm", "__asm__", "typeof", "using", "lock",
		"new", "else", "do", "foreach", "fixed", "synchronized", "try", "assert", "where", "when", "and", "typedef":
		return false
	}
	return true
}

// operatorName reads operator and its symbol as a name, and returns the token of its parameters.
func (s *scanner) operatorName(h *head, i int) int {
	j := i + 1
	if s.text(j) == "(" && s.text(j+1) == ")" {
		j += 2
	}
	for n := 0; j < len(s.tokens) && s.text(j) != "(" && n < 8; n++ {
		switch s.text(j) {
		case ";", "{", "}":
			return j
		}
		j++
	}
	if s.text(j) != "(" {
		return j
	}
	h.name, h.params = i, j
	return s.past(j)
}

// functionName returns the name of the function that a head declares. The name of a destructor
// includes the ~, and that of an operator the operator itself.
func (s *scanner) functionName(h head) string {
	switch {
	case s.text(h.name) == "operator":
		return s.code[s.tokens[h.name].start:s.tokens[h.params-1].end]
	case s.text(h.name-1) == "~":
		return "~" + s.text(h.name)
	}
	return s.text(h.name)
}

// skipValue skips from after an = to the semicolon.
func (s *scanner) skipValue(i, to int) (last int) {
	for i < to && s.text(i) != ";" {
		i = s.past(i)
	}
	return min(i, to-1)
}

// skipMember skips what is neither a function nor a type: a field, a property, an initializer, a
// variable.
func (s *scanner) skipMember(h head, to int) int {
	switch {
	case h.stop >= to:
		return to
	case h.equals:
		return s.skipValue(h.stop, to) + 1
	}
	next := s.past(h.stop)
	if s.text(h.stop) == "{" && s.text(next) == "=" { // a property with an initial value
		return s.skipValue(next, to) + 1
	}
	return next
}
