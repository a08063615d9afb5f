package chunk

import (
	"strings"
	"unicode/utf8"

	"remit/internal/search/markdown"
)

// A blockKind is the kind of a block in a document.
type blockKind int

const (
	heading blockKind = iota
	paragraph
	item    // of a list, with its nested content
	listing // code
	table
	remark // a comment or a horizontal rule
)

// A block is a part of a document that is not divided further.
type block struct {
	kind     blockKind
	from, to int
	level    int    // of a heading
	title    string // of a heading
	taken    bool   // it is a discovery
}

// blocks returns the blocks of a document from a line on.
func (f *file) blocks(from int) []block {
	if f.language != "restructuredtext" && f.language != "asciidoc" {
		return f.markdownBlocks()
	}
	r := blockReader{file: f, at: from}
	for r.at <= f.lines() {
		r.step()
	}
	return r.found
}

// markdownBlocks returns the blocks of a Markdown document. It separates lines that look like list
// items from paragraphs.
func (f *file) markdownBlocks() []block {
	kinds := map[markdown.BlockKind]blockKind{
		markdown.Title: heading, markdown.Item: item, markdown.Code: listing, markdown.Table: table, markdown.Remark: remark,
		markdown.Paragraph: paragraph, markdown.Quote: paragraph,
	}
	var found []block
	d := markdown.Parse(f.text)
	for _, b := range d.Blocks {
		next := block{kind: kinds[b.Kind], from: d.Line(b.Start), to: d.Line(b.End)}
		if next.kind == heading && !f.isTitle(&next, f.text[b.Heading.Start:b.Heading.End]) {
			next.kind = paragraph
		}
		if next.kind == heading {
			next.level = b.Heading.Level
		}
		for n := next.from; next.kind != heading && n <= next.to; n++ {
			if !strings.HasPrefix(strings.TrimSpace(f.line(n)), "• ") {
				continue
			}
			if n > next.from {
				before := next
				before.to, next.from = n-1, n
				found = append(found, before)
			}
			next.kind = item
		}
		found = append(found, next)
	}
	return found
}

// isTitle reports whether a Markdown heading is a title, and sets it. An empty one, one as long as
// a paragraph, and underlined lines in plain text are not titles.
func (f *file) isTitle(b *block, text string) bool {
	text = strings.TrimSpace(text)
	if f.language == "text" && b.to > b.from && (b.to > b.from+1 || len(strings.TrimSpace(f.line(b.to))) < utf8.RuneCountInString(text)) {
		return false
	}
	b.title = plainTitle(strings.Join(strings.Fields(text), " "))
	return b.title != "" && (len(text) <= maxName || b.to == b.from)
}

// A blockReader divides a reStructuredText or AsciiDoc document into blocks.
type blockReader struct {
	*file
	at     int
	found  []block
	levels string // the characters that underline headings, in order of first use
}

func (r *blockReader) step() {
	line := r.line(r.at)
	text := strings.TrimSpace(line)
	switch {
	case text == "":
		r.at++
	case fenceOf(text) != "" && r.language == "asciidoc":
		r.add(listing, r.fenceEnd(r.at))
	case r.language == "asciidoc" && isRuleOf(text, "-.=") && len(text) >= 4:
		r.add(listing, r.delimited(text))
	case r.marked(text, line):
	case r.underlined(text):
	case isRuleOf(text, "-*_=~^\"'`#+") && len(text) >= 3:
		r.add(remark, r.at)
	case bulletOf(text) > 0:
		r.add(item, r.itemEnd(indent(line)))
	case text[0] == '|':
		r.add(table, r.while(func(text string) bool { return text[0] == '|' }))
	case indent(line) >= 4:
		r.add(listing, r.while(func(string) bool { return true }))
	default:
		r.add(paragraph, r.while(func(text string) bool { return !r.interrupts(text) }))
	}
}

// add adds a block up to a line, and continues after it.
func (r *blockReader) add(kind blockKind, to int) {
	r.found = append(r.found, block{kind: kind, from: r.at, to: to})
	r.at = to + 1
}

// while returns the last line before a blank one up to which all lines after the first satisfy
// want.
func (r *blockReader) while(want func(text string) bool) int {
	n := r.at
	for n < r.lines() {
		text := strings.TrimSpace(r.line(n + 1))
		if text == "" || !want(text) {
			break
		}
		n++
	}
	return n
}

// interrupts reports whether a line ends a paragraph.
func (r *blockReader) interrupts(text string) bool {
	return fenceOf(text) != "" || r.headingLevel(text) > 0 || bulletOf(text) > 0 && !startsNumber(text) || text[0] == '|'
}

func startsNumber(text string) bool { return isDigit(text[0]) && !strings.HasPrefix(text, "1") }

