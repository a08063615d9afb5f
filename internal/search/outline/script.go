package outline

import "bytes"

// outlineScript outlines JavaScript and TypeScript.
func outlineScript(content []byte) []Symbol {
	s := newScanner("typescript", content)
	s.scripts(0, len(s.tokens))
	return s.found
}

// outlineComponent outlines the scripts in a file that also contains markup.
func outlineComponent(content []byte) []Symbol {
	code := bytes.Repeat([]byte{' '}, len(content))
	keep := func(from, to int) { copy(code[from:to], content[from:to]) }
	for i, c := range content {
		if c == '\n' {
			code[i] = '\n'
		}
	}
	if bytes.HasPrefix(content, []byte("---\n")) { // Astro
		if end := bytes.Index(content[4:], []byte("\n---")); end >= 0 {
			keep(4, 4+end)
		}
	}
	for at := 0; at < len(content); {
		start := bytes.Index(content[at:], []byte("<script"))
		if start < 0 {
			break
		}
		start += at
		open := bytes.IndexByte(content[start:], '>')
		if open < 0 {
			break
		}
		end := bytes.Index(content[start+open:], []byte("</script"))
		if end < 0 {
			break
		}
		at = start + open + end
		keep(start+open+1, max(at, start+open+1))
	}
	return outlineScript(code)
}

// scripts reads statements, at the top of a file or in a namespace.
func (s *scanner) scripts(from, to int) {
	for i := from; i < to; {
		i = max(i+1, s.scriptStatement(i, to))
	}
}

// scriptStatement reads one statement and returns the token after it.
func (s *scanner) scriptStatement(i, to int) int {
	i, exported := s.scriptModifiers(i, to)
	next := s.text(i + 1)
	switch word := s.text(i); {
	case word == "function":
		return s.scriptFunction(i, to, exported)
	case word == "class":
		return s.scriptClass(i, to, exported)
	case (word == "interface" || word == "enum") && s.isName(i+1):
		return s.scriptType(word, i+1, to)
	case word == "type" && s.isName(i+1) && (s.text(i+2) == "=" || s.text(i+2) == "<"):
		last := s.end(i, to)
		s.add("type", "", i+1, last)
		return last + 1
	case (word == "namespace" || word == "module") && (s.isName(i+1) || next == `"`), word == "global" && next == "{":
		return s.scriptNamespace(i, to)
	case word == "const" && next == "enum":
		return s.scriptType("enum", i+2, to)
	case word == "const" || word == "let" || word == "var":
		return s.scriptVariable(i, to, exported)
	case s.isName(i) && (next == "." || next == "="):
		return s.scriptAssignment(i, to)
	}
	return s.end(i, to) + 1
}

// scriptModifiers skips what precedes a declaration.
func (s *scanner) scriptModifiers(i, to int) (at int, exported bool) {
	for i < to {
		switch s.text(i) {
		case "@":
			i = s.pastAnnotation(i)
		case "export", "default":
			exported = true
			i++
		case "declare", "abstract", "async":
			if !s.isName(i + 1) {
				return i, exported
			}
			i++
		default:
			return i, exported
		}
	}
	return i, exported
}

// pastAnnotation skips @a.b(...).
func (s *scanner) pastAnnotation(i int) int {
	i++
	for s.isName(i) && s.text(i+1) == "." {
		i += 2
	}
	i++
	if s.text(i) == "(" {
		return s.past(i)
	}
	return i
}

func (s *scanner) scriptFunction(i, to int, exported bool) int {
	name := i + 1
	if s.text(name) == "*" {
		name++
	}
	params := name
	if s.isName(name) {
		params++
	}
	params = s.pastAngle(params)
	if s.text(params) != "(" {
		return s.end(i, to) + 1
	}
	_, last := s.body(s.past(params), to, true, true)
	switch {
	case s.isName(name):
		s.add("function", "", name, last)
	case exported:
		s.addNamed("function", "default", i, last)
	}
	return last + 1
}

func (s *scanner) scriptClass(i, to int, exported bool) int {
	name, at := s.text(i+1), i+1
	if !s.isName(i+1) || name == "extends" || name == "implements" {
		if !exported {
			return s.end(i, to) + 1
		}
		name, at = "default", i
	}
	open, last := s.body(i+1, to, true, true)
	s.addNamed("class", name, at, last)
	s.within(open, last, func(from, to int) { s.scriptMembers(from, to, cut(name)+".") })
	return last + 1
}

