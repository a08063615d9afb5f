package markdown

import (
	"bytes"

	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/text"
)

// goldmark takes quadratic time for several kinds of text and cannot be cancelled. These limits are
// far above what people write.
const (
	maxDepth       = 64      // nested quotes, lists and items; deeper markup stays text
	maxMarks       = 1_000   // delimiters of emphasis, code, links and HTML in one block
	maxRescan      = 1 << 26 // sum over all delimiters of the bytes up to the end of their block
	maxCells       = 100_000 // table cells, including those that rows omit
	maxEscapedBars = 4_000   // bars after a backslash
	maxDefinitions = 2_000   // lines that may define a reference
	maxLineMoves   = 1 << 24 // lines of a paragraph times the definitions in it
)

var limitsKey = parser.NewContextKey()

// limits counts what one text contains.
type limits struct {
	block       ast.Node // the block whose marks are counted
	marks       int
	rescan      int
	cells       int
	escapedBars int
	definitions int
	lineMoves   int
	exceeded    bool
}

func limitsOf(pc parser.Context) *limits { return pc.Get(limitsKey).(*limits) }

// markCounter is an inline parser that runs before all others. It parses nothing, but once a limit
// is exceeded it takes all remaining lines as plain text.
type markCounter struct{}

func (markCounter) Trigger() []byte { return []byte("*_~[]<`") }

func (markCounter) Parse(parent ast.Node, block text.Reader, pc parser.Context) ast.Node {
	l := limitsOf(pc)
	if l.block != parent {
		l.block, l.marks = parent, 0
	}
	_, segment := block.PeekLine()
	lines := parent.Lines()
	l.marks++
	l.rescan += lines.At(lines.Len()-1).Stop - segment.Start
	if !l.exceeded && l.marks <= maxMarks && l.rescan <= maxRescan {
		return nil
	}
	l.exceeded = true
	block.AdvanceLine()
	return ast.NewTextSegment(segment)
}

// paragraphs extracts reference definitions and tables from paragraphs, unless a limit is exceeded.
type paragraphs struct{}

func (paragraphs) Transform(node *ast.Paragraph, reader text.Reader, pc parser.Context) {
	l := limitsOf(pc)
	l.count(node.Lines(), reader.Source())
	if l.exceeded {
		return
	}
	parser.LinkReferenceParagraphTransformer.Transform(node, reader, pc)
	if node.Parent() != nil {
		extension.NewTableParagraphTransformer().Transform(node, reader, pc)
	}
}

// count adds what the lines of a paragraph may be parsed as.
func (l *limits) count(lines *text.Segments, source []byte) {
	definitions, columns := 0, 0
	for i := range lines.Len() {
		segment := lines.At(i)
		line := bytes.TrimSpace(segment.Value(source))
		if bytes.HasPrefix(line, []byte("[")) {
			definitions++
		}
		if len(bytes.Trim(line, "|:- \t")) == 0 {
			columns = max(columns, bytes.Count(bytes.Trim(line, "|"), []byte("|"))+1)
		}
		l.escapedBars += bytes.Count(line, []byte(`\|`))
	}
	l.definitions += definitions
	l.lineMoves += definitions * lines.Len()
	l.cells += columns * lines.Len()
	l.exceeded = l.exceeded || l.definitions > maxDefinitions || l.lineMoves > maxLineMoves ||
		l.cells > maxCells || l.escapedBars > maxEscapedBars
}

// depthLimited wraps the parser of a container block. It opens no block below maxDepth.
type depthLimited struct{ parser.BlockParser }

func (d depthLimited) Open(parent ast.Node, reader text.Reader, pc parser.Context) (ast.Node, parser.State) {
	depth := 0
	for n := parent; n != nil; n = n.Parent() {
		depth++
	}
	if depth > maxDepth {
		return nil, parser.NoChildren
	}
	return d.BlockParser.Open(parent, reader, pc)
}