// fenceOf returns the code fence with which a line begins, or "".
func fenceOf(text string) string {
	if !strings.HasPrefix(text, "```") && !strings.HasPrefix(text, "~~~") {
		return ""
	}
	rest := strings.TrimLeft(text, text[:1])
	if text[0] == '`' && strings.Contains(rest, "`") {
		return "" // inline code
	}
	return text[:len(text)-len(rest)]
}

// fenceEnd returns the last line of the fenced code that begins on a line.
func (r *blockReader) fenceEnd(line int) int {
	fence := fenceOf(strings.TrimSpace(r.line(line)))
	for n := line + 1; n <= r.lines(); n++ {
		if text := strings.TrimSpace(r.line(n)); strings.HasPrefix(text, fence) && strings.Trim(text, fence[:1]) == "" {
			return n
		}
	}
	return r.lines()
}

// delimited returns the next line identical to this one, or this one if there is none.
func (r *blockReader) delimited(text string) int {
	for n := r.at + 1; n <= min(r.lines(), r.at+500); n++ {
		if strings.TrimSpace(r.line(n)) == text {
			return n
		}
	}
	return r.at
}

// headingLevel returns the level of a heading with leading marks, as in AsciiDoc, or 0.
func (r *blockReader) headingLevel(text string) int {
	rest := strings.TrimLeft(text, "=")
	level := len(text) - len(rest)
	if r.language != "asciidoc" || level > 6 || level == 0 || rest == "" || rest[0] != ' ' && rest[0] != '\t' {
		return 0
	}
	return level
}

func (r *blockReader) marked(text, line string) bool {
	level := r.headingLevel(text)
	if level == 0 || indent(line) > 3 {
		return false
	}
	r.found = append(r.found, block{kind: heading, from: r.at, to: r.at, level: level, title: plainTitle(strings.Trim(text, "= \t"))})
	r.at++
	return true
}

// underlined reads an underlined heading.
func (r *blockReader) underlined(text string) bool {
	if r.at >= r.lines() || isRuleOf(text, "-*_=~^\"'`#+.") || bulletOf(text) > 0 || text[0] == '|' || text[0] == '>' || len(text) > maxName {
		return false
	}
	under := strings.TrimSpace(r.line(r.at + 1))
	marks := "=-"
	if r.language == "restructuredtext" {
		marks = "=-~^\"'`#*+.:"
	}
	if len(under) < 2 || len(under) < utf8.RuneCountInString(text) || !isRuleOf(under, marks) {
		return false
	}
	r.found = append(r.found, block{kind: heading, from: r.at, to: r.at + 1, level: r.underlineLevel(under[0]), title: plainTitle(text)})
	r.at += 2
	return true
}

func (r *blockReader) underlineLevel(mark byte) int {
	if r.language != "restructuredtext" {
		return 1 + strings.IndexByte("=-", mark)
	}
	if strings.IndexByte(r.levels, mark) < 0 {
		r.levels += string(mark)
	}
	return 1 + strings.IndexByte(r.levels, mark)
}

// isRuleOf reports whether a text consists of one of these characters only.
func isRuleOf(text, marks string) bool {
	return text != "" && strings.IndexByte(marks, text[0]) >= 0 && strings.Trim(text, text[:1]) == ""
}

// bulletOf returns the length of a list marker including the blank after it, or 0.
func bulletOf(text string) int {
	if len(text) >= 2 && (text[0] == '-' || text[0] == '*' || text[0] == '+') && (text[1] == ' ' || text[1] == '\t') {
		return 2
	}
	if strings.HasPrefix(text, "• ") {
		return len("• ")
	}
	n := 0
	for n < len(text) && n < 4 && isDigit(text[n]) {
		n++
	}
	if n > 0 && n+1 < len(text) && (text[n] == '.' || text[n] == ')') && text[n+1] == ' ' {
		return n + 2
	}
	return 0
}

// itemEnd returns the last line of the list item that begins here: lines indented more belong to
// it, also after a blank line.
func (r *blockReader) itemEnd(own int) int {
	last := r.at
	for n := r.at + 1; n <= r.lines(); n++ {
		line := r.line(n)
		text := strings.TrimSpace(line)
		switch deeper := indent(line) > own; {
		case text == "":
			continue
		case fenceOf(text) != "" && deeper:
			n = r.fenceEnd(n)
		case deeper:
		case last < n-1, bulletOf(text) > 0, r.interrupts(text), isRuleOf(text, "-=*"):
			return last
		}
		last = n
	}
	return last
}

// plainTitle removes emphasis, links and anchors from a heading. It limits the length to that of a
// name, since each part of a section repeats it.
func plainTitle(title string) string {
	title = strings.NewReplacer("**", "", "__", "", "`", "").Replace(title)
	if i := strings.Index(title, "]("); i >= 0 && strings.HasPrefix(title, "[") {
		title = title[1:i]
	}
	if i := strings.Index(title, " {#"); i > 0 {
		title = title[:i]
	}
	return cutName(strings.TrimSpace(title))
}
