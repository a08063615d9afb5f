package markdown

import "strings"

// afterTag returns the offset after what an angle bracket begins: a comment, a tag with its links,
// or an autolink. If it begins nothing, it returns the next offset.
func (p *inliner) afterTag() int {
	rest := p.text[p.at:p.end]
	if strings.HasPrefix(rest, "<!--") {
		if p.comments {
			return p.at + 4
		}
		if i := strings.Index(rest, "-->"); i >= 0 {
			return p.at + i + 3
		}
		p.comments = true
		return p.at + 4
	}
	if n := autolink(rest); n > 0 {
		return p.at + n
	}
	t := tag{text: p.text, at: p.at + 1, end: p.end}
	if !t.read() {
		return p.at + 1
	}
	p.keepTag(&t)
	return t.at
}

// autolink returns the length of an address in angle brackets, or 0 if there is none.
func autolink(text string) int {
	i := 1
	for i < len(text) && (isLetter(text[i]) || i > 1 && (isDigit(text[i]) || strings.IndexByte("+.-", text[i]) >= 0)) {
		i++
	}
	if i < 3 || i >= len(text) || text[i] != ':' && text[i] != '@' {
		return 0
	}
	for ; i < len(text); i++ {
		switch c := text[i]; {
		case c == '>':
			return i + 1
		case c <= ' ' || c == '<':
			return 0
		}
	}
	return 0
}

func isLetter(c byte) bool { return c|0x20 >= 'a' && c|0x20 <= 'z' }

func isDigit(c byte) bool { return c >= '0' && c <= '9' }

// attribute is an attribute of a tag, with the offsets of its value.
type attribute struct {
	name       string
	start, end int
}

// tag parses an HTML tag, starting after its opening bracket.
type tag struct {
	text       string
	at, end    int
	name       string
	attributes []attribute
}

// read parses the tag and reports whether it is one.
func (t *tag) read() bool {
	if t.at < t.end && t.text[t.at] == '/' {
		t.at++
	}
	start := t.at
	for t.at < t.end && (isLetter(t.text[t.at]) || t.at > start && (isDigit(t.text[t.at]) || t.text[t.at] == '-' || t.text[t.at] == '.')) {
		t.at++
	}
	if t.at == start {
		return false
	}
	t.name = strings.ToLower(t.text[start:t.at])
	for {
		t.skip()
		if t.at >= t.end {
			return false
		}
		switch t.text[t.at] {
		case '>':
			t.at++
			return true
		case '/':
			t.at++
		default:
			if !t.attribute() {
				return false
			}
		}
	}
}

func (t *tag) skip() {
	for t.at < t.end && strings.IndexByte(" \t\r\n", t.text[t.at]) >= 0 {
		t.at++
	}
}

func (t *tag) attribute() bool {
	start := t.at
	for t.at < t.end && strings.IndexByte(" \t\r\n\"'<>/=`", t.text[t.at]) < 0 {
		t.at++
	}
	if t.at == start {
		return false
	}
	a := attribute{name: strings.ToLower(t.text[start:t.at])}
	t.skip()
	if t.at >= t.end || t.text[t.at] != '=' {
		return true // it has no value
	}
	t.at++
	t.skip()
	if !t.value(&a) {
		return false
	}
	t.attributes = append(t.attributes, a)
	return true
}

func (t *tag) value(a *attribute) bool {
	if t.at >= t.end {
		return false
	}
	if quote := t.text[t.at]; quote == '"' || quote == '\'' {
		i := strings.IndexByte(t.text[t.at+1:t.end], quote)
		if i < 0 {
			return false
		}
		a.start, a.end = t.at+1, t.at+1+i
		t.at = a.end + 1
		return true
	}
	a.start = t.at
	for t.at < t.end && strings.IndexByte(" \t\r\n\"'<>=`", t.text[t.at]) < 0 {
		t.at++
	}
	a.end = t.at
	return a.end > a.start
}

// keepTag records the links and anchors of a tag.
func (p *inliner) keepTag(t *tag) {
	for _, a := range t.attributes {
		link := Link{Start: a.start, End: a.end}
		switch {
		case a.name == "id", a.name == "name" && t.name == "a":
			p.anchors[strings.ToLower(p.text[a.start:a.end])] = true
		case a.name == "href" && t.name == "a":
			p.Links = append(p.Links, link)
		case a.name == "src" && (t.name == "img" || t.name == "video" || t.name == "audio" || t.name == "source"), a.name == "poster" && t.name == "video":
			link.Image = true
			p.Links = append(p.Links, link)
		case a.name == "href" || a.name == "src":
			p.OtherLinks = append(p.OtherLinks, link)
		}
	}
}