func (s *scanner) scriptType(kind string, name, to int) int {
	_, last := s.body(name+1, to, true, true)
	s.add(kind, "", name, last)
	return last + 1
}

func (s *scanner) scriptNamespace(i, to int) int {
	open, last := s.body(i+1, to, true, false)
	if open < 0 {
		return last + 1
	}
	if s.isName(i+1) && s.text(i+1) != "{" {
		s.addNamed("namespace", s.code[s.tokens[i+1].start:s.tokens[open-1].end], i+1, last)
	}
	s.within(open, last, s.scripts)
	return last + 1
}

// scriptVariable reads a variable declaration: one that holds a function counts as a function, any
// other counts if it is exported.
func (s *scanner) scriptVariable(i, to int, exported bool) int {
	last := s.end(i, to)
	if !s.isName(i + 1) {
		return last + 1
	}
	value := s.valueOf(i+2, last+1)
	switch {
	case s.isFunction(value, last+1):
		s.add("function", "", i+1, last)
	case exported:
		kind := "variable"
		if s.text(i) == "const" {
			kind = "constant"
		}
		s.add(kind, "", i+1, last)
	}
	return last + 1
}

// valueOf returns the token after the = of a declaration, skipping its type.
func (s *scanner) valueOf(i, to int) int {
	for i < to && s.text(i) != "=" {
		i = max(s.past(i), s.pastAngle(i))
	}
	return i + 1
}

// isFunction reports whether a value is a function: function, x =>, (x): T =>, each optionally
// async and generic.
func (s *scanner) isFunction(i, to int) bool {
	if i >= to {
		return false
	}
	if s.text(i) == "async" {
		i++
	}
	if s.text(i) == "function" || s.isName(i) && s.text(i+1) == "=>" {
		return true
	}
	i = s.pastAngle(i)
	if s.text(i) != "(" {
		return false
	}
	i = s.past(i)
	if s.text(i) != ":" {
		return s.text(i) == "=>"
	}
	for i < to && s.text(i) != "=>" && s.text(i) != ";" {
		i = s.past(i)
	}
	return s.text(i) == "=>"
}

// scriptAssignment reads exports.x = function and A.prototype.x = function.
func (s *scanner) scriptAssignment(i, to int) int {
	last := s.end(i, to)
	name := i
	for s.text(name+1) == "." && s.isName(name+2) {
		name += 2
	}
	if s.text(name+1) != "=" || name == i || !s.isFunction(name+2, last+1) {
		return last + 1
	}
	if name-i >= 4 && s.text(name-2) == "prototype" {
		s.add("method", s.text(name-4)+".", name, last)
		return last + 1
	}
	s.add("function", "", name, last)
	return last + 1
}

// scriptMembers reads the members of a class.
func (s *scanner) scriptMembers(from, to int, owner string) {
	for i := from; i < to; {
		i = max(i+1, s.scriptMember(i, to, owner))
	}
}

func (s *scanner) scriptMember(i, to int, owner string) int {
	i = s.memberModifiers(i, to)
	name, sign := i, ""
	if s.text(i) == "#" {
		name, sign = i+1, "#"
	}
	if !s.isName(name) || name >= to {
		return s.end(i, to) + 1
	}
	next := name + 1
	if s.text(next) == "?" || s.text(next) == "!" {
		next++
	}
	next = s.pastAngle(next)
	if s.text(next) == "(" {
		_, last := s.body(s.past(next), to, true, true)
		s.addNamed("method", owner+sign+s.text(name), name, last)
		return last + 1
	}
	last := s.end(i, to)
	if value := s.valueOf(next, last+1); s.isFunction(value, last+1) {
		s.addNamed("method", owner+sign+s.text(name), name, last)
	}
	return last + 1
}

// memberModifiers skips decorators and modifiers. A modifier with nothing after it is the name of a
// member.
func (s *scanner) memberModifiers(i, to int) int {
	for i < to {
		switch s.text(i) {
		case "@":
			i = s.pastAnnotation(i)
		case ";", "*":
			i++
		case "public", "private", "protected", "static", "readonly", "async", "get", "set", "override", "abstract", "declare", "accessor":
			if next := s.text(i + 1); !s.isName(i+1) && next != "#" && next != "*" && next != "[" {
				return i
			}
			i++
		default:
			return i
		}
	}
	return i
}
