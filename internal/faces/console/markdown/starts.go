package markdown

import (
	"strings"
)

// begin opens the blocks that a line begins, one in another, and gives the innermost.
// It is nil if the line has nothing more in it.
func (p *parser) begin(c *cursor, container *block) *block {
	depth := 0
	for b := container; b != nil; b = b.parent {
		depth++
	}
	for container.kind != code && container.kind != markup {
		lazy := p.tip.kind == paragraph && !p.tip.closed
		if c.indent() >= tabStop {
			if !lazy && !c.blank() && container.kind != paragraph {
				c.skip(tabStop)
				return p.add(container, &block{kind: code})
			}
			return container
		}
		next, done := p.beginOne(c, container, depth < deepest*2)
		if done || next == nil {
			return next
		}
		if next == container {
			return container
		}
		container = next
		depth++
	}
	return container
}

// beginOne opens one block; it gives the container itself if the line begins none.
func (p *parser) beginOne(c *cursor, container *block, mayNest bool) (next *block, done bool) {
	text := c.text()
	if text == "" {
		return container, false
	}
	switch {
	case text[0] == '>' && mayNest:
		next = p.add(container, &block{kind: quote})
		takeQuote(c)
		return next, false
	case text[0] == '#' && p.beginHeading(text, container):
		return nil, true
	case text[0] == '`' || text[0] == '~':
		if f, info, ok := beginsFence(text); ok {
			f.indent = c.indent()
			p.add(container, &block{kind: code, fence: f, info: info})
			return nil, true
		}
	case text[0] == '<':
		if until, ok := beginsMarkup(text, container.kind == paragraph); ok {
			return p.add(container, &block{kind: markup, until: until}), true
		}
	}
	if container.kind == paragraph && (text[0] == '=' || text[0] == '-') && p.underline(text, container) {
		return nil, true
	}
	if isRule(text) {
		p.close(p.add(container, &block{kind: rule}))
		return nil, true
	}
	if mayNest {
		return p.beginItem(c, container), false
	}
	return container, false
}

func (p *parser) beginHeading(text string, container *block) bool {
	rest := strings.TrimLeft(text, "#")
	level := len(text) - len(rest)
	if level > 6 || rest != "" && rest[0] != ' ' && rest[0] != '\t' {
		return false
	}
	rest = strings.Trim(rest, " \t")
	if cut := strings.TrimRight(rest, "#"); strings.TrimRight(cut, " \t") != cut || cut == "" {
		rest = strings.TrimRight(cut, " \t") // what closes it
	}
	b := p.add(container, &block{kind: heading, level: level, lines: []string{rest}})
	p.close(b)
	return true
}

func beginsFence(text string) (f fence, info string, ok bool) {
	rest := strings.TrimLeft(text, text[:1])
	f = fence{mark: text[0], length: len(text) - len(rest)}
	if f.length < 3 || f.mark == '`' && strings.IndexByte(rest, '`') >= 0 {
		return f, "", false
	}
	return f, strings.Trim(rest, " \t"), true
}

// underline makes a heading of the paragraph above a line of = or -.
func (p *parser) underline(text string, b *block) bool {
	if b.closed || strings.Trim(strings.TrimRight(text, " \t"), text[:1]) != "" {
		return false
	}
	p.define(b)
	if len(b.lines) == 0 {
		return false
	}
	b.kind, b.level = heading, 1
	if text[0] == '-' {
		b.level = 2
	}
	p.closeDownTo(b)
	p.close(b)
	return true
}

// isRule tells whether a line is three or more of *, - or _ and nothing else.
func isRule(text string) bool {
	mark := text[0]
	if mark != '*' && mark != '-' && mark != '_' {
		return false
	}
	n := 0
	for _, b := range []byte(text) {
		switch b {
		case mark:
			n++
		case ' ', '\t':
		default:
			return false
		}
	}
	return n >= 3
}

// beginItem opens an item, and the list it belongs to. It gives the container if the
// line begins none.
func (p *parser) beginItem(c *cursor, container *block) *block {
	m, length, ok := parseMarker(c.text(), container.kind == paragraph)
	if !ok {
		return container
	}
	m.width = c.indent() + length
	c.skipAll()
	c.take(length)
	if after := c.indent(); after >= 1 && after <= tabStop && !c.blank() {
		m.width += after
		c.skip(after)
	} else {
		m.width++
		c.skip(1)
	}
	if container.kind != list || !container.marker.sameList(m) {
		container = p.add(container, &block{kind: list, marker: m})
	}
	return p.add(container, &block{kind: item, marker: m})
}

// parseMarker reads what begins an item. One that interrupts a paragraph must have text,
// and the number 1.
func parseMarker(text string, interrupts bool) (m marker, length int, ok bool) {
	switch {
	case text[0] == '-' || text[0] == '+' || text[0] == '*':
		m, length = marker{bullet: text[0]}, 1
	case text[0] >= '0' && text[0] <= '9':
		for length < len(text) && text[length] >= '0' && text[length] <= '9' && length < 10 {
			m.start = m.start*10 + int(text[length]-'0')
			length++
		}
		if length > 9 || length == len(text) || text[length] != '.' && text[length] != ')' || interrupts && m.start != 1 {
			return m, 0, false
		}
		m.bullet, m.ordered = text[length], true
		length++
	default:
		return m, 0, false
	}
	after := text[length:]
	if after != "" && after[0] != ' ' && after[0] != '\t' || interrupts && strings.Trim(after, " \t") == "" {
		return m, 0, false
	}
	return m, length, true
}
