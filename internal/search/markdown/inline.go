package markdown

import "strings"

// inliner finds links in the text between two offsets.
type inliner struct {
	*scanner
	at, end  int
	brackets []bool // open brackets, and whether each is of an image
	// Brackets before this index contain a link, so they are not links themselves.
	inactive int
	unclosed map[int]bool // lengths of backtick runs that are never closed
	comments bool         // no comment is closed from here on
}

// inline scans text that is neither a code block nor a definition.
func (s *scanner) inline(start, end int) {
	if strings.IndexByte(s.text[start:end], ']') < 0 && strings.IndexByte(s.text[start:end], '<') < 0 {
		return
	}
	p := &inliner{scanner: s, at: start, end: end}
	for p.at < p.end {
		p.step()
	}
}

func (p *inliner) step() {
	switch p.text[p.at] {
	case '\\':
		p.at += 2
	case '`':
		p.at = p.afterCode()
	case '<':
		p.at = p.afterTag()
	case '!':
		p.at++
		if p.at < p.end && p.text[p.at] == '[' && !p.wiki() {
			p.brackets = append(p.brackets, true)
			p.at++
		}
	case '[':
		if p.wiki() {
			return
		}
		p.brackets = append(p.brackets, false)
		p.at++
	case ']':
		p.at++
		p.close()
	default:
		p.at++
	}
}

// wiki reads [[name]], unless it is the text of a link.
func (p *inliner) wiki() bool {
	rest, ok := strings.CutPrefix(p.text[p.at:p.end], "[[")
	if !ok {
		return false
	}
	end := strings.IndexAny(rest, "[]\n")
	if end <= 0 || !strings.HasPrefix(rest[end:], "]]") || strings.HasPrefix(rest[end+2:], "(") {
		return false
	}
	p.OtherLinks = append(p.OtherLinks, Link{Start: p.at + 2, End: p.at + 2 + end, Wiki: true})
	p.at += end + 4
	return true
}

// afterCode returns the offset after a code span, or after backticks that begin none.
func (p *inliner) afterCode() int {
	n := runLength(p.text[p.at:p.end], '`')
	at := p.at + n
	if p.unclosed[n] {
		return at
	}
	if closed := codeEnd(p.text[at:p.end], n); closed >= 0 {
		return at + closed
	}
	if p.unclosed == nil {
		p.unclosed = map[int]bool{}
	}
	p.unclosed[n] = true
	return at
}

// codeEnd returns the end of a code span that began with n backticks, or -1.
func codeEnd(text string, n int) int {
	for at := 0; ; {
		i := strings.IndexByte(text[at:], '`')
		if i < 0 {
			return -1
		}
		at += i
		length := runLength(text[at:], '`')
		at += length
		if length == n {
			return at
		}
	}
}

// close closes a bracket. If a destination follows, it was a link or an image.
func (p *inliner) close() {
	last := len(p.brackets) - 1
	if last < 0 {
		return
	}
	image := p.brackets[last]
	active := image || last >= p.inactive
	p.brackets = p.brackets[:last]
	p.inactive = min(p.inactive, last)
	if !active || p.at >= p.end || p.text[p.at] != '(' {
		return
	}
	link, after, ok := p.resource(p.at + 1)
	if !ok {
		return
	}
	link.Image = image
	p.Links = append(p.Links, link)
	p.at = after
	if !image {
		p.inactive = len(p.brackets) // a link cannot contain another link
	}
}

// resource reads the content of a link's parentheses, starting after the opening one.
func (p *inliner) resource(at int) (l Link, after int, ok bool) {
	at = p.skipBlanks(at, p.end)
	l, at, ok = p.destination(at, p.end)
	if !ok {
		return l, 0, false
	}
	if next := p.skipBlanks(at, p.end); next > at {
		if end, ok := p.title(next, p.end); ok {
			next = p.skipBlanks(end, p.end)
		}
		at = next
	}
	return l, at + 1, at < p.end && p.text[at] == ')'
}

// skipBlanks skips white space, including line ends.
func (s *scanner) skipBlanks(at, end int) int {
	for at < end && strings.IndexByte(" \t\r\n", s.text[at]) >= 0 {
		at++
	}
	return at
}

// maxParens is the maximum nesting depth of parentheses in a destination, as in other parsers.
const maxParens = 32

// destination reads a destination, which may be in angle brackets.
func (s *scanner) destination(at, end int) (l Link, after int, ok bool) {
	if at < end && s.text[at] == '<' {
		for i := at + 1; i < end; i++ {
			switch s.text[i] {
			case '\\':
				i++
			case '\n', '<':
				return l, 0, false
			case '>':
				return Link{Start: at + 1, End: i}, i + 1, true
			}
		}
		return l, 0, false
	}
	depth, i := 0, at
	for ; i < end && s.text[i] > ' ' && s.text[i] != 0x7f; i++ {
		switch s.text[i] {
		case '\\':
			if i+1 < end && s.text[i+1] > ' ' {
				i++
			}
		case '(':
			if depth++; depth > maxParens {
				return l, 0, false
			}
		case ')':
			depth--
		}
		if depth < 0 {
			break
		}
	}
	return Link{Start: at, End: i}, i, depth <= 0
}

// title skips the title of a link.
func (s *scanner) title(at, end int) (after int, ok bool) {
	if at >= end {
		return 0, false
	}
	closing := s.text[at]
	switch closing {
	case '"', '\'':
	case '(':
		closing = ')'
	default:
		return 0, false
	}
	for i := at + 1; i < end; i++ {
		switch c := s.text[i]; {
		case c == '\\':
			i++
		case c == closing:
			return i + 1, true
		case c == '(' && closing == ')':
			return 0, false
		}
	}
	return 0, false
}

// definition reads a reference definition at the start of a paragraph, and returns the offset of
// the next line.
func (s *scanner) definition(at, end int) (after int, ok bool) {
	at = s.skipBlanks(at, end)
	if at+1 >= end || s.text[at] != '[' || s.text[at+1] == '^' { // a footnote is text
		return 0, false
	}
	at++
	label := at
	for at < end && s.text[at] != ']' {
		if s.text[at] == '[' {
			return 0, false
		}
		if s.text[at] == '\\' {
			at++
		}
		at++
	}
	if at+1 >= end || strings.TrimSpace(s.text[label:at]) == "" || s.text[at+1] != ':' {
		return 0, false
	}
	at = s.skipBlanks(at+2, end)
	l, at, ok := s.destination(at, end)
	if !ok || l.End == l.Start && s.text[l.Start-1] != '<' {
		return 0, false
	}
	return s.definitionEnd(l, at, end)
}

// definitionEnd skips a title, and records the definition if nothing else follows.
func (s *scanner) definitionEnd(l Link, at, end int) (after int, ok bool) {
	lineEnds := func(at int) bool {
		at, _ = indent(s.text, at, end, 0)
		return at >= end || s.text[at] == '\n' || s.text[at] == '\r'
	}
	bare := lineEnds(at)
	if next := s.skipBlanks(at, end); next > at {
		if titled, ok := s.title(next, end); ok && lineEnds(titled) {
			at, bare = titled, true
		}
	}
	if !bare {
		return 0, false
	}
	s.Links = append(s.Links, l)
	return s.skipBlanks(at, end), true
}
