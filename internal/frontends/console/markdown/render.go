package markdown

import (
	"bufio"
	"bytes"
	"html"
	"strconv"
	"strings"
	"unicode"

	"github.com/yuin/goldmark/ast"
	extast "github.com/yuin/goldmark/extension/ast"
	"github.com/yuin/goldmark/parser"
	goldmark "github.com/yuin/goldmark/renderer/html"
)

// renderer writes the nodes of a document. It uses goldmark's functions for those that need no
// other treatment.
type renderer struct {
	Options
	shared *shared
	pc     parser.Context
	source []byte
	w      *bufio.Writer
	budget int // remaining bytes for the URLs and titles of links
	ids    map[string]int
	open   []openElement
}

// openElement is an HTML element of the text that is open inside a node.
type openElement struct {
	in   ast.Node
	name string
}

func (r *renderer) write(html string) { _, _ = r.w.WriteString(html) }

func (r *renderer) escaped(text string) { r.write(Escape(text)) }

func (r *renderer) walk(n ast.Node) {
	_ = ast.Walk(n, r.node) // r.node returns no errors
}

// node writes the start or the end of a node.
func (r *renderer) node(n ast.Node, entering bool) (ast.WalkStatus, error) {
	if !entering {
		r.closeElements(n)
	}
	switch n := n.(type) {
	case *ast.Heading:
		r.heading(n, entering)
	case *ast.CodeBlock:
		r.code(n, "", entering)
	case *ast.FencedCodeBlock:
		r.code(n, r.language(n), entering)
	case *ast.HTMLBlock:
		if entering {
			r.htmlBlock(n)
		}
	case *ast.RawHTML:
		if entering {
			r.htmlTag(n)
		}
	case *ast.Link:
		if entering {
			r.link(n)
		}
	case *ast.AutoLink:
		if entering {
			r.autoLink(n)
		}
	case *ast.Image:
		if entering {
			r.markdownImage(n)
		}
		return ast.WalkSkipChildren, nil
	case *extast.TaskCheckBox:
		if entering {
			r.checkBox(n)
		}
	case *extast.Table:
		r.table(entering)
	case *extast.TableCell:
		r.cell(n, entering)
	default:
		return r.shared.defaults[n.Kind()](r.w, r.source, n, entering)
	}
	return ast.WalkContinue, nil
}

// plain returns the text of a node without markup.
func (r *renderer) plain(n ast.Node) string {
	var b strings.Builder
	_ = ast.Walk(n, func(n ast.Node, entering bool) (ast.WalkStatus, error) {
		if !entering {
			return ast.WalkContinue, nil
		}
		switch n := n.(type) {
		case *ast.Text:
			value := n.Segment.Value(r.source)
			if n.IsRaw() {
				b.Write(value)
			} else {
				b.WriteString(unescape(value))
			}
			if n.SoftLineBreak() || n.HardLineBreak() {
				b.WriteByte('\n')
			}
		case *ast.AutoLink:
			b.Write(n.Label(r.source))
		case *ast.RawHTML:
			if tag := r.rawText(n); !r.shared.inlineTag.MatchString(tag) && !strings.HasPrefix(tag, "<!--") {
				b.WriteString(tag)
			}
		}
		return ast.WalkContinue, nil
	})
	return b.String()
}

// unescape resolves backslash escapes and character references.
func unescape(text []byte) string {
	if !bytes.ContainsAny(text, `\&`) {
		return string(text)
	}
	var b strings.Builder
	w := bufio.NewWriterSize(&b, len(text))
	goldmark.DefaultWriter.Write(w, text)
	_ = w.Flush() // a strings.Builder returns no errors
	return html.UnescapeString(b.String())
}

func (r *renderer) heading(n *ast.Heading, entering bool) {
	level := strconv.Itoa(min(6, n.Level+r.Shift))
	if !entering {
		r.write("</h" + level + ">\n")
		return
	}
	r.write("<h" + level + ` id="`)
	r.escaped(r.id(r.plain(n)))
	r.write(`">`)
}

// id returns the id of a heading, derived from its text as on GitHub, with a number appended if the
// id is taken.
func (r *renderer) id(text string) string {
	const maxBytes = 100
	var b strings.Builder
	for _, c := range strings.ToLower(strings.TrimSpace(text)) {
		switch {
		case b.Len() >= maxBytes:
		case unicode.IsLetter(c) || unicode.IsDigit(c) || c == '-' || c == '_':
			b.WriteRune(c)
		case c == ' ' || c == '\n':
			b.WriteByte('-')
		}
	}
	if r.ids == nil {
		r.ids = map[string]int{}
	}
	id := b.String()
	for {
		n := r.ids[id]
		r.ids[id]++
		if n == 0 && id != "" {
			return IDPrefix + id
		}
		id += "-" + strconv.Itoa(n)
	}
}

// language returns the first word after a code fence.
func (r *renderer) language(n *ast.FencedCodeBlock) string {
	if n.Info == nil {
		return ""
	}
	words := strings.Fields(unescape(n.Info.Segment.Value(r.source)))
	if len(words) == 0 {
		return ""
	}
	return words[0] // further words would become further classes
}

func (r *renderer) code(n ast.Node, lang string, entering bool) {
	if !entering {
		r.write("</code></pre>\n")
		return
	}
	r.write(`<pre tabindex="0"><code`) // wide code scrolls, and the keyboard must reach it
	if lang != "" {
		r.write(` class="language-` + Escape(lang) + `"`)
	}
	r.write(">")
	text := string(n.Lines().Value(r.source))
	if text != "" && !strings.HasSuffix(text, "\n") {
		text += "\n"
	}
	if r.Highlight != nil {
		r.write(string(r.Highlight(lang, text)))
	} else {
		r.escaped(text)
	}
}

func (r *renderer) checkBox(n *extast.TaskCheckBox) {
	if n.IsChecked {
		r.write(`<input type="checkbox" disabled checked aria-label="done"> `)
	} else {
		r.write(`<input type="checkbox" disabled aria-label="to do"> `)
	}
}

func (r *renderer) table(entering bool) {
	if entering {
		r.write("<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"Table\"><table>\n")
	} else {
		r.write("</table></div>\n")
	}
}

func (r *renderer) cell(n *extast.TableCell, entering bool) {
	element, attributes := "td", ""
	if n.Parent().Kind() == extast.KindTableHeader {
		element, attributes = "th", ` scope="col"`
	}
	if !entering {
		r.write("</" + element + ">\n")
		return
	}
	if n.Alignment != extast.AlignNone {
		attributes += ` class="` + n.Alignment.String() + `"`
	}
	r.write("<" + element + attributes + ">")
}
