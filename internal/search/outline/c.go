package outline

import "slices"

// outlineC outlines C and C++: types and functions, including those that are only declared.
func outlineC(content []byte) []Symbol {
	c := &cScanner{scanner: newScanner("cpp", content), declared: map[int]bool{}}
	c.walk(0, len(c.tokens), "")
	return c.withoutRepeats()
}

type cScanner struct {
	*scanner
	declared map[int]bool // indexes of found symbols without a body
}

// withoutRepeats leaves out declarations that are also defined in the file.
func (c *cScanner) withoutRepeats() []Symbol {
	defined := map[string]bool{}
	for i, symbol := range c.found {
		if !c.declared[i] {
			defined[symbol.Name] = true
		}
	}
	i := -1
	return slices.DeleteFunc(c.found, func(symbol Symbol) bool {
		i++
		return c.declared[i] && defined[symbol.Name]
	})
}

func (c *cScanner) walk(from, to int, owner string) {
	for i := from; i < to; {
		i = max(i+1, c.declaration(i, to, owner))
	}
}

func isCType(word string) bool {
	switch word {
	case "class", "struct", "union", "enum", "namespace":
		return true
	}
	return false
}

// declaration reads one declaration and returns the token after it.
func (c *cScanner) declaration(i, to int, owner string) int {
	i = c.prelude(i, to)
	if i >= to {
		return to
	}
	switch c.text(i) {
	case "extern":
		if c.text(i+1) == `"` && c.text(i+3) == "{" {
			c.within(i+3, c.past(i+3)-1, func(from, to int) { c.walk(from, to, owner) })
			return c.past(i + 3)
		}
	case "typedef":
		return c.typedef(i, to)
	case "using":
		return c.using(i, to)
	}
	h := c.readHead(i, to, isCType)
	if h.keyword >= 0 && (h.params < 0 || h.keyword < h.name) && c.opensType(h) {
		return c.declareType(h, to, owner)
	}
	if h.name >= 0 && h.stop < to && c.isTyped(i, h, owner) {
		return c.declareFunction(h, to, owner)
	}
	return c.skipMember(h, to)
}

// prelude skips templates, attributes and access labels.
func (c *cScanner) prelude(i, to int) int {
	for i < to {
		switch text := c.text(i); {
		case text == "template" && c.text(i+1) == "<":
			i = max(i+2, c.pastAngle(i+1))
		case text == "[":
			i = c.past(i)
		case (text == "public" || text == "private" || text == "protected" || text == "signals" || text == "slots") && c.text(i+1) == ":":
			i += 2
		default:
			return i
		}
	}
	return i
}

// opensType reports whether a head is that of a type with a body.
func (c *cScanner) opensType(h head) bool {
	return c.text(h.stop) == "{" && h.params < 0
}

func (c *cScanner) declareType(h head, to int, owner string) int {
	word, name := c.text(h.keyword), h.keyword+1
	if word == "enum" && (c.text(name) == "class" || c.text(name) == "struct") {
		name++
	}
	// Macros and attributes may precede the name: it is the last one before : or {.
	last := name
	for last < h.stop && c.text(last) != ":" && c.text(last) != "<" && c.text(last) != "final" {
		if c.isName(last) {
			name = last
		}
		last = c.past(last)
	}
	end := min(c.past(h.stop), to) - 1
	inner := owner
	if c.isName(name) && name < h.stop && word != "namespace" {
		c.add(word, owner, name, end)
		inner = cut(owner+c.text(name)) + "."
	}
	if word != "enum" {
		c.within(h.stop, end, func(from, to int) { c.walk(from, to, inner) })
	}
	if word == "namespace" {
		return end + 1
	}
	return c.skipValue(end+1, to) + 1 // variables of the type
}

// typedef reads the last name, or that of a function pointer.
func (c *cScanner) typedef(i, to int) int {
	name, last := -1, i
	for last < to && c.text(last) != ";" {
		if c.isName(last) {
			name = last
		}
		if c.text(last) == "(" && c.text(last+1) == "*" && c.isName(last+2) {
			name = last + 2
			last = c.skipValue(last, to)
			break
		}
		last = c.past(last)
	}
	last = min(last, to-1)
	if name > i {
		c.add("type", "", name, last)
		if keyword := c.text(i + 1); isCType(keyword) { // the kind is that of the keyword
			c.found[len(c.found)-1].Kind = keyword
			c.found[len(c.found)-1].Line = c.line(i)
		}
	}
	return last + 1
}

func (c *cScanner) using(i, to int) int {
	last := c.skipValue(i, to)
	if c.isName(i+1) && c.text(i+2) == "=" {
		c.add("type", "", i+1, last)
	}
	return last + 1
}

// isTyped reports whether a function has something that distinguishes it from a macro: a type
// before its name, a class that it belongs to, or the name of the surrounding class.
func (c *cScanner) isTyped(i int, h head, owner string) bool {
	name := h.name
	if c.text(name-1) == "~" {
		name--
	}
	before := c.text(name - 1)
	if name > i && before != "." && before != "->" {
		return before == "::" || before == "*" || before == "&" || before == ">" || before == "]" || c.isName(name-1)
	}
	return owner != ""
}

func (c *cScanner) declareFunction(h head, to int, owner string) int {
	name, kind := c.functionName(h), "function"
	for at := c.classOf(h.name); at >= 0 && len(name) < maxName; at = c.classOf(at) {
		name, kind = c.text(at)+"."+name, "method"
	}
	if owner != "" {
		name, kind = owner+name, "method"
	}
	open, last := c.functionBody(h, to)
	if open < 0 && c.text(h.stop) == "=" && !c.isPure(h.stop) {
		return last + 1 // a variable
	}
	if open < 0 {
		c.declared[len(c.found)] = true
	}
	c.addNamed(kind, name, h.name, last)
	return last + 1
}

// classOf returns the token before b in A::b, A::~b or A<T>::b, or -1 if there is none.
func (c *cScanner) classOf(name int) int {
	if c.text(name-1) == "~" {
		name--
	}
	if c.text(name-1) != "::" {
		return -1
	}
	at, depth := name-2, 0
	for n := 0; n < maxLookahead; n++ {
		switch c.text(at) {
		case ">":
			depth++
		case "<":
			depth--
		default:
			if depth == 0 && c.isName(at) {
				return at
			}
		}
		if depth <= 0 && c.text(at) != "<" {
			break
		}
		at--
	}
	return -1
}

// functionBody finds the body, after the initializers of a constructor.
func (c *cScanner) functionBody(h head, to int) (open, last int) {
	i := h.stop
	for c.text(i) == "{" && c.isName(i-1) && c.initializes(h, i) {
		i = c.past(i)
		for i < to && c.text(i) != "{" && c.text(i) != ";" && c.text(i) != "}" {
			i = c.past(i)
		}
	}
	if i < to && c.text(i) == "{" {
		return i, min(c.past(i), to) - 1
	}
	return -1, c.skipValue(i, to)
}

// initializes reports whether a brace initializes a member: a colon is between it and the
// parameters.
func (c *cScanner) initializes(h head, i int) bool {
	for j := c.past(h.params); j < i && j < h.params+maxLookahead*10; j = c.past(j) {
		if c.text(j) == ":" {
			return true
		}
	}
	return false
}

// isPure reports whether an = after the parameters is one of = 0, = default and = delete.
func (c *cScanner) isPure(i int) bool {
	next := c.text(i + 1)
	return next == "0" || next == "default" || next == "delete"
}
