package chunk

import (
	"strings"

	"remit/internal/search/outline"
)

// A stretch is a range of lines that belong together.
type stretch struct {
	from, to int
	name     string // of the declaration; empty between declarations
}

// code cuts a file at its declarations, or at its blank lines if the language is unknown.
func (f *file) code() []Chunk {
	symbols := declarations(outline.Outline(f.language, []byte(f.text)), f.lines())
	c := cutter{file: f}
	if len(symbols) == 0 {
		c.paragraphs(1, f.lines(), "")
	} else {
		c.cover(1, f.lines(), "", symbols, 0)
	}
	return f.codeChunks(c.gather())
}

// declarations leaves out values of a few lines, which are more informative together, and symbols
// that are out of order.
func declarations(symbols []outline.Symbol, lines int) []outline.Symbol {
	kept := symbols[:0]
	for _, s := range symbols {
		short := s.End-s.Line < 8
		isValue := s.Kind == "constant" || s.Kind == "variable" || s.Kind == "property" || s.Kind == "field"
		if s.Line >= 1 && s.Line <= s.End && s.End <= lines && (!isValue || !short) {
			kept = append(kept, s)
		}
	}
	return kept
}

func (f *file) codeChunks(stretches []stretch) []Chunk {
	found := make([]Chunk, 0, len(stretches))
	for _, s := range stretches {
		text := strings.TrimRight(f.span(s.from, s.to), " \t\n")
		if len(text) > MaxText {
			text = cutText(text)
		}
		if !saysAnything(text) && (s.name == "" || len(text) > 400) {
			continue
		}
		found = append(found, Chunk{Source: Code, Name: s.name, Text: text, Line: s.from, End: s.to})
	}
	return found
}

// A cutter divides a file into stretches.
type cutter struct {
	*file
	laid []stretch
}

// maxDepth limits the nesting of declarations that are distinguished.
const maxDepth = 6

// cover divides a range of lines into stretches. Each declaration is one stretch; a long
// declaration that contains others is divided further. Lines between declarations get stretches
// with the name of the surrounding declaration.
func (c *cutter) cover(from, to int, around string, symbols []outline.Symbol, depth int) {
	at := from
	for i := 0; i < len(symbols); {
		s := symbols[i]
		inner := i + 1
		for i = inner; i < len(symbols) && symbols[i].Line <= s.End; {
			i++
		}
		end := min(s.End, to)
		if end < at {
			continue
		}
		start := c.begin(max(s.Line, at), at)
		c.between(at, start-1, around)
		if inner == i || depth == maxDepth || c.isShort(start, end) {
			c.lay(start, end, s.Name)
		} else {
			c.cover(start, end, s.Name, symbols[inner:i], depth+1)
		}
		at = end + 1
	}
	c.between(at, to, around)
}

// isShort reports whether a range of lines fits into one window.
func (c *cutter) isShort(from, to int) bool {
	return to-from < maxWindow && c.size(from, to) <= MaxText
}

// between adds the lines between declarations, except imports and licences.
func (c *cutter) between(from, to int, around string) {
	if around != "" {
		c.paragraphs(from, to, around)
		return
	}
	for from <= to {
		first := from
		for from <= to && c.passed(from, to) == from {
			from++
		}
		c.paragraphs(first, from-1, "")
		if from <= to {
			from = c.passed(from, to)
		}
	}
}

// lay adds a stretch, in windows if it is long.
func (c *cutter) lay(from, to int, name string) {
	from, to = c.trim(from, to)
	if from > to {
		return
	}
	if c.isShort(from, to) {
		c.laid = append(c.laid, stretch{from, to, name})
		return
	}
	c.windows(from, to, name)
}

// begin returns the first line of a declaration whose name is on the given line: its comment,
// decorators and preceding header lines belong to it. The result is not before floor.
func (c *cutter) begin(line, floor int) int {
	for line > floor {
		text := strings.TrimSpace(c.line(line - 1))
		if text == "" || !strings.HasSuffix(text, "*/") && !belongsToNext(text) {
			break
		}
		line--
		if strings.HasSuffix(text, "*/") {
			for line > floor && !strings.Contains(c.line(line), "/*") {
				line--
			}
		}
	}
	return line
}

// belongsToNext reports whether a line is part of the declaration on the next one: a comment, or a
// line that ends nothing.
func belongsToNext(text string) bool {
	switch {
	case strings.HasPrefix(text, "//"), strings.HasPrefix(text, "#"), strings.HasPrefix(text, "--"), strings.HasPrefix(text, "@"),
		strings.HasPrefix(text, "*"), strings.HasPrefix(text, "["):
		return !strings.HasPrefix(text, "#include") && !strings.HasPrefix(text, "#endif")
	}
	return strings.IndexByte(";{}(),:", text[len(text)-1]) < 0 && len(text) < 120
}

// passed returns the first line after an import, a package clause or a licence that begins on the
// given line; the line itself if none does.
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

// isLicence reports whether a comment at the top of a file is a licence.
func (c *cutter) isLicence(line int, text string) bool {
	if line > 3 || strings.IndexByte("/#*-;<(", text[0]) < 0 {
		return false
	}
	end := c.commentEnd(line, min(c.lines(), line+60))
	lower := strings.ToLower(c.span(line, max(line, end-1)))
	return strings.Contains(lower, "copyright") || strings.Contains(lower, "license") || strings.Contains(lower, "licence")
}

// commentEnd returns the line after a comment that begins on the given line.
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

// isImport reports whether a line only imports something or names the package.
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

// importEnd returns the line after an import, which may continue over lines in brackets.
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
