package imports

import (
	"bytes"
	"errors"
	"strings"
)

// A webTag is an opening tag of a page, with what stands between it and its closing tag if that is no markup.
type webTag struct {
	name       string
	start      int
	attributes map[string]string // those that may matter, by name
	body, end  int
}

// webTags gives the tags of a page in order.
func webTags(src []byte, each func(webTag)) {
	for pos := 0; ; {
		n := bytes.IndexByte(src[pos:], '<')
		if n < 0 {
			return
		}
		pos += n
		switch {
		case bytes.HasPrefix(src[pos:], []byte("<!--")):
			n = bytes.Index(src[pos:], []byte("-->"))
			if n < 0 {
				return
			}
			pos += n
		case pos+1 < len(src) && isLetter(src[pos+1]):
			tag := webTagAt(src, pos)
			each(tag)
			pos = tag.end
		default:
			pos++
		}
	}
}

// webTagAt reads the tag at pos, and finds the end of a script or style.
func webTagAt(src []byte, pos int) webTag {
	end := pos + 1
	for end < len(src) && (jsNameByte(src[end]) || src[end] == '-' || src[end] == ':' || src[end] == '.') {
		end++
	}
	tag := webTag{name: string(src[pos+1 : end]), start: pos, attributes: map[string]string{}}
	body, closed := webAttributes(src, end, tag.attributes)
	tag.body, tag.end = body, body
	if lower := strings.ToLower(tag.name); !closed && (lower == "script" || lower == "style") {
		tag.name = lower
		tag.end = webClosing(src, tag.body, lower)
	}
	return tag
}

// webClosing finds the closing tag of that name, the end of the page if there is none.
func webClosing(src []byte, pos int, name string) int {
	for {
		n := bytes.Index(src[pos:], []byte("</"))
		if n < 0 {
			return len(src)
		}
		pos += n
		if rest := src[pos+2:]; len(rest) >= len(name) && strings.EqualFold(string(rest[:len(name)]), name) {
			return pos
		}
		pos += 2
	}
}

// webAttributes reads the attributes of a tag. It gives where the tag ends, and whether it closes itself.
func webAttributes(src []byte, pos int, into map[string]string) (end int, closed bool) {
	for pos < len(src) {
		switch src[pos] {
		case '>':
			return pos + 1, closed
		case '/':
			closed = true
			pos++
		case ' ', '\t', '\n', '\r', '=':
			pos++
		default:
			start := pos
			for pos < len(src) && !bytes.ContainsRune([]byte(" \t\r\n=/>"), rune(src[pos])) {
				pos++
			}
			name := strings.ToLower(string(src[start:pos]))
			var value string
			value, pos = webValueAt(src, pos)
			closed = false
			switch name {
			case "src", "href", "type":
				into[name] = value
			}
		}
	}
	return pos, closed
}

// webValueAt reads ="x" behind the name of an attribute, if it stands there.
func webValueAt(src []byte, pos int) (value string, end int) {
	rest := bytes.TrimLeft(src[pos:], " \t\r\n")
	if len(rest) < 2 || rest[0] != '=' {
		return "", pos
	}
	rest = bytes.TrimLeft(rest[1:], " \t\r\n")
	from := len(src) - len(rest)
	switch {
	case len(rest) == 0:
		return "", from
	case rest[0] == '"' || rest[0] == '\'':
		n := bytes.IndexByte(rest[1:], rest[0])
		if n < 0 {
			return "", len(src)
		}
		return string(rest[1 : 1+n]), from + n + 2
	case rest[0] == '{':
		return "", from + webBraces(rest)
	}
	n := bytes.IndexAny(rest, " \t\r\n>")
	if n < 0 {
		n = len(rest)
	}
	return string(rest[:n]), from + n
}

// webBraces gives the length of what stands in braces.
func webBraces(src []byte) int {
	depth := 0
	for i, c := range src {
		switch c {
		case '{':
			depth++
		case '}':
			if depth--; depth == 0 {
				return i + 1
			}
		}
	}
	return len(src)
}

