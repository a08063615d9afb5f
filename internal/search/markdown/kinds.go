package markdown

// Block is a top-level block of a text: the content of a list item is part of the item.
type Block struct {
	Kind       BlockKind
	Start, End int      // offsets of its lines, without the last line end
	Heading    *Heading // set for a Title
}

// BlockKind is the kind of a block.
type BlockKind int

// The kinds of blocks.
const (
	Paragraph BlockKind = iota
	Title               // a heading
	Item                // a list item, with everything nested in it
	Quote
	Code
	Table
	Remark // a comment or a thematic break

	continuation // the line continues the previous block
	underlined   // the previous block is a heading
)

// addLine adds a line to the previous block, or begins a new block.
func (s *scanner) addLine(kind BlockKind, start, end int) {
	if n := len(s.Blocks); n == 0 || kind < continuation && !s.continues(s.Blocks[n-1].Kind, kind) {
		s.Blocks = append(s.Blocks, Block{Kind: kind, Start: start})
	}
	last := &s.Blocks[len(s.Blocks)-1]
	last.End = end
	if kind == Title || kind == underlined {
		heading := s.Headings[len(s.Headings)-1]
		last.Kind, last.Heading = Title, &heading
	}
}

// continues reports whether a line of a kind is part of the previous block.
func (s *scanner) continues(before, kind BlockKind) bool {
	switch kind {
	case Quote, Table:
		return before == kind && !s.afterBlank
	case Code:
		return before == kind && !s.afterBlank && s.fence.mark == 0
	}
	return false
}
