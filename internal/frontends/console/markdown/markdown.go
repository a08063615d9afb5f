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

// Options connect a text to the pages around it. The zero Options show no pictures and
// link to no other file.
type Options struct {
	// Link returns the address of a file that the text links to by a relative path. If it
	// returns false, only the words of the link are shown.
	Link func(dest string) (string, bool)
	// Image returns the address of a picture that the text shows by a relative path. If it
	// returns false, the description of the picture is shown instead.
	Image func(dest string) (string, bool)
	// Highlight renders code as HTML that contains only spans; nil shows it plain.
	Highlight func(lang, code string) template.HTML
	// Shift is added to the level of every heading, so that the headings of the text rank
	// below those of the page.
	Shift int
}

// IDPrefix begins the ids of headings, so that no heading takes an id of the page.
const IDPrefix = "h-"

// tooIntricate precedes the source of a text that exceeds a limit.
const tooIntricate = "<p><em>This text is too intricate to be formatted, so its source is shown.</em></p>\n"

// Render renders a text, or a part of one. It does not look for front matter: see Split.
func Render(source []byte, o Options) template.HTML {
	cleaned := clean(string(source))
	limits := &limits{}
	pc := parser.NewContext()
	pc.Set(limitsKey, limits)

	var out strings.Builder
	out.Grow(2 * len(source))
	r := &renderer{Options: o, tools: sharedTools(), pc: pc, w: bufio.NewWriter(&out), budget: 100_000 + len(source)}
	r.source = []byte(cleaned)
	document := r.tools.document.Parse(text.NewReader(r.source), parser.WithContext(pc))
	if !limits.exceeded {
		r.walk(document)
	}
	if limits.exceeded { // a summary is parsed while it is written
		out.Reset()
		r.w.Reset(&out)
		r.write(tooIntricate + `<pre tabindex="0"><code>`)
		r.escaped(cleaned)
		r.write("</code></pre>\n")
	}
	_ = r.w.Flush()                                          // a strings.Builder returns no errors
	return template.HTML(strings.Map(visible, out.String())) //nolint:gosec // see the package comment
}

// Split cuts the front matter off a text: the lines between two lines of three hyphens at
// its very beginning. front is empty if there is none.
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
		source += "\n" // goldmark ignores the language of a fence that ends without it
	}
	return strings.ToValidUTF8(source, "\ufffd")
}

// visible replaces NUL and the characters that change the direction of the text after them:
// people would read something else than what is there.
func visible(r rune) rune {
	if r == 0 || r >= 0x202a && r <= 0x202e || r >= 0x2066 && r <= 0x2069 {
		return '\ufffd'
	}
	return r
}

var escaper = strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;", `"`, "&quot;")

// Escape makes text harmless in HTML, in elements and in attributes in double quotes.
func Escape(text string) string { return escaper.Replace(strings.Map(visible, text)) }
