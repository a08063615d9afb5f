package outline

import (
	"strings"

	"remit/internal/search/markdown"
)

// outlineMarkdown outlines headings. Each extends to the next one of its level or above.
func outlineMarkdown(content []byte) []Symbol {
	d := markdown.Parse(string(content))
	o := indentedOutline{} // by level
	for _, h := range d.Headings {
		line := d.Line(h.Start)
		o.close(h.Level, line-1)
		o.open = append(o.open, block{symbol: len(o.found), indent: h.Level})
		name := strings.Join(strings.Fields(d.Text[h.Start:h.End]), " ")
		o.found = append(o.found, Symbol{Kind: "heading", Name: name, Line: line, End: line})
	}
	o.close(0, LineCount(content))
	return o.found
}

// outlineCSS outlines the top-level rules of a style sheet.
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

// selector returns the text between two tokens, with single spaces.
func (s *scanner) selector(from, to int) string {
	return strings.Join(strings.Fields(cut(s.code[s.tokens[from].start:s.tokens[to-1].end])), " ")
}
