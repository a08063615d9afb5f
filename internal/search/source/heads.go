package source

// A head is what a declaration says before its body, in languages where no keyword begins a function.
type head struct {
	keyword int // of a type: class, struct, enum, ...; -1 without
	name    int // what stands before the parameters; -1 without
	params  int // the parenthesis that opens the parameters; -1 without
	stop    int // the first of { ; = => behind it
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

// namesFunction tells whether a token before a parenthesis can be the name of a function.
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

// operatorName takes operator and its sign as a name, and gives the token of its parameters.
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

// functionName is the name of a function as a head has it: with the ~ of a destructor, and all of an operator.
func (s *scanner) functionName(h head) string {
	switch {
	case s.text(h.name) == "operator":
		return s.code[s.tokens[h.name].start:s.tokens[h.params-1].end]
	case s.text(h.name-1) == "~":
		return "~" + s.text(h.name)
	}
	return s.text(h.name)
}

// skipValue passes what is after an = up to the semicolon.
func (s *scanner) skipValue(i, to int) (last int) {
	for i < to && s.text(i) != ";" {
		i = s.past(i)
	}
	return min(i, to-1)
}

// skipMember passes what is no function and no type: a field, a property, an initializer, a variable.
func (s *scanner) skipMember(h head, to int) int {
	switch {
	case h.stop >= to:
		return to
	case h.equals:
		return s.skipValue(h.stop, to) + 1
	}
	next := s.past(h.stop)
	if s.text(h.stop) == "{" && s.text(next) == "=" { // a property with a first value
		return s.skipValue(next, to) + 1
	}
	return next
}
