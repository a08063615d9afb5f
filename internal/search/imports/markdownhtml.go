package imports

import "strings"

// tag goes past a comment, an address in angle brackets, or an HTML tag, and reads the src and href of that.
func (p *markdownParser) tag() {
	if p.has("<!--") {
		p.comment()
		return
	}
	p.at++
	start := p.at
	for p.at < len(p.src) && isMarkdownName(p.src[p.at]) {
		p.at++
	}
	if p.at == start || p.at < len(p.src) && p.src[p.at] == ':' {
		return
	}
	for p.attribute() {
		continue
	}
}

// comment goes past a comment, or past its beginning if it has no end.
func (p *markdownParser) comment() {
	end := -1
	if !p.bare {
		end = strings.Index(p.src[p.at:], "-->")
	}
	if end < 0 {
		p.bare = true
		p.at += len("<!--")
		return
	}
	p.to(p.at + end + len("-->"))
}

func isMarkdownName(c byte) bool {
	return isLetter(c) || isDigit(c) || c == '-' || c == '_' || c == ':' || c == '@'
}

// attribute goes past one attribute of a tag. It tells whether there may be more.
func (p *markdownParser) attribute() bool {
	p.spaces()
	start := p.at
	for p.at < len(p.src) && isMarkdownName(p.src[p.at]) {
		p.at++
	}
	name := p.src[start:p.at]
	if name == "" {
		return false
	}
	p.spaces()
	if !p.has("=") {
		return true
	}
	p.at++
	p.spaces()
	value := p.attributeValue()
	if strings.EqualFold(name, "src") || strings.EqualFold(name, "href") {
		p.add(value, 0)
	}
	return true
}

// spaces goes past white space, but not past a blank line.
func (p *markdownParser) spaces() {
	for p.at < len(p.src) && strings.IndexByte(" \t\r\n", p.src[p.at]) >= 0 {
		if p.src[p.at] == '\n' && endOfBlank(p.src, p.at+1) >= 0 {
			return
		}
		p.to(p.at + 1)
	}
}

// attributeValue reads a value, with or without quotes.
func (p *markdownParser) attributeValue() string {
	if p.at < len(p.src) && (p.src[p.at] == '"' || p.src[p.at] == '\'') {
		end := strings.IndexByte(p.src[p.at+1:min(len(p.src), p.at+2*longestImport)], p.src[p.at])
		if end < 0 {
			return ""
		}
		value := p.src[p.at+1 : p.at+1+end]
		p.to(p.at + end + 2)
		return strings.TrimSpace(value)
	}
	start := p.at
	for p.at < len(p.src) && strings.IndexByte(" \t\r\n<>\"'`", p.src[p.at]) < 0 {
		p.at++
	}
	return p.src[start:p.at]
}
