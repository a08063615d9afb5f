package extract

import "strings"

// structuredPairs pairs the headings of reStructuredText, or of plain text with underlined
// headings, with their sections. A text without headings has no pairs.
func structuredPairs(_, text string) []Pair {
	r := structured{lines: strings.Split(strings.ReplaceAll(text, "\t", "        "), "\n")}
	for r.at < len(r.lines) {
		r.step()
	}
	if r.marks == "" {
		return nil
	}
	return r.page.pairs()
}

// structured parses blocks of lines.
type structured struct {
	page  page
	lines []string
	at    int
	marks string // the underline characters so far, in the order of their levels
	code  bool   // the next indented block is code
}

// step parses one block.
func (r *structured) step() {
	line := strings.TrimRight(r.lines[r.at], " \r")
	switch bare := strings.TrimLeft(line, " "); {
	case bare == "":
		r.at++
	case r.isHeading(line):
		r.heading(line)
	case strings.HasPrefix(bare, ".. "):
		r.directive(bare, len(line)-len(bare))
	case r.code && len(bare) < len(line):
		r.page.add(sample, 0, strings.Join(r.indented(0), "\n"))
		r.code = false
	case isItem(bare):
		r.text(item, strings.TrimLeft(bare, "*-+#0123456789.) "))
	case r.isTerm(line, bare):
		r.at++
		r.page.add(term, 0, plain(bare))
	case bare[0] == '+' || bare[0] == '|' || isRule(bare):
		r.at++
	default:
		r.code = false
		r.text(paragraph, bare)
	}
}

// isHeading reports whether a line is underlined, or is the line above such a heading.
func (r *structured) isHeading(line string) bool {
	if isRule(line) && r.at+2 < len(r.lines) {
		return strings.TrimRight(r.lines[r.at+2], " \r") == line && strings.TrimSpace(r.lines[r.at+1]) != ""
	}
	if r.at+1 >= len(r.lines) || line[0] == ' ' {
		return false
	}
	under := strings.TrimRight(r.lines[r.at+1], " \r")
	return isRule(under) && len(under)+3 >= len(line) && len(under) <= len(line)+40
}

func (r *structured) heading(line string) {
	if isRule(line) {
		r.at++
		line = strings.TrimSpace(r.lines[r.at])
	}
	mark := r.lines[r.at+1][:1]
	level := strings.Index(r.marks, mark)
	if level < 0 && len(r.marks) < 6 {
		level = len(r.marks)
		r.marks += mark
	}
	r.page.add(heading, level+1, plain(line))
	r.at += 2
}

// isRule reports whether a line consists of three or more of the same punctuation mark.
func isRule(line string) bool {
	return len(line) >= 3 && strings.IndexByte("=-~^\"'`#*+:.", line[0]) >= 0 && strings.Trim(line, line[:1]) == ""
}

// directive skips a directive with its indented content. Notes and warnings are read like other
// text.
func (r *structured) directive(bare string, indent int) {
	name, argument, ok := strings.Cut(bare[3:], "::")
	if ok && isRemark(name) {
		r.lines[r.at] = strings.Repeat(" ", indent+3) + strings.TrimSpace(argument)
		if strings.TrimSpace(argument) == "" {
			r.at++
		}
		return
	}
	r.at++
	body := r.indented(indent)
	if ok && describes(name) && len(body) > 0 {
		r.page.add(term, 0, plain(argument))
		r.page.add(paragraph, 0, plain(withoutTags(firstParagraph(strings.Join(withoutOptions(body), "\n")))))
	}
}

// withoutOptions removes the options of a directive, which begin with a colon.
func withoutOptions(body []string) []string {
	for len(body) > 0 && (strings.TrimSpace(body[0]) == "" || strings.HasPrefix(strings.TrimSpace(body[0]), ":")) {
		body = body[1:]
	}
	return body
}

func isRemark(name string) bool {
	switch name {
	case "note", "warning", "tip", "important", "caution", "hint", "danger", "attention", "admonition",
		"versionadded", "versionchanged":
		return true
	}
	return false
}

// describes reports whether a directive describes the thing that it names.
func describes(name string) bool {
	name = name[strings.LastIndexByte(name, ':')+1:]
	switch name {
	case "function", "class", "method", "attribute", "data", "option", "setting", "envvar", "exception", "module",
		"type", "macro", "member", "confval", "program", "templatefilter", "templatetag",
		"describe", "classmethod", "staticmethod", "property", "command", "variable", "prop_tgt":
		return true
	}
	return false
}

// indented returns the lines with a deeper indentation, with the blank ones among them.
func (r *structured) indented(than int) []string {
	start := r.at
	for r.at < len(r.lines) {
		line := r.lines[r.at]
		if bare := strings.TrimLeft(line, " \r"); bare != "" && len(line)-len(bare) <= than {
			break
		}
		r.at++
	}
	return r.lines[start:r.at]
}

// isTerm reports whether a line is the term in a list of definitions: the next line has a deeper
// indentation, and the line before is blank.
func (r *structured) isTerm(line, bare string) bool {
	if r.at+1 >= len(r.lines) || strings.HasSuffix(bare, ":") || r.at > 0 && strings.TrimSpace(r.lines[r.at-1]) != "" {
		return false
	}
	next := strings.TrimRight(r.lines[r.at+1], " \r")
	inner := strings.TrimLeft(next, " ")
	return inner != "" && len(next)-len(inner) > len(line)-len(bare)
}

// text reads lines up to a blank one as one block. Two colons at its end announce code.
func (r *structured) text(kind blockKind, first string) {
	lines := []string{first}
	for r.at++; r.at < len(r.lines); r.at++ {
		bare := strings.TrimSpace(r.lines[r.at])
		if bare == "" || isItem(bare) || strings.HasPrefix(bare, ".. ") {
			break
		}
		lines = append(lines, bare)
	}
	text := strings.Join(lines, " ")
	r.code = strings.HasSuffix(text, "::")
	if !strings.HasPrefix(text, ":") {
		r.page.add(kind, 0, strings.ReplaceAll(plain(text), "*", ""))
	}
}
