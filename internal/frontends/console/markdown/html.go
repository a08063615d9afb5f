package markdown

import (
	"html"
	"strings"

	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/text"
	"github.com/yuin/goldmark/util"
)

const (
	// maxDetails is the maximum number of open <details> elements.
	maxDetails = 16
	// maxElements is the maximum number of open HTML elements of the text.
	maxElements = 48
	// maxSummary is the maximum size of a <summary> in bytes.
	maxSummary = 2000
)

// closeElements closes the elements that are open inside a node.
func (r *renderer) closeElements(n ast.Node) {
	for len(r.open) > 0 && r.open[len(r.open)-1].in == n {
		last := r.open[len(r.open)-1]
		r.open = r.open[:len(r.open)-1]
		r.write("</" + last.name + ">")
		if last.name == "details" {
			r.write("\n")
		}
	}
}

// closes reports whether an element is the innermost open one inside a node.
func (r *renderer) closes(in ast.Node, name string) bool {
	return len(r.open) > 0 && r.open[len(r.open)-1] == openElement{in, name}
}

func (r *renderer) rawText(n *ast.RawHTML) string { return string(n.Segments.Value(r.source)) }

// htmlTag writes an inline HTML tag: a clean version of one of the allowed elements, or the tag as
// text.
func (r *renderer) htmlTag(n *ast.RawHTML) {
	tag := r.rawText(n)
	match := r.shared.inlineTag.FindStringSubmatch(tag)
	if strings.HasPrefix(tag, "<!--") {
		return
	}
	if match == nil {
		r.escaped(tag)
		return
	}
	name, end := strings.ToLower(match[2]), match[1] != ""
	switch {
	case name == "br" && !end:
		r.write("<br>")
	case name == "img" && !end:
		attributes := r.attributes(tag)
		r.image(string(util.URLEscape([]byte(attributes["src"]), false)), attributes["title"], attributes["alt"])
	case name == "br" || name == "img":
		r.escaped(tag)
	case end && r.closes(n.Parent(), name):
		r.open = r.open[:len(r.open)-1]
		r.write("</" + name + ">")
	case end || len(r.open) >= maxElements:
		r.escaped(tag)
	default:
		r.open = append(r.open, openElement{n.Parent(), name})
		r.write("<" + name + ">")
	}
}

// attributes returns the attributes of a tag that have a value.
func (r *renderer) attributes(tag string) map[string]string {
	attributes := map[string]string{}
	for _, match := range r.shared.attribute.FindAllStringSubmatch(tag, -1) {
		value := match[2]
		if value[0] == '"' || value[0] == '\'' {
			value = value[1 : len(value)-1]
		}
		attributes[strings.ToLower(match[1])] = html.UnescapeString(value)
	}
	return attributes
}

// htmlBlock writes an HTML block as text, except for <details> and <summary>, of which it writes a
// clean version.
func (r *renderer) htmlBlock(n *ast.HTMLBlock) {
	text := string(n.Lines().Value(r.source))
	if n.HasClosure() {
		text += string(n.ClosureLine.Value(r.source))
	}
	switch n.HTMLBlockType {
	case ast.HTMLBlockType2: // a comment
		_, text, _ = strings.Cut(text, "-->")
	case ast.HTMLBlockType6, ast.HTMLBlockType7:
	default:
		r.asText(text)
		return
	}
	for {
		before, tag, rest := cutDetails(text)
		r.asText(before)
		switch {
		case tag == "":
			return
		case tag == "</details>" && r.closes(n.Parent(), "details"):
			r.open = r.open[:len(r.open)-1]
			r.write("</details>\n")
		case tag == "</details>" || len(r.open) >= maxDetails:
			r.asText(tag)
		default:
			r.open = append(r.open, openElement{n.Parent(), "details"})
			r.write(tag + "\n")
			rest = r.summary(rest)
		}
		text = rest
	}
}

// cutDetails splits a text at its first <details> start or end tag; the tag is empty if there is
// none.
func cutDetails(text string) (before, tag, rest string) {
	for at := 0; at < len(text); at++ {
		next := strings.IndexByte(text[at:], '<')
		if next < 0 {
			break
		}
		at += next
		for _, tag := range []string{"<details>", "<details open>", "</details>"} {
			if strings.HasPrefix(text[at:], tag) {
				return text[:at], tag, text[at+len(tag):]
			}
		}
	}
	return text, "", ""
}

// summary writes the <summary> at the start of a text, and returns the rest of the text.
func (r *renderer) summary(html string) (rest string) {
	inside, ok := strings.CutPrefix(strings.TrimLeft(html, " \t\n"), "<summary>")
	end := strings.Index(inside[:min(len(inside), maxSummary)], "</summary>")
	if !ok || end < 0 {
		return html
	}
	r.write("<summary>")
	outer := r.source
	r.source = []byte(strings.TrimSpace(inside[:end]))
	paragraph := r.shared.summary.Parse(text.NewReader(r.source), parser.WithContext(r.pc)).FirstChild()
	if paragraph != nil {
		for n := paragraph.FirstChild(); n != nil; n = n.NextSibling() {
			r.walk(n)
		}
		r.closeElements(paragraph)
	}
	r.source = outer
	r.write("</summary>\n")
	return inside[end+len("</summary>"):]
}

// asText writes HTML source as text.
func (r *renderer) asText(html string) {
	if html = strings.Trim(html, " \t\n"); html != "" {
		r.write(`<p class="raw">` + Escape(html) + "</p>\n")
	}
}
