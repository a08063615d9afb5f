// Package markdown makes HTML of Markdown that nobody vouches for: whatever the text
// holds, the HTML has elements of this package alone.
//
// It is CommonMark with the tables, task lists, strikethrough and bare links of GitHub.
// HTML in the text is shown as text, but for a few elements without any power, which
// are built anew. The time it takes grows with the length of the text and no faster.
package markdown

import (
	"html/template"
	"strings"
)

// Options say how a text meets the pages around it. The zero Options show no pictures
// and lead to no other file.
type Options struct {
	// Link gives the address of a file that the text links to by a relative path; not
	// ok shows the words without the link.
	Link func(dest string) (string, bool)
	// Image gives the address of a picture that the text shows by a relative path; not
	// ok shows its description instead.
	Image func(dest string) (string, bool)
	// Highlight makes HTML of code, which may hold spans alone; nil shows it plain.
	Highlight func(lang, code string) template.HTML
	// Shift is by how many levels headings are lower than they are in the text, so that
	// they fit below those of the page.
	Shift int
}

// IDPrefix begins the ids of headings, so that no text takes an id of the page.
const IDPrefix = "h-"

// Render makes HTML of a text, or of a part of one. Split takes front matter off.
func Render(source []byte, o Options) template.HTML {
	p := parse(clean(string(source)))
	r := &renderer{Options: o, references: p.references, budget: 100_000 + len(source)}
	r.blocks(p.document)
	return template.HTML(r.out.String()) //nolint:gosec // the charter of this package
}

// Split cuts the front matter off a text: lines between two of three hyphens, at its
// very beginning. It is "" if there is none.
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

// afterLine gives what follows a line, if the text begins with it.
func afterLine(text, line string) (rest string, ok bool) {
	first, rest, _ := strings.Cut(text, "\n")
	return rest, strings.TrimRight(first, " \t\r") == line
}

// clean makes line ends alike, and replaces what is no text.
func clean(source string) string {
	if strings.IndexByte(source, '\r') >= 0 {
		source = strings.ReplaceAll(strings.ReplaceAll(source, "\r\n", "\n"), "\r", "\n")
	}
	if strings.IndexByte(source, 0) >= 0 {
		source = strings.ReplaceAll(source, "\x00", "\ufffd")
	}
	return strings.ToValidUTF8(source, "\ufffd")
}
