// Package markdown renders untrusted Markdown as HTML. The output contains only elements
// that this package writes: no byte of the text becomes a tag.
//
// The parser is goldmark: CommonMark with the tables, task lists, strikethrough and bare
// links of GitHub. HTML in the text is shown as text, except for a few harmless elements.
// Limits keep the time and the output proportional to the text; a text that exceeds one is
// shown as source.
package markdown

import (
	"bufio"
	"html/template"
	"strings"

	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/text"
)

// Options connect a text to the pages around it. The zero value shows no images and links to no
// other file.
type Options struct {
	// Link returns the URL of a file that the text links to with a relative path. If it returns
	// false, only the text of the link is shown.
	Link func(dest string) (string, bool)
	// Image returns the URL of an image that the text includes with a relative path. If it returns
	// false, the description of the image is shown instead.
	Image func(dest string) (string, bool)
	// Highlight renders code as HTML that contains only spans. If it is nil, code is shown without
	// highlighting.
	Highlight func(lang, code string) template.HTML
	// Shift is added to the level of every heading, so that the headings of the text rank
	// below those of the page.
	Shift int
}

// IDPrefix is the prefix of the ids of headings, so that no heading gets an id that the page uses.
const IDPrefix = "h-"

// tooComplex precedes the source of a text that exceeds a limit.
const tooComplex = "<p><em>This text is too complex to format, so its source is shown.</em></p>\n"

// Render renders a text, or a part of one, as HTML. It does not remove front matter: see Split.
func Render(source []byte, o Options) template.HTML {
	cleaned := clean(string(source))
	limits := &limits{}
	pc := parser.NewContext()
	pc.Set(limitsKey, limits)

	var out strings.Builder
	out.Grow(2 * len(source))
	r := &renderer{Options: o, shared: loadShared(), pc: pc, w: bufio.NewWriter(&out), budget: 100_000 + len(source)}
	r.source = []byte(cleaned)
	document := r.shared.document.Parse(text.NewReader(r.source), parser.WithContext(pc))
	if !limits.exceeded {
		r.walk(document)
	}
	if limits.exceeded { // a summary is parsed while it is written
		out.Reset()
		r.w.Reset(&out)
		r.write(tooComplex + `<pre tabindex="0"><code>`)
		r.escaped(cleaned)
		r.write("</code></pre>\n")
	}
	_ = r.w.Flush()                                          // a strings.Builder returns no errors
	return template.HTML(strings.Map(visible, out.String())) //nolint:gosec // see the package comment
}

// Split separates the front matter of a text from its body. The front matter is the lines between
// two lines of three hyphens at the very beginning; front is empty if there is none.
func Split(source string) (front, body string) {
	source = strings.TrimPrefix(source, "\ufeff")
	rest, ok := afterLine(source, "---")
	if !ok {
		return "", source
	}
	for at := 0; at < len(rest); {
		if after, ok := afterLine(rest[at:], "---"); ok {
			return rest[:at], after
		}
		end := strings.IndexByte(rest[at:], '\n')
		if end < 0 {
			break
		}
		at += end + 1
	}
	return "", source
}

// afterLine returns what follows a line, if the text begins with that line.
func afterLine(text, line string) (rest string, ok bool) {
	first, rest, _ := strings.Cut(text, "\n")
	return rest, strings.TrimRight(first, " \t\r") == line
}

// clean converts line ends to \n, ends the last line, and replaces NUL and invalid UTF-8.
func clean(source string) string {
	if strings.IndexByte(source, '\r') >= 0 {
		source = strings.ReplaceAll(strings.ReplaceAll(source, "\r\n", "\n"), "\r", "\n")
	}
	if strings.IndexByte(source, 0) >= 0 {
		source = strings.ReplaceAll(source, "\x00", "\ufffd")
	}
	if source != "" && !strings.HasSuffix(source, "\n") {
		source += "\n" // without it, goldmark ignores the language of a fence at the end
	}
	return strings.ToValidUTF8(source, "\ufffd")
}

// visible replaces NUL and the characters that change the direction of text, because people would
// read something else than what the text contains.
func visible(r rune) rune {
	if r == 0 || r >= 0x202a && r <= 0x202e || r >= 0x2066 && r <= 0x2069 {
		return '\ufffd'
	}
	return r
}

var escaper = strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;", `"`, "&quot;")

// Escape escapes text for HTML elements and for attributes in double quotes.
func Escape(text string) string { return escaper.Replace(strings.Map(visible, text)) }
