package source

import "strings"

// outlineMarkdown outlines headings. Each reaches to the next one of its level or above.
func outlineMarkdown(content []byte) []Symbol {
	m := markdownOutline{}
	last := eachLine(content, func(text string, number int) bool {
		m.line(strings.TrimRight(text, "\r\n"), number)
		return true
	})
	m.close(0, last)
	return m.found
}

type markdownOutline struct {
	indentedOutline        // by level
	fence           string // what closes the code that is being passed
	before          string // the line before, if it may be a heading that is underlined
}

func (m *markdownOutline) line(text string, number int) {
	trimmed := strings.TrimSpace(text)
	before := m.before
	m.before = ""
	switch {
	case m.fence != "":
		if strings.HasPrefix(trimmed, m.fence) && strings.Trim(trimmed, m.fence[:1]) == "" {
			m.fence = ""
		}
	case number == 1 && (trimmed == "---" || trimmed == "+++"):
		m.fence = trimmed
	case strings.HasPrefix(trimmed, "```") || strings.HasPrefix(trimmed, "~~~"):
		m.fence = trimmed[:len(trimmed)-len(strings.TrimLeft(trimmed, trimmed[:1]))]
	case strings.HasPrefix(text, "    ") || strings.HasPrefix(text, "\t"):
	case strings.HasPrefix(trimmed, "#"):
		m.hashes(trimmed, number)
	case before != "" && trimmed != "" && (strings.Trim(trimmed, "=") == "" || strings.Trim(trimmed, "-") == ""):
		level := 1
		if trimmed[0] == '-' {
			level = 2
		}
		m.heading(before, level, number-1)
	case trimmed != "" && !strings.ContainsAny(trimmed[:1], "->|*+"):
		m.before = trimmed
	}
}

func (m *markdownOutline) hashes(trimmed string, number int) {
	name := strings.TrimLeft(trimmed, "#")
	level := len(trimmed) - len(name)
	if level > 6 || name != "" && name[0] != ' ' && name[0] != '\t' {
		return
	}
	name = strings.TrimSpace(name)
	if cut := strings.TrimRight(name, "#"); cut == "" || strings.HasSuffix(cut, " ") {
		name = strings.TrimSpace(cut)
	}
	m.heading(name, level, number)
}

func (m *markdownOutline) heading(name string, level, number int) {
	m.close(level, number-1)
	m.open = append(m.open, block{symbol: len(m.found), indent: level})
	m.found = append(m.found, Symbol{Kind: "heading", Name: name, Line: number, End: number})
}

// outlineCSS outlines the rules at the top of a style sheet.
func outlineCSS(content []byte) []Symbol {
	s := newScanner("scss", content)
	for i, start := 0, 0; i < len(s.tokens); {
		next := s.past(i)
		switch s.text(i) {
		case "{":
			if i > start {
				s.addNamed("rule", s.selector(start, i), start, next-1)
			}
			start = next
		case ";", "}":
			start = next
		}
		i = next
	}
	return s.found
}

// selector is the text between two tokens, with single spaces.
func (s *scanner) selector(from, to int) string {
	return strings.Join(strings.Fields(cut(s.code[s.tokens[from].start:s.tokens[to-1].end])), " ")
}
