package imports

import "strings"

// markdownWiki is [[name]].
const markdownWiki kind = 1

// extractMarkdown reads links, images, definitions of references, wiki links, and the src and href of HTML tags in a
// Markdown file. Code, comments and front matter have none.
func extractMarkdown(content []byte) ([]spec, error) {
	p := markdownParser{src: string(maskMarkdown(content)), line: 1}
	for p.at < len(p.src) && len(p.specs) < mostImports {
		p.piece()
	}
	return p.specs, nil
}

// A markdownParser goes through a text without blocks of code, once.
type markdownParser struct {
	src     string
	at      int
	line    int
	open    int     // brackets that are open in this paragraph
	alone   [65]int // by length of a run of backticks: up to where there is no other
	bare    bool    // no comment ends after this
	started int     // where the line began
	specList
}

// to moves on to a place, counting lines.
func (p *markdownParser) to(at int) {
	at = min(at, len(p.src))
	for p.at < at {
		next := strings.IndexByte(p.src[p.at:at], '\n')
		if next < 0 {
			break
		}
		p.at += next + 1
		p.line, p.started = p.line+1, p.at
	}
	p.at = at
}

func (p *markdownParser) has(prefix string) bool { return strings.HasPrefix(p.src[p.at:], prefix) }

func (p *markdownParser) add(text string, k kind) {
	p.specList.add(text, p.line, k)
}

// piece goes past one piece of the text.
func (p *markdownParser) piece() {
	switch p.src[p.at] {
	case '\n':
		p.to(p.at + 1)
		if endOfBlank(p.src, p.at) >= 0 {
			p.open = 0
		}
	case '\\':
		p.to(p.at + 2)
	case '`':
		p.code()
	case '<':
		p.tag()
	case '[':
		p.bracket()
	case ']':
		p.at++
		if p.open > 0 {
			p.open--
			p.link()
		}
	default:
		next := strings.IndexAny(p.src[p.at:], "\n\\`<[]")
		if next < 0 {
			next = len(p.src)
		}
		p.to(p.at + next)
	}
}

// endOfBlank gives the end of the line that begins at a place if it is blank, or -1.
func endOfBlank(text string, at int) int {
	for ; at < len(text); at++ {
		switch text[at] {
		case '\n':
			return at
		case ' ', '\t', '\r':
		default:
			return -1
		}
	}
	return at
}

// code goes past a code span, or past backticks that begin none.
func (p *markdownParser) code() {
	length := runLength(p.src[p.at:], '`')
	p.to(p.at + length)
	if length >= len(p.alone) || p.at < p.alone[length] {
		return
	}
	for at := p.at; at < len(p.src); {
		switch p.src[at] {
		case '`':
			run := runLength(p.src[at:], '`')
			at += run
			if run == length {
				p.to(at)
				return
			}
		case '\n':
			at++
			if endOfBlank(p.src, at) >= 0 {
				p.alone[length] = at
				return
			}
		default:
			at++
		}
	}
	p.alone[length] = len(p.src)
}

func runLength(text string, c byte) int {
	n := 0
	for n < len(text) && text[n] == c {
		n++
	}
	return n
}

// bracket goes past a wiki link, the definition of a reference, or a bracket that begins something else.
func (p *markdownParser) bracket() {
	if p.has("[[") && p.wiki() {
		return
	}
	if strings.Trim(p.src[p.started:p.at], " \t>") == "" && !p.has("[^") && p.definition() {
		return
	}
	p.at++
	p.open++
}

// wiki reads [[name]], unless it is the text of a link.
func (p *markdownParser) wiki() bool {
	rest := p.src[p.at+2:]
	end := strings.IndexAny(rest, "[]\n")
	if end <= 0 || !strings.HasPrefix(rest[end:], "]]") || strings.HasPrefix(rest[end+2:], "(") {
		return false
	}
	p.add(rest[:end], markdownWiki)
	p.at += end + 4
	return true
}

// definition reads [label]: destination.
func (p *markdownParser) definition() bool {
	rest := p.src[p.at+1:]
	end := strings.IndexAny(rest[:min(len(rest), longestImport)], "[]")
	if end <= 0 || !strings.HasPrefix(rest[end:], "]:") {
		return false
	}
	text, _, ok := destination(rest[end+2:], false)
	if ok {
		p.add(text, 0)
		p.to(p.at + end + 3)
	}
	return ok
}

// link reads what follows the text of a link: (destination "title").
func (p *markdownParser) link() {
	if !p.has("(") {
		return
	}
	text, after, ok := destination(p.src[p.at+1:], true)
	if ok {
		p.add(text, 0)
		p.to(p.at + 1 + after)
	}
}

// destination reads the destination at the beginning of a text, and says where it ends. In a link a parenthesis ends it,
// unless it was opened in it, and nothing but a title may follow.
func destination(text string, link bool) (found string, after int, ok bool) {
	start := 0
	for start < len(text) && strings.IndexByte(" \t\r\n", text[start]) >= 0 && start < longestImport {
		start++
	}
	if strings.HasPrefix(text[start:], "<") {
		end := strings.IndexAny(text[start+1:min(len(text), start+longestImport)], "<>\n")
		if end < 0 || text[start+1+end] != '>' {
			return "", 0, false
		}
		found, after = text[start+1:start+1+end], start+end+2
	} else {
		after = start + bareDestination(text[start:], link)
		found = text[start:after]
	}
	rest := strings.TrimLeft(text[after:min(len(text), after+longestImport)], " \t\r\n")
	ends := !link || rest != "" && strings.IndexByte(`)"'(`, rest[0]) >= 0
	return found, after, ends && found != ""
}

// bareDestination gives the length of a destination without angle brackets.
func bareDestination(text string, link bool) int {
	depth := 0
	for i := 0; i < len(text) && i < longestImport; i++ {
		switch c := text[i]; {
		case c <= ' ':
			return i
		case c == '\\' && i+1 < len(text) && text[i+1] > ' ':
			i++
		case c == '(' && link:
			depth++
		case c == ')' && link:
			if depth--; depth < 0 {
				return i
			}
		}
	}
	return min(len(text), longestImport)
}
