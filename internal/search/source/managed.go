package source

// outlineManaged outlines Java, C#, Dart and Groovy: types, and methods within them.
func outlineManaged(language string, content []byte) []Symbol {
	m := managed{scanner: newScanner(language, content), language: language}
	m.walk(0, len(m.tokens), "")
	return m.found
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

// isManagedType tells whether a word begins the name of a type or of a namespace.
func isManagedType(word string) bool {
	switch word {
	case "class", "interface", "enum", "record", "struct", "namespace", "mixin", "extension", "trait":
		return true
	}
	return false
}

// declaration takes one member of a file, a namespace or a type, and gives the token after it.
func (m managed) declaration(i, to int, owner string) int {
	for i < to && m.text(i) == "[" { // attributes
		i = m.past(i)
	}
	if i >= to {
		return to
	}
	h := m.readHead(i, to, isManagedType)
	// A record is named like a method, and record is a name elsewhere.
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

// isCall tells whether a head that ends with a semicolon calls something: only a name is before its parentheses.
func (m managed) isCall(h head) bool {
	before := m.text(h.name - 1)
	switch before {
	case "", ";", "}", "{", ".", "return", "await", ")":
		return true
	}
	return false
}
