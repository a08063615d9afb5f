package markdown

// Block is a part of a text that is in no other: what is in a list item is part of that.
type Block struct {
	Kind       BlockKind
	Start, End int      // of its lines, without the end of the last
	Heading    *Heading // of a Title
}

// BlockKind is what a block is.
type BlockKind int

// These are the kinds of blocks.
const (
	Paragraph BlockKind = iota
	Title               // a heading
	Item                // of a list, with all that is beneath it
	Quote
	Code
	Table
	Remark // a comment, or a line across the page

	more       // the line goes on with the block before
	underlined // the block before is a heading
)

// keep adds a line to the block before, or begins one of a kind.
func (s *scanner) keep(kind BlockKind, start, end int) {
	if n := len(s.Blocks); n == 0 || kind < more && !s.goesOn(s.Blocks[n-1].Kind, kind) {
		s.Blocks = append(s.Blocks, Block{Kind: kind, Start: start})
	}
	last := &s.Blocks[len(s.Blocks)-1]
	last.End = end
	if kind == Title || kind == underlined {
		heading := s.Headings[len(s.Headings)-1]
		last.Kind, last.Heading = Title, &heading
	}
}

// goesOn tells whether a line of a kind is part of the block before.
func (s *scanner) goesOn(before, kind BlockKind) bool {
	switch kind {
	case Quote, Table:
		return before == kind && !s.gap
	case Code:
		return before == kind && !s.gap && s.fence.mark == 0
	}
	return false
}
