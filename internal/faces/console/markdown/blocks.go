package markdown

import "strings"

// kind is what a block is.
type kind uint8

const (
	document kind = iota
	quote
	list
	item
	paragraph
	heading
	code
	markup // HTML
	rule
	table
)

// block is a part of a text: one that holds blocks, or one that holds lines.
type block struct {
	kind     kind
	parent   *block
	children []*block
	lines    []string
	closed   bool
	blankEnd bool // a blank line comes after it

	level  int    // of a heading
	info   string // of code: what follows the fence
	fence  fence
	until  string // of markup: what ends it; "" is a blank line
	marker marker // of a list and an item
	tight  bool   // of a list: its paragraphs stand close
	rows   [][]string
	align  []string // of the columns of a table
}

// fence is what begins and ends code; its mark is 0 if the code is indented.
type fence struct {
	mark           byte
	length, indent int
}

// marker is what begins an item.
type marker struct {
	bullet  byte // - + * or, of ordered lists, . and )
	ordered bool
	start   int
	width   int // columns up to the text of the item
}

func (m marker) sameList(o marker) bool { return m.bullet == o.bullet && m.ordered == o.ordered }

// deepest is how deep quotes and lists may lie in each other. Deeper ones are text.
const deepest = 32

// parser makes blocks of lines.
type parser struct {
	document   *block
	tip        *block // the innermost open block
	references map[string]reference
}

func parse(source string) *parser {
	p := &parser{document: &block{kind: document}, references: map[string]reference{}}
	p.tip = p.document
	for line := range strings.Lines(source) {
		p.line(strings.TrimSuffix(line, "\n"))
	}
	for p.tip != nil {
		p.close(p.tip)
	}
	return p
}

// line adds a line to the blocks: it goes on with the open ones as far as it fits, then
// begins new ones, and what is left of it is text.
func (p *parser) line(text string) {
	c := &cursor{line: text}
	container, all, done := p.match(c)
	if done {
		return
	}
	last := p.tip
	matched := container
	if container.kind != code && container.kind != markup {
		container = p.begin(c, container)
	}
	if container == nil {
		return // a line that is a block of its own
	}
	if last == p.tip && !all && container == matched && !c.blank() && p.tip.kind == paragraph {
		p.tip.lines = append(p.tip.lines, c.text()) // a lazy one
		return
	}
	p.closeDownTo(container)
	p.noteBlank(container, c.blank())
	p.addText(c, container)
}

// match follows the open blocks as far as the line goes on with them. done tells that
// nothing of the line is left.
func (p *parser) match(c *cursor) (container *block, all, done bool) {
	container = p.document
	for len(container.children) > 0 {
		next := container.children[len(container.children)-1]
		if next.closed {
			break
		}
		goesOn, done := p.goesOn(c, next)
		if done {
			return nil, false, true
		}
		if !goesOn {
			return container, false, false
		}
		container = next
	}
	return container, true, false
}

func (p *parser) goesOn(c *cursor, b *block) (goesOn, done bool) {
	switch b.kind {
	case quote:
		if c.indent() > 3 || !strings.HasPrefix(c.text(), ">") {
			return false, false
		}
		takeQuote(c)
		return true, false
	case item:
		switch {
		case c.blank():
			if len(b.children) == 0 {
				return false, false
			}
			c.skipAll()
			return true, false
		case c.indent() >= b.marker.width:
			c.skip(b.marker.width)
			return true, false
		}
		return false, false
	case list:
		return true, false
	case code:
		return p.codeGoesOn(c, b)
	case markup:
		return b.until != "" || !c.blank(), false
	case paragraph:
		return !c.blank(), false
	default:
		return false, false
	}
}

func takeQuote(c *cursor) {
	c.skipAll()
	c.take(1)
	if c.indent() > 0 {
		c.skip(1)
	}
}