// A webPage collects what the parts of a page import.
type webPage struct {
	src   []byte
	specs []spec
	lines webLines
}

func newWebPage(content []byte) *webPage {
	return &webPage{src: content, lines: webLines{src: content}}
}

// part adds what a piece of another language imports, its lines being those of the page.
func (p *webPage) part(start, end int, extract func([]byte) ([]spec, error)) error {
	before := p.lines.of(start) - 1
	specs, err := extract(p.src[start:end])
	for _, s := range specs {
		s.line += before
		p.specs = append(p.specs, s)
	}
	var fault *SyntaxError
	if errors.As(err, &fault) {
		return &SyntaxError{Line: fault.Line + before, Why: fault.Why}
	}
	return err
}

// address adds what an attribute of a tag names.
func (p *webPage) address(tag webTag, attribute string) {
	if text := strings.TrimSpace(tag.attributes[attribute]); text != "" {
		p.specs = append(p.specs, spec{text, p.lines.of(tag.start), htmlLink})
	}
}

// extractHTML reads a page: scripts, links, and what scripts and styles within it import. Whatever stands in a page is
// shown somehow, so there is no error.
func extractHTML(content []byte) ([]spec, error) {
	p := newWebPage(content)
	webTags(content, func(tag webTag) {
		switch tag.name {
		case "link":
			p.address(tag, "href")
		case "script":
			p.address(tag, "src")
			if webScript(tag) {
				_ = p.part(tag.body, tag.end, extractJS)
			}
		case "style":
			_ = p.part(tag.body, tag.end, extractCSS)
		}
	})
	return p.specs, nil
}

// webScript tells whether a script is JavaScript.
func webScript(tag webTag) bool {
	kind := strings.ToLower(tag.attributes["type"])
	return kind == "" || kind == "module" || strings.Contains(kind, "javascript") || strings.Contains(kind, "ts")
}

// extractComponent reads the scripts and styles of a component of Vue or Svelte.
func extractComponent(content []byte) ([]spec, error) {
	return newWebPage(content).component(0)
}

// component reads the scripts and styles behind a place.
func (p *webPage) component(from int) ([]spec, error) {
	var first error
	webTags(p.src[from:], func(tag webTag) {
		extract := extractJS
		switch {
		case tag.name == "style":
			extract = extractCSS
		case tag.name == "template":
			extract = nil
		case tag.name != "script" || !webScript(tag):
			return
		}
		tag.start += from
		p.address(tag, "src")
		if extract == nil {
			return
		}
		if err := p.part(from+tag.body, from+tag.end, extract); err != nil && first == nil {
			first = err
		}
	})
	if first != nil {
		return nil, first
	}
	return p.specs, nil
}

// extractAstro reads the script at the top of a component of Astro, between lines of dashes, and those within it.
func extractAstro(content []byte) ([]spec, error) {
	p := newWebPage(content)
	top := len(content) - len(bytes.TrimLeft(content, " \t\r\n\ufeff"))
	start, end, after := frontMatter(content[top:])
	if after == 0 {
		return p.component(0)
	}
	if err := p.part(top+start, top+end, extractJS); err != nil {
		return nil, err
	}
	return p.component(top + after)
}

// frontMatter finds what stands at the beginning of a page between lines of three dashes: it is content[start:end], and
// the page goes on at after. Without such lines all three are 0.
func frontMatter(content []byte) (start, end, after int) {
	for line := range bytes.Lines(content) {
		mark := string(bytes.TrimRight(bytes.TrimPrefix(line, []byte("\ufeff")), " \t\r\n"))
		switch {
		case start == 0 && mark != "---":
			return 0, 0, 0
		case start == 0:
			start, end = len(line), len(line)
		case mark == "---" || mark == "...":
			return start, end, end + len(line)
		default:
			end += len(line)
		}
	}
	return 0, 0, 0
}
