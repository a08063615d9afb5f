package extract

import "strings"

// scriptPairs pairs the JSDoc comments of JavaScript and TypeScript with the declarations that
// follow them. It skips minified files.
func scriptPairs(_, text string) []Pair {
	if minified(text) {
		return nil
	}
	var found []Pair
	owner := ""
	for at := 0; ; {
		open := strings.Index(text[at:], "/**")
		if open < 0 {
			return found
		}
		open += at
		size := strings.Index(text[open+3:], "*/")
		if size < 0 {
			return found
		}
		owner = lastOwner(text[at:open], owner)
		after := open + 3 + size + 2
		found = append(found, jsdocPairs(text[open+3:open+3+size], text[after:], owner)...)
		at = after
	}
}

// minified reports whether the lines of a script are longer than people write them.
func minified(text string) bool { return len(text) > 500*(1+strings.Count(text, "\n"))/4 }

// jsdocPairs pairs one comment with the declaration at the start of the text that follows it.
func jsdocPairs(comment, after, owner string) []Pair {
	comment = jsdocText(comment)
	if comment == "" {
		return nil
	}
	code := withoutComments(declaration(after))
	name := declaredName(code)
	if name == "" {
		return nil
	}
	if isMember(code) && owner != "" {
		code = owner + "." + code
	}
	pair, ok := codePair("js", withoutName(comment, name), code)
	if !ok {
		return nil
	}
	if !strings.ContainsAny(code, "({") {
		pair.Kind = "prop"
	}
	return append([]Pair{pair}, docLeads(comment)...)
}

// jsdocText returns the description of a JSDoc comment: its lines without stars, up to the first
// tag. A description may have its own tag.
func jsdocText(comment string) string {
	var lines []string
	for line := range strings.SplitSeq(comment, "\n") {
		line = strings.TrimSpace(strings.TrimLeft(strings.TrimSpace(line), "*"))
		if rest, ok := strings.CutPrefix(line, "@description"); ok {
			line = strings.TrimSpace(rest)
		}
		if hidesComment(line) {
			return ""
		}
		if strings.HasPrefix(line, "@") {
			break
		}
		lines = append(lines, line)
	}
	return strings.TrimSpace(strings.Join(lines, "\n"))
}

// hidesComment reports whether a tag marks a comment that describes no declaration.
func hidesComment(line string) bool {
	for _, tag := range []string{
		"@license", "@licence", "@copyright", "@fileoverview", "@file", "@preserve",
		"@module", "@packageDocumentation", "@inheritdoc", "@inheritDoc",
	} {
		if strings.HasPrefix(line, tag) {
			return true
		}
	}
	return false
}

// declaration returns the declaration at the start of a text: up to its closing brace, its
// semicolon, or the end of what encloses it.
func declaration(text string) string {
	text = strings.TrimLeft(text[:min(len(text), 4*maxB)], " \t\r\n")
	depth, arrow := 0, false
	for at := 0; at < len(text); at++ {
		switch c := text[at]; c {
		case '(', '[', '{':
			depth++
		case ')', ']', '}':
			depth--
			if depth < 0 {
				return text[:at]
			}
			if depth == 0 && c == '}' && endsBlock(text[at+1:], arrow) {
				return text[:at+1]
			}
		case ';', ',':
			if depth == 0 {
				return text[:at]
			}
		case '=':
			arrow = true
		case '"', '\'', '`':
			at = scriptStringEnd(text, at) - 1
		case '/':
			if strings.HasPrefix(text[at:], "/**") && depth == 0 {
				return text[:at]
			}
			at = scriptCommentEnd(text, at) - 1
		}
	}
	return text
}

// withoutComments removes the JSDoc comments on the members of a declaration. They have their own
// pairs, and often repeat the comment above it.
func withoutComments(code string) string {
	var out strings.Builder
	for {
		before, after, ok := strings.Cut(code, "/**")
		out.WriteString(before)
		if !ok {
			return out.String()
		}
		if _, code, ok = strings.Cut(after, "*/"); !ok {
			return out.String()
		}
	}
}

// endsBlock reports whether a closing brace ends the declaration: no type or operator follows it.
func endsBlock(after string, assigned bool) bool {
	after = strings.TrimLeft(after, " \t\r")
	if after == "" || after[0] == '\n' {
		return true
	}
	return !assigned && strings.IndexByte("=.,:&|)[{", after[0]) < 0
}

// scriptStringEnd returns the position after a string. An unclosed string ends with its line, but a
// template does not.
func scriptStringEnd(text string, at int) int {
	quote := text[at]
	for at++; at < len(text); at++ {
		switch c := text[at]; {
		case c == '\\':
			at++
		case c == quote:
			return at + 1
		case c == '\n' && quote != '`':
			return at
		}
	}
	return len(text)
}

// scriptCommentEnd returns the position after a comment, or the next position if the slash begins
// none.
func scriptCommentEnd(text string, at int) int {
	switch {
	case strings.HasPrefix(text[at:], "//"):
		return lineEnd(text, at)
	case strings.HasPrefix(text[at:], "/*"):
		if end := strings.Index(text[at+2:], "*/"); end >= 0 {
			return at + 2 + end + 2
		}
		return len(text)
	}
	return at + 1
}
