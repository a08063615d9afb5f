package markdown

import "strings"

// scanner reads a text line by line, and finds links outside of code and comments.
type scanner struct {
	*Document
	text string

	open        bool    // a paragraph is open
	start       int     // its start
	end         int     // end of its last line
	paragraphIn [2]int  // number of blockquotes and list items that it is in
	quotes      int     // number of blockquotes that the previous line was in
	lists       []int   // columns at which the text of the open list items begins
	outerLists  [][]int // lists around each open blockquote

	fence      fence
	htmlEnd    string // what ends the open HTML block; "" if none is open
	afterBlank bool   // the previous line is blank
}

// fence is the open block of code. Its mark is 0 if there is none.
type fence struct {
	mark   byte
	length int
	quotes int
	column int // column of the list item that it is in
}

// maxQuotes is the maximum nesting depth of blockquotes. Deeper ones are not distinguished.
const maxQuotes = 100

// blocks scans from an offset, which must be the start of a line.
func (s *scanner) blocks(from int) {
	for from < len(s.text) {
		end, next := lineEnd(s.text, from)
		s.line(from, end)
		from = next
	}
	s.flush()
}

// lineEnd returns the end of a line and the start of the next one.
func lineEnd(text string, from int) (end, next int) {
	i := strings.IndexByte(text[from:], '\n')
	if i < 0 {
		return len(text), len(text)
	}
	end, next = from+i, from+i+1
	if end > from && text[end-1] == '\r' {
		end--
	}
	return end, next
}

// line strips the blockquote markers of a line and adds it to what is open.
func (s *scanner) line(at, end int) {
	start := at
	_, column := indent(s.text, at, end, 0)
	at, quotes := s.unquote(at, end)
	if quotes != s.quotes {
		s.setQuotes(quotes, column)
	}
	at, column = indent(s.text, at, end, 0)
	kind, inner := continuation, quotes > 0 && len(s.outerLists[0]) > 0
	switch {
	case s.inFence(at, end, column):
	case s.htmlEnd != "":
		s.closeHTML(at, end)
	case at == end:
		s.flush()
		if s.afterBlank = quotes == 0; s.afterBlank {
			return
		}
	default:
		items := s.lists
		s.leaveItems(column)
		inner = inner || quotes == 0 && len(s.lists) > 0
		if kind = s.content(at, end, column); kind == continuation {
			s.lists = items // the paragraph continues, and so do the items that it is in
		}
	}
	switch {
	case inner:
		kind = continuation
	case quotes > 0:
		kind = Quote
	}
	s.addLine(kind, start, end)
	s.afterBlank = false
}

// unquote skips the markers of blockquotes.
func (s *scanner) unquote(at, end int) (after, quotes int) {
	for quotes < maxQuotes {
		i, column := indent(s.text, at, end, 0)
		limit := 4
		if len(s.lists) > 0 {
			limit += s.lists[len(s.lists)-1]
		}
		if i == end || s.text[i] != '>' || column >= limit {
			break
		}
		at = i + 1
		quotes++
		if at < end && s.text[at] == ' ' {
			at++
		}
	}
	return at, quotes
}

// leaveItems closes the list items that do not contain text at this column.
func (s *scanner) leaveItems(column int) {
	for len(s.lists) > 0 && column < s.lists[len(s.lists)-1] {
		s.lists = s.lists[:len(s.lists)-1]
	}
}

// setQuotes enters a blockquote that begins at a column, or leaves one. It closes everything that
// is open, except for a paragraph that continues without its marker, and for the list items around
// the blockquote.
func (s *scanner) setQuotes(quotes, column int) {
	if quotes > s.quotes || !s.open {
		s.flush()
	}
	if s.fence.mark != 0 && quotes < s.fence.quotes {
		s.fence = fence{}
	}
	if quotes > s.quotes {
		s.leaveItems(column)
	}
	for ; s.quotes < quotes; s.quotes++ {
		s.outerLists, s.lists = append(s.outerLists, s.lists), nil
	}
	if quotes < s.quotes {
		s.lists, s.outerLists, s.quotes = s.outerLists[quotes], s.outerLists[:quotes], quotes
	}
}

// indent skips white space and counts its columns.
func indent(text string, at, end, column int) (after, columns int) {
	for ; at < end; at++ {
		switch text[at] {
		case ' ':
			column++
		case '\t':
			column += 4 - column%4
		default:
			return at, column
		}
	}
	return at, column
}

// inFence reports whether a line is code in a fence, or the marker that ends it.
func (s *scanner) inFence(at, end, column int) bool {
	f := s.fence
	if f.mark == 0 {
		return false
	}
	if at < end && column < f.column {
		s.fence = fence{} // the list item has ended, and the code with it
		return false
	}
	if n := runLength(s.text[at:end], f.mark); n >= f.length && strings.TrimSpace(s.text[at+n:end]) == "" && column < f.column+4 {
		s.fence = fence{}
	}
	return true
}

// runLength returns how many times c is repeated at the start of text.
func runLength(text string, c byte) int {
	n := 0
	for n < len(text) && text[n] == c {
		n++
	}
	return n
}