func (p *parser) codeGoesOn(c *cursor, b *block) (goesOn, done bool) {
	if b.fence.mark == 0 {
		if c.indent() < tabStop && !c.blank() {
			return false, false
		}
		c.skip(tabStop)
		return true, false
	}
	if c.indent() <= 3 && endsFence(c.text(), b.fence) {
		p.closeDownTo(b)
		p.close(b)
		return true, true
	}
	c.skip(min(b.fence.indent, c.indent()))
	return true, false
}

func endsFence(text string, f fence) bool {
	rest := strings.TrimLeft(text, string(f.mark))
	return len(text)-len(rest) >= f.length && strings.Trim(rest, " \t") == ""
}

// addText gives what is left of a line to a block.
func (p *parser) addText(c *cursor, container *block) {
	switch container.kind {
	case code:
		container.lines = append(container.lines, c.rest())
	case markup:
		container.lines = append(container.lines, c.rest())
		if container.until != "" && strings.Contains(strings.ToLower(c.rest()), container.until) {
			p.close(container)
		}
	case paragraph:
		container.lines = append(container.lines, c.text())
	default:
		if !c.blank() {
			container = p.add(container, &block{kind: paragraph})
			container.lines = append(container.lines, c.text())
		}
	}
}

// noteBlank remembers which blocks a blank line follows: that makes lists loose.
func (p *parser) noteBlank(container *block, blank bool) {
	if n := len(container.children); blank && n > 0 {
		container.children[n-1].blankEnd = true
	}
	container.blankEnd = blank && container.kind != quote && container.kind != heading && container.kind != rule &&
		(container.kind != code || container.fence.mark == 0) && (container.kind != item || len(container.children) > 0)
	for b := container.parent; b != nil; b = b.parent {
		b.blankEnd = false
	}
}

// add puts a block at the end of another one, or of the innermost around it that can
// hold it.
func (p *parser) add(into, b *block) *block {
	p.closeDownTo(into)
	for !into.holds(b.kind) {
		p.close(into)
		into = into.parent
	}
	b.parent = into
	into.children = append(into.children, b)
	p.tip = b
	return b
}

func (b *block) holds(k kind) bool {
	switch b.kind {
	case document, quote, item:
		return k != item
	case list:
		return k == item
	default:
		return false
	}
}

// closeDownTo closes all blocks within another one.
func (p *parser) closeDownTo(b *block) {
	for p.tip != b {
		p.close(p.tip)
	}
}

func (p *parser) close(b *block) {
	b.closed = true
	p.tip = b.parent
	switch b.kind {
	case paragraph:
		p.closeParagraph(b)
	case code:
		if b.fence.mark == 0 {
			for n := len(b.lines); n > 0 && strings.Trim(b.lines[n-1], " \t") == ""; n-- {
				b.lines = b.lines[:n-1]
			}
		}
	case list:
		b.tight = isTight(b)
	}
}

// closeParagraph takes the definitions of references out of it, and the table.
func (p *parser) closeParagraph(b *block) {
	p.define(b)
	t := splitTable(b)
	around := b.parent
	around.children = around.children[:len(around.children)-1]
	if len(b.lines) > 0 {
		around.children = append(around.children, b)
	}
	if t != nil {
		around.children = append(around.children, t)
	}
}

// isTight tells whether no blank line stands between the items of a list, nor between
// the blocks of one.
func isTight(b *block) bool {
	for i, it := range b.children {
		lastItem := i == len(b.children)-1
		if !lastItem && it.endsBlank() {
			return false
		}
		for j, sub := range it.children {
			if (!lastItem || j < len(it.children)-1) && sub.endsBlank() {
				return false
			}
		}
	}
	return true
}

// endsBlank tells whether a blank line follows the block, or the last one in it.
func (b *block) endsBlank() bool {
	for {
		if b.blankEnd {
			return true
		}
		if b.kind != list && b.kind != item || len(b.children) == 0 {
			return false
		}
		b = b.children[len(b.children)-1]
	}
}
