// Package highlight marks the tokens of code with CSS classes: hl-c comments, hl-s strings, hl-k
// keywords, hl-n numbers, hl-t types and field names.
//
// It recognizes tokens with a table per language and does not parse, so it may guess wrong.
// Whatever the input is, the HTML contains only the escaped text and spans, and no span crosses the
// end of a line.
package highlight

import (
	"html/template"
	"strings"

	"remit/internal/frontends/console/markdown"
)

// The CSS classes of spans.
const (
	comment  = "hl-c"
	str      = "hl-s"
	keyword  = "hl-k"
	number   = "hl-n"
	typeName = "hl-t"
	plain    = ""
)

// Code returns code as HTML. lang is a name as people write it after a code fence. If the language
// is unknown, the result has no spans.
func Code(lang, text string) template.HTML {
	p := &highlighter{text: strings.ToValidUTF8(text, "\ufffd")}
	if scan := scannerOf(strings.ToLower(lang)); scan != nil {
		scan(p)
	}
	p.writeSpan(plain, len(p.text))
	return template.HTML(p.out.String()) //nolint:gosec // see the package comment
}

// Supports reports whether Code highlights a language.
func Supports(lang string) bool { return scannerOf(strings.ToLower(lang)) != nil }

// scannerOf returns the scanner of a language, or nil if there is none.
func scannerOf(lang string) func(*highlighter) {
	switch lang {
	case "html", "xml", "svg", "vue", "xhtml":
		return (*highlighter).markup
	case "diff", "patch":
		return (*highlighter).diff
	case "md", "markdown", "mdx":
		return (*highlighter).markdown
	}
	if l := languages()[lang]; l != nil {
		return func(p *highlighter) { p.scan(l) }
	}
	return nil
}

// highlighter writes code with spans, from start to end.
type highlighter struct {
	text string
	at   int // everything before this position is written
	out  strings.Builder
}

// writeSpan writes the text up to a position as a span of a class. It splits spans at line ends, so
// that each line is valid HTML.
func (p *highlighter) writeSpan(class string, end int) {
	for p.at < end {
		stop, more := end, strings.IndexByte(p.text[p.at:end], '\n')
		if more >= 0 {
			stop = p.at + more
		}
		if part := p.text[p.at:stop]; class == plain || part == "" {
			p.escaped(part)
		} else {
			p.out.WriteString(`<span class="` + class + `">`)
			p.escaped(part)
			p.out.WriteString("</span>")
		}
		if p.at = stop; more >= 0 {
			p.out.WriteByte('\n')
			p.at++
		}
	}
}

// mark writes the text before start without a span, and the text up to end as a span.
func (p *highlighter) mark(class string, start, end int) {
	p.writeSpan(plain, start)
	p.writeSpan(class, end)
}

func (p *highlighter) escaped(text string) { p.out.WriteString(markdown.Escape(text)) }

// lines calls do with the start and the end of each line.
func (p *highlighter) lines(do func(start, end int)) {
	start := 0
	for line := range strings.Lines(p.text) {
		do(start, start+len(strings.TrimSuffix(line, "\n")))
		start += len(line)
	}
}

func (p *highlighter) diff() {
	p.lines(func(start, end int) {
		switch line := p.text[start:end]; {
		case line == "":
		case strings.HasPrefix(line, "+++"), strings.HasPrefix(line, "---"),
			strings.HasPrefix(line, "diff "), strings.HasPrefix(line, "index "):
			p.mark(comment, start, end)
		case line[0] == '@':
			p.mark(typeName, start, end)
		case line[0] == '+':
			p.mark(str, start, end)
		case line[0] == '-':
			p.mark(number, start, end)
		}
	})
}

func (p *highlighter) markdown() {
	fenced := false
	p.lines(func(start, end int) {
		line := strings.TrimLeft(p.text[start:end], " ")
		switch {
		case strings.HasPrefix(line, "```") || strings.HasPrefix(line, "~~~"):
			fenced = !fenced
			p.mark(str, start, end)
		case fenced:
			p.mark(str, start, end)
		case strings.HasPrefix(line, "#"):
			p.mark(keyword, start, end)
		case strings.HasPrefix(line, ">") || strings.HasPrefix(line, "<!--"):
			p.mark(comment, start, end)
		default:
			p.inlineCode(start, end)
		}
	})
}

// inlineCode marks the text between backticks in a line.
func (p *highlighter) inlineCode(start, end int) {
	for start < end {
		open := strings.IndexByte(p.text[start:end], '`')
		if open < 0 {
			return
		}
		open += start
		length := strings.IndexByte(p.text[open+1:end], '`')
		if length < 0 {
			return
		}
		start = open + length + 2
		p.mark(str, open, start)
	}
}