// content reads a line that is not blank, without its blockquote markers, and returns the kind of
// block that it begins.
func (s *scanner) content(at, end, column int) BlockKind {
	base := 0
	if len(s.lists) > 0 {
		base = s.lists[len(s.lists)-1]
	}
	if column >= base+4 {
		if s.open {
			s.end = end
			return continuation
		}
		return Code // indented code
	}
	switch text := s.text[at:end]; {
	case s.openFence(text, base):
		return Code
	case s.heading(at, end):
		return Title
	case s.underline(text):
		return underlined
	case isBreak(text):
		s.flush()
		return Remark
	case s.openHTML(at, end):
		if strings.HasPrefix(text, "<!--") {
			return Remark
		}
		return Paragraph
	case s.item(at, end, column):
		return Item
	case text[0] == '|': // each row of a table is a text of its own
		s.flush()
		s.inline(at, end)
		return Table
	case s.open:
		s.end = end
		return continuation
	}
	s.open, s.start, s.end = true, at, end
	s.paragraphIn = s.containers()
	return Paragraph
}

// containers returns the number of open blockquotes and list items.
func (s *scanner) containers() [2]int { return [2]int{s.quotes, len(s.lists)} }

func (s *scanner) openFence(text string, column int) bool {
	mark := text[0]
	if mark != '`' && mark != '~' {
		return false
	}
	n := runLength(text, mark)
	if n < 3 || mark == '`' && strings.IndexByte(text[n:], '`') >= 0 {
		return false
	}
	s.flush()
	s.fence = fence{mark: mark, length: n, quotes: s.quotes, column: column}
	return true
}

// heading reads a line that begins with the marker of a heading.
func (s *scanner) heading(at, end int) bool {
	level := runLength(s.text[at:end], '#')
	if level < 1 || level > 6 || at+level < end && s.text[at+level] != ' ' && s.text[at+level] != '\t' {
		return false
	}
	s.flush()
	start := at + level
	text := strings.TrimRight(s.text[start:end], " \t")
	if closed := strings.TrimRight(text, "#"); closed == "" || strings.HasSuffix(closed, " ") || strings.HasSuffix(closed, "\t") {
		text = closed
	}
	s.addHeading(level, start, start+len(text))
	s.inline(start, end)
	return true
}

// underline turns the paragraph above into a heading, if that is in the same blockquotes and list
// items.
func (s *scanner) underline(text string) bool {
	if !s.open || text[0] != '=' && text[0] != '-' || s.paragraphIn != s.containers() {
		return false
	}
	if strings.TrimRight(text[runLength(text, text[0]):], " \t") != "" {
		return false
	}
	level := 1
	if text[0] == '-' {
		level = 2
	}
	start, end := s.start, s.end
	s.flush()
	s.addHeading(level, start, end)
	return true
}

// isBreak reports whether a line is a thematic break and not a list item.
func isBreak(text string) bool {
	mark, n := text[0], 0
	if mark != '-' && mark != '*' && mark != '_' {
		return false
	}
	for i := range len(text) {
		switch text[i] {
		case mark:
			n++
		case ' ', '\t':
		default:
			return false
		}
	}
	return n >= 3
}

// openHTML reads a line that begins a comment, or a tag whose content is not Markdown.
func (s *scanner) openHTML(at, end int) bool {
	text := s.text[at:end]
	if text[0] != '<' {
		return false
	}
	if strings.HasPrefix(text, "<!--") {
		s.htmlEnd = "-->"
	}
	for _, name := range []string{"script", "pre", "style", "textarea"} {
		if len(text) > len(name) && strings.EqualFold(text[1:1+len(name)], name) && (len(text) == len(name)+1 || strings.IndexByte(" \t>", text[len(name)+1]) >= 0) {
			s.htmlEnd = "</" + name + ">"
		}
	}
	if s.htmlEnd == "" {
		return false
	}
	s.flush()
	s.closeHTML(at, end)
	return true
}

// closeHTML ends the HTML block if this line contains its end.
func (s *scanner) closeHTML(at, end int) {
	if len(s.text[at:end]) >= len(s.htmlEnd) && strings.Contains(strings.ToLower(s.text[at:end]), s.htmlEnd) {
		s.htmlEnd = ""
	}
}

// item begins a list item. The rest of the line is its content.
func (s *scanner) item(at, end, column int) bool {
	width := marker(s.text[at:end])
	if width == 0 || s.open && s.paragraphIn == s.containers() && !interrupts(s.text[at:end], width) {
		return false
	}
	s.flush()
	after, inner := indent(s.text, at+width, end, column+width)
	if after == end || inner > column+width+4 {
		s.lists = append(s.lists, column+width+1) // empty so far, or it begins with code
		return true
	}
	s.lists = append(s.lists, inner)
	s.content(after, end, inner)
	return true
}

// interrupts reports whether an item may directly follow a line of a paragraph.
func interrupts(text string, width int) bool {
	number := text[:width-1]
	return (number == "" || number == "1") && strings.TrimSpace(text[width:]) != ""
}

// marker returns the length of a list item's marker, or 0 if there is none.
func marker(text string) int {
	n := 0
	switch {
	case strings.IndexByte("-+*", text[0]) >= 0:
		n = 1
	default:
		for n < len(text) && n < 9 && text[n] >= '0' && text[n] <= '9' {
			n++
		}
		if n == 0 || n == len(text) || text[n] != '.' && text[n] != ')' {
			return 0
		}
		n++
	}
	if n < len(text) && text[n] != ' ' && text[n] != '\t' {
		return 0
	}
	return n
}

// flush ends the open paragraph.
func (s *scanner) flush() {
	if !s.open {
		return
	}
	s.open = false
	start := s.start
	for start < s.end {
		after, ok := s.definition(start, s.end)
		if !ok {
			break
		}
		start = after
	}
	s.inline(start, s.end)
}
