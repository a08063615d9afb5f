// Package highlight marks the parts of code with classes that a stylesheet colours:
// hl-c comments, hl-s strings, hl-k keywords, hl-n numbers, hl-t types and names of
// fields.
//
// It knows languages by tables and guesses where one would have to parse. Whatever the
// code is, the HTML holds its text and spans, each within a line, and nothing else.
package highlight

import (
	"html/template"
	"strings"

	"remit/internal/frontends/console/markdown"
)

// The classes of spans.
const (
	comment = "hl-c"
	str     = "hl-s"
	keyword = "hl-k"
	number  = "hl-n"
	typed   = "hl-t"
	plain   = ""
)

// Code makes HTML of code in a language, named as people name it after a fence. Code
// of a language that nobody knows has no spans.
func Code(lang, text string) template.HTML {
	p := &painter{text: strings.ToValidUTF8(text, "\ufffd")}
	if scan := scannerOf(strings.ToLower(lang)); scan != nil {
		scan(p)
	}
	p.paint(plain, len(p.text))
	return template.HTML(p.out.String()) //nolint:gosec // the charter of this package
}

// Knows tells whether code of a language gets spans.
func Knows(lang string) bool { return scannerOf(strings.ToLower(lang)) != nil }

// scannerOf finds what reads a language; nil if nothing does.
func scannerOf(lang string) func(*painter) {
	switch lang {
	case "html", "xml", "svg", "vue", "xhtml":
		return (*painter).markup
	case "diff", "patch":
		return (*painter).diff
	case "md", "markdown", "mdx":
		return (*painter).markdown
	}
	if l := languages()[lang]; l != nil {
		return func(p *painter) { p.scan(l) }
	}
	return nil
}

// painter writes code with its spans, from the beginning to the end.
type painter struct {
	text string
	at   int // all before is written
	out  strings.Builder
}

// paint writes the text up to a place, as a span of a class. A span ends with its line,
// so that lines can be taken apart.
func (p *painter) paint(class string, end int) {
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

// mark writes what is left before a place as it is, and then a span.
func (p *painter) mark(class string, start, end int) {
	p.paint(plain, start)
	p.paint(class, end)
}

func (p *painter) escaped(text string) { p.out.WriteString(markdown.Escape(text)) }

// lines calls do with the beginning and the end of each line.
func (p *painter) lines(do func(start, end int)) {
	start := 0
	for line := range strings.Lines(p.text) {
		do(start, start+len(strings.TrimSuffix(line, "\n")))
		start += len(line)
	}
}

func (p *painter) diff() {
	p.lines(func(start, end int) {
		switch line := p.text[start:end]; {
		case line == "":
		case strings.HasPrefix(line, "+++"), strings.HasPrefix(line, "---"), strings.HasPrefix(line, "diff "), strings.HasPrefix(line, "index "):
			p.mark(comment, start, end)
		case line[0] == '@':
			p.mark(typed, start, end)
		case line[0] == '+':
			p.mark(str, start, end)
		case line[0] == '-':
			p.mark(number, start, end)
		}
	})
}

func (p *painter) markdown() {
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
			p.ticks(start, end)
		}
	})
}

// ticks marks what is between backticks in a line.
func (p *painter) ticks(start, end int) {
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
