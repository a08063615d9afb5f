package imports

import (
	"bytes"
	"slices"
	"strings"
)

// maskMarkdown gives a copy of a text in which blocks of code and front matter are spaces. Lines stay where they are.
func maskMarkdown(content []byte) []byte {
	masked := slices.Clone(content)
	_, _, at := frontMatter(content)
	blankOut(masked[:at])
	m := markdownMask{blank: true}
	for line := range bytes.Lines(content[at:]) {
		if m.code(string(line)) {
			blankOut(masked[at : at+len(line)])
		}
		at += len(line)
	}
	return masked
}

func blankOut(text []byte) {
	for i, c := range text {
		if c != '\n' {
			text[i] = ' '
		}
	}
}

// A markdownMask knows whether a line is code, from the lines before.
type markdownMask struct {
	fence  string // what began the fenced block that the line is in
	quotes int    // how many > stood before it
	blank  bool   // the line before was blank
	list   bool   // within a list, where indented lines are text
	indent bool   // the line before was code by its indent
}

// code tells whether a line is part of a block of code.
func (m *markdownMask) code(line string) bool {
	text := strings.TrimRight(line, " \t\r\n")
	rest, quotes := unquoted(text)
	if m.fence != "" && quotes >= m.quotes {
		if run := strings.TrimLeft(rest, " \t"); strings.HasPrefix(run, m.fence) && strings.Trim(run, m.fence[:1]) == "" {
			m.fence = ""
		}
		return true
	}
	m.fence = ""
	blank := m.blank
	m.blank = strings.TrimSpace(rest) == ""
	if m.blank {
		return false
	}
	item := isMarkdownItem(rest)
	indented := strings.HasPrefix(rest, "    ") || strings.HasPrefix(rest, "\t")
	if indented && !m.list && (blank || m.indent) {
		m.indent = true
		return true
	}
	m.indent = false
	if m.fence = fenceIn(rest); m.fence != "" {
		m.quotes = quotes
	}
	m.list = item || m.list && (!blank || rest[0] == ' ' || rest[0] == '\t')
	return m.fence != ""
}

// unquoted takes the marks of quotations off a line, and counts them.
func unquoted(line string) (rest string, quotes int) {
	for {
		trimmed := strings.TrimLeft(line, " ")
		if len(line)-len(trimmed) > 3 || !strings.HasPrefix(trimmed, ">") {
			return line, quotes
		}
		line, quotes = strings.TrimPrefix(trimmed[1:], " "), quotes+1
	}
}

// fenceIn gives the backticks or tildes that begin a fenced block, if one begins in a line, also as an item of a list.
func fenceIn(line string) string {
	text := strings.TrimLeft(line, " \t")
	for isMarkdownItem(text) {
		_, after, _ := strings.Cut(text, " ")
		text = strings.TrimLeft(after, " \t")
	}
	if !strings.HasPrefix(text, "```") && !strings.HasPrefix(text, "~~~") {
		return ""
	}
	n := runLength(text, text[0])
	if text[0] == '`' && strings.Contains(text[n:], "`") {
		return ""
	}
	return text[:n]
}

// isMarkdownItem tells whether an item of a list begins with a line.
func isMarkdownItem(line string) bool {
	text := strings.TrimLeft(line, " \t")
	digits := 0
	for digits < len(text) && digits < 9 && isDigit(text[digits]) {
		digits++
	}
	rest := text[digits:]
	if digits > 0 {
		return strings.HasPrefix(rest, ". ") || strings.HasPrefix(rest, ") ")
	}
	return strings.HasPrefix(rest, "- ") || strings.HasPrefix(rest, "* ") || strings.HasPrefix(rest, "+ ")
}
