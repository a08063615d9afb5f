package markdown

import (
	"regexp"
	"sync"

	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	"github.com/yuin/goldmark/parser"
	goldmark "github.com/yuin/goldmark/renderer"
	"github.com/yuin/goldmark/renderer/html"
	"github.com/yuin/goldmark/text"
	"github.com/yuin/goldmark/util"
)

// shared are the parsers and tables that all texts share.
type shared struct {
	document  parser.Parser
	summary   parser.Parser // for text without blocks
	defaults  renderFuncs
	inlineTag *regexp.Regexp
	attribute *regexp.Regexp
}

// renderFuncs are goldmark's functions that write nodes, by kind.
type renderFuncs map[ast.NodeKind]goldmark.NodeRendererFunc

// Register implements goldmark's renderer.NodeRendererFuncRegisterer.
func (f renderFuncs) Register(kind ast.NodeKind, fn goldmark.NodeRendererFunc) { f[kind] = fn }

// loadShared builds the shared parts when the first text is rendered.
var loadShared = sync.OnceValue(func() *shared {
	t := &shared{
		defaults:  renderFuncs{},
		inlineTag: regexp.MustCompile(`^(?i:<(/?)(br|img|kbd|sub|sup)(?:[\s/][^>]*)?>)`),
		attribute: regexp.MustCompile(`([a-zA-Z_:][\w:.-]*)\s*=\s*("[^"]*"|'[^']*'|[^\s"'=<>` + "`" + `]+)`),
	}
	html.NewRenderer().RegisterFuncs(t.defaults)
	extension.NewStrikethroughHTMLRenderer().RegisterFuncs(t.defaults)
	extension.NewTableHTMLRenderer().RegisterFuncs(t.defaults)

	inlines := parser.WithInlineParsers(append(parser.DefaultInlineParsers(),
		util.Prioritized(markCounter{}, 1),
		util.Prioritized(taskBoxes{extension.NewTaskCheckBoxParser()}, 0),
		util.Prioritized(extension.NewStrikethroughParser(), 500),
		util.Prioritized(extension.NewLinkifyParser(), 999))...)
	t.summary = parser.NewParser(inlines, parser.WithBlockParsers(util.Prioritized(parser.NewParagraphParser(), 1000)))
	t.document = parser.NewParser(inlines,
		parser.WithBlockParsers(blockParsers(t.inlineTag)...),
		parser.WithParagraphTransformers(util.Prioritized(paragraphs{}, 100)),
		parser.WithASTTransformers(util.Prioritized(extension.NewTableASTTransformer(), 0)))
	return t
})

// blockParsers returns goldmark's block parsers, three of them wrapped.
func blockParsers(inlineTag *regexp.Regexp) []util.PrioritizedValue {
	all := parser.DefaultBlockParsers()
	for i, p := range all {
		switch p.Value {
		case parser.NewListParser(), parser.NewBlockquoteParser():
			all[i].Value = depthLimited{p.Value.(parser.BlockParser)}
		case parser.NewHTMLBlockParser():
			all[i].Value = htmlBlocks{p.Value.(parser.BlockParser), inlineTag}
		}
	}
	return all
}

// htmlBlocks wraps the parser of HTML blocks. It leaves inline elements at the start of a line to
// paragraphs.
type htmlBlocks struct {
	parser.BlockParser
	inlineTag *regexp.Regexp
}

func (h htmlBlocks) Open(parent ast.Node, reader text.Reader, pc parser.Context) (ast.Node, parser.State) {
	line, _ := reader.PeekLine()
	if h.inlineTag.Match(util.TrimLeftSpace(line)) {
		return nil, parser.NoChildren
	}
	return h.BlockParser.Open(parent, reader, pc)
}

// taskBoxes wraps the parser of task check boxes. It leaves [x](address) to the parser of links.
type taskBoxes struct{ parser.InlineParser }

func (t taskBoxes) Parse(parent ast.Node, block text.Reader, pc parser.Context) ast.Node {
	if line, _ := block.PeekLine(); len(line) > 3 && !util.IsSpace(line[3]) {
		return nil
	}
	return t.InlineParser.Parse(parent, block, pc)
}
