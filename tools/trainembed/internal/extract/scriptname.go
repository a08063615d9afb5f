package extract

import "strings"

// declaredName returns the name that a JavaScript or TypeScript declaration declares, or "".
func declaredName(code string) string {
	for range 8 {
		code = strings.TrimLeft(code, " \t\r\n*#")
		if strings.HasPrefix(code, "@") {
			code = afterDecorator(code)
			continue
		}
		end := 0
		for end < len(code) && isName(code[end]) {
			end++
		}
		word := code[:end]
		if !isModifier(word) || end < len(code) && strings.IndexByte("(:?=", code[end]) >= 0 {
			return lastName(code, word, end)
		}
		code = code[end:]
	}
	return ""
}

// lastName returns the last part of a dotted name, as in exports.name = and Type.prototype.name =.
// For a statement it returns "".
func lastName(code, word string, end int) string {
	if isStatement(word) {
		return ""
	}
	for end < len(code) && code[end] == '.' {
		start := end + 1
		end = start
		for end < len(code) && isName(code[end]) {
			end++
		}
		word = code[start:end]
	}
	return word
}

func isStatement(word string) bool {
	switch word {
	case "if", "for", "while", "return", "switch", "import", "throw", "try", "case", "else", "do", "new", "await",
		"delete", "typeof", "require", "describe", "it", "test", "break", "continue":
		return true
	}
	return false
}

func isModifier(word string) bool {
	switch word {
	case "export", "default", "declare", "async", "function", "class", "const", "let", "var", "public", "private",
		"protected", "static", "readonly", "abstract",
		"get", "set", "interface", "type", "enum", "namespace", "override", "accessor", "module":
		return true
	}
	return false
}

// isMember reports whether a declaration is in a class or an interface, judging by its first word.
func isMember(code string) bool {
	word, _, _ := strings.Cut(code, " ")
	switch word {
	case "export", "declare", "function", "class", "const", "let", "var", "interface", "type", "enum", "namespace",
		"module":
		return false
	}
	return !strings.Contains(clip(code, 60), ".")
}

// afterDecorator returns the text after a decorator and its arguments.
func afterDecorator(code string) string {
	at := 1
	for at < len(code) && (isName(code[at]) || code[at] == '.') {
		at++
	}
	if at >= len(code) || code[at] != '(' {
		return code[at:]
	}
	depth := 0
	for ; at < len(code); at++ {
		switch code[at] {
		case '(':
			depth++
		case ')':
			depth--
			if depth == 0 {
				return code[at+1:]
			}
		}
	}
	return ""
}

// lastOwner returns the name of the last class, interface or enum that begins at the start of a
// line in a part of a script, or before if there is none.
func lastOwner(piece, before string) string {
	for line := range strings.SplitSeq(piece, "\n") {
		rest := line
		for _, modifier := range []string{"export ", "default ", "declare ", "abstract "} {
			rest = strings.TrimPrefix(rest, modifier)
		}
		for _, keyword := range []string{"class ", "interface ", "enum ", "type "} {
			if named, ok := strings.CutPrefix(rest, keyword); ok {
				if name := declaredName(named); name != "" && name != "extends" {
					before = name
				}
			}
		}
	}
	return before
}
