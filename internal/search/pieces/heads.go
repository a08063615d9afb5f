package pieces

import "strings"

// passed gives the first line after an import, a package clause or a licence that begins on a line; the line itself if
// none does.
func (c *cutter) passed(line, to int) int {
	text := strings.TrimSpace(c.line(line))
	switch {
	case text == "":
		return line
	case c.isLicence(line, text):
		return c.commentEnd(line, to)
	case isImport(text):
		return c.importEnd(line, to, text)
	}
	return line
}

// isLicence tells whether a comment at the top of a file is about who may use it.
func (c *cutter) isLicence(line int, text string) bool {
	if line > 3 || strings.IndexByte("/#*-;<(", text[0]) < 0 {
		return false
	}
	end := c.commentEnd(line, min(c.lines(), line+60))
	lower := strings.ToLower(c.span(line, max(line, end-1)))
	return strings.Contains(lower, "copyright") || strings.Contains(lower, "license") || strings.Contains(lower, "licence")
}

// commentEnd gives the line after a comment that begins on a line.
func (c *cutter) commentEnd(line, to int) int {
	text := strings.TrimSpace(c.line(line))
	closing := ""
	switch {
	case strings.HasPrefix(text, "/*"):
		closing = "*/"
	case strings.HasPrefix(text, "<!--"):
		closing = "-->"
	case strings.HasPrefix(text, "(*"):
		closing = "*)"
	}
	for n := line; n <= to; n++ {
		text := strings.TrimSpace(c.line(n))
		switch {
		case closing != "" && strings.Contains(text, closing):
			return n + 1
		case closing == "" && (text == "" || strings.IndexByte("/#*-;", text[0]) < 0):
			return max(n, line+1)
		}
	}
	return to + 1
}

// isImport tells whether a line only says what a file needs or where it belongs.
func isImport(text string) bool {
	word, rest, spaced := strings.Cut(text, " ")
	switch word {
	case "import", "package", "use", "using", "#include", "require", "require_relative", "#import", "library", "open":
		return spaced || word == "import"
	case "from":
		return strings.Contains(rest, "import")
	case "const", "var", "let":
		return strings.Contains(rest, "= require(")
	case "import(", "#pragma", "#!/bin/sh", "#!/bin/bash", "'use", "\"use":
		return true
	}
	return strings.HasPrefix(text, "#!") || strings.HasPrefix(text, "import{") || strings.HasPrefix(text, "namespace ") && strings.HasSuffix(text, ";")
}

// importEnd gives the line after an import, which may go on over lines in brackets.
func (c *cutter) importEnd(line, to int, text string) int {
	open := strings.LastIndexAny(text, "({")
	if open < 0 || strings.ContainsAny(text[open:], ")}") {
		return line + 1
	}
	for n := line + 1; n <= to && n < line+200; n++ {
		if strings.ContainsAny(c.line(n), ")}") {
			return n + 1
		}
	}
	return line + 1
}
