package markdown

import "strings"

// scanner goes through a text line by line, and looks for links in what is neither code
// nor a comment.
type scanner struct {
	*Document
	text string

	open   bool    // a paragraph is
	start  int     // where it began
	end    int     // of its last line
	within [2]int  // the blockquotes and list items that it is in
	quotes int     // how many blockquotes the line before was in
	lists  []int   // columns where the text of the open list items begins
	around [][]int // lists around each blockquote that is open

	fence fence
	until string // what ends the HTML block that is open; "" if none is
	gap   bool   // the line before is blank
}

// fence is the block of code that is open, if its mark is not 0.
type fence struct {
	mark   byte
	length int
	quotes int
	column int // of the list item that it is in
}

// maxQuotes is how deep blockquotes are told apart.
const maxQuotes = 100

// blocks scans from an offset, which is where a line begins.
func (s *scanner) blocks(from int) {
	for from < len(s.text) {
		end, next := lineEnd(s.text, from)
		s.line(from, end)
		from = next
	}
	s.flush()
}

// lineEnd finds where a line ends, and where the next one begins.
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

// line takes one line off its containers and gives it to what is open.
func (s *scanner) line(at, end int) {
	start := at
	_, column := indent(s.text, at, end, 0)
	at, quotes := s.unquote(at, end)
	if quotes != s.quotes {
		s.enter(quotes, column)
	}
	at, column = indent(s.text, at, end, 0)
	kind, inner := more, quotes > 0 && len(s.around[0]) > 0
	switch {
	case s.inFence(at, end, column):
	case s.until != "":
		s.closeHTML(at, end)
	case at == end:
		s.flush()
		if s.gap = quotes == 0; s.gap {
			return
		}
	default:
		items := s.lists
		s.leaveItems(column)
		inner = inner || quotes == 0 && len(s.lists) > 0
		if kind = s.content(at, end, column); kind == more {
			s.lists = items // a paragraph goes on, and so do the items that it is in
		}
	}
	switch {
	case inner:
		kind = more
	case quotes > 0:
		kind = Quote
	}
	s.keep(kind, start, end)
	s.gap = false
}

// unquote steps over the signs of blockquotes.
func (s *scanner) unquote(at, end int) (after, quotes int) {
	for quotes < maxQuotes {
		i, column := indent(s.text, at, end, 0)
		room := 4
		if len(s.lists) > 0 {
			room += s.lists[len(s.lists)-1]
		}
		if i == end || s.text[i] != '>' || column >= room {
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

// leaveItems ends the list items that what begins at a column is not in.
func (s *scanner) leaveItems(column int) {
	for len(s.lists) > 0 && column < s.lists[len(s.lists)-1] {
		s.lists = s.lists[:len(s.lists)-1]
	}
}

// enter goes into a blockquote that begins at a column, or out of one: all that was open ends, but for a
// paragraph that goes on without its sign, and for the list items around the blockquote.
func (s *scanner) enter(quotes, column int) {
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
		s.around, s.lists = append(s.around, s.lists), nil
	}
	if quotes < s.quotes {
		s.lists, s.around, s.quotes = s.around[quotes], s.around[:quotes], quotes
	}
}

// indent steps over white space and counts its columns.
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

// inFence tells whether a line is code, or the mark that ends it.
func (s *scanner) inFence(at, end, column int) bool {
	f := s.fence
	if f.mark == 0 {
		return false
	}
	if at < end && column < f.column {
		s.fence = fence{} // the list item has ended, and the code with it
		return false
	}
	if n := run(s.text[at:end], f.mark); n >= f.length && strings.TrimSpace(s.text[at+n:end]) == "" && column < f.column+4 {
		s.fence = fence{}
	}
	return true
}

// run is how often a text repeats its first byte, which must be c.
func run(text string, c byte) int {
	n := 0
	for n < len(text) && text[n] == c {
		n++
	}
	return n
}

// content takes a line that is not blank, without its blockquotes, and tells what it begins.
func (s *scanner) content(at, end, column int) BlockKind {
	base := 0
	if len(s.lists) > 0 {
		base = s.lists[len(s.lists)-1]
	}
	if column >= base+4 {
		if s.open {
			s.end = end
			return more
		}
		return Code // by its indent
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
	case text[0] == '|': // a row of a table is a text of its own
		s.flush()
		s.inline(at, end)
		return Table
	case s.open:
		s.end = end
		return more
	}
	s.open, s.start, s.end = true, at, end
	s.within = s.containers()
	return Paragraph
}

// containers tells how many blockquotes and list items are open.
func (s *scanner) containers() [2]int { return [2]int{s.quotes, len(s.lists)} }

func (s *scanner) openFence(text string, column int) bool {
	mark := text[0]
	if mark != '`' && mark != '~' {
		return false
	}
	n := run(text, mark)
	if n < 3 || mark == '`' && strings.IndexByte(text[n:], '`') >= 0 {
		return false
	}
	s.flush()
	s.fence = fence{mark: mark, length: n, quotes: s.quotes, column: column}
	return true
}

// heading takes a line that begins with the signs of a heading.
func (s *scanner) heading(at, end int) bool {
	level := run(s.text[at:end], '#')
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

// underline makes a heading of the paragraph above, if that is in the same blockquotes and list items.
func (s *scanner) underline(text string) bool {
	if !s.open || text[0] != '=' && text[0] != '-' || s.within != s.containers() {
		return false
	}
	if strings.TrimRight(text[run(text, text[0]):], " \t") != "" {
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

// isBreak tells a line across the page from an item of a list.
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

// openHTML takes a line that begins a comment, or a tag whose content is no Markdown.
func (s *scanner) openHTML(at, end int) bool {
	text := s.text[at:end]
	if text[0] != '<' {
		return false
	}
	if strings.HasPrefix(text, "<!--") {
		s.until = "-->"
	}
	for _, name := range []string{"script", "pre", "style", "textarea"} {
		if len(text) > len(name) && strings.EqualFold(text[1:1+len(name)], name) && (len(text) == len(name)+1 || strings.IndexByte(" \t>", text[len(name)+1]) >= 0) {
			s.until = "</" + name + ">"
		}
	}
	if s.until == "" {
		return false
	}
	s.flush()
	s.closeHTML(at, end)
	return true
}

// closeHTML ends the HTML block if this line does.
func (s *scanner) closeHTML(at, end int) {
	if len(s.text[at:end]) >= len(s.until) && strings.Contains(strings.ToLower(s.text[at:end]), s.until) {
		s.until = ""
	}
}

// item begins an item of a list; what follows on the line is its content.
func (s *scanner) item(at, end, column int) bool {
	width := marker(s.text[at:end])
	if width == 0 || s.open && s.within == s.containers() && !interrupts(s.text[at:end], width) {
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

// interrupts tells whether an item may begin right after a line of a paragraph.
func interrupts(text string, width int) bool {
	number := text[:width-1]
	return (number == "" || number == "1") && strings.TrimSpace(text[width:]) != ""
}

// marker is how long the sign of a list item is; 0 if there is none.
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

// flush ends the paragraph that is open.
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
