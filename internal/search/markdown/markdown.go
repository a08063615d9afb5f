// Package markdown finds the links, headings, blocks and front matter of a Markdown text, with
// their places in the text. It does not render HTML.
package markdown

import (
	"slices"
	"strings"
)

// Document is a parsed text. All places are byte offsets in it.
type Document struct {
	Text     string
	Front    Front
	Blocks   []Block
	Headings []Heading
	Links    []Link
	// Links that only some readers follow: wiki links, and src and href of tags that are neither
	// links nor media.
	OtherLinks []Link

	anchors map[string]bool // names that #name may lead to
	repeats map[string]int  // how many times each heading occurred before
	lines   []int           // start of each line
}

// Link is a destination in the text: that of a link or an image in Markdown, of a reference
// definition, or of an HTML tag.
type Link struct {
	Start, End int  // offsets of the destination alone, without brackets or quotes around it
	Image      bool // it is embedded, not followed
	Wiki       bool // it is [[name]]
}

// Heading is a heading, with the anchor that GitHub gives it.
type Heading struct {
	Level, Start, End int // Start and End are the offsets of its text, with all markup
	Text, Slug        string
}

// Parse parses a text. It never fails: any text is valid Markdown.
func Parse(text string) *Document {
	d := &Document{Text: text, anchors: map[string]bool{}}
	d.Front = FindFront(text)
	s := scanner{Document: d, text: text}
	s.blocks(d.Front.Length)
	slices.SortStableFunc(d.Links, func(a, b Link) int { return a.Start - b.Start })
	return d
}

// Destination returns a link's destination as it is written.
func (d *Document) Destination(l Link) string { return d.Text[l.Start:l.End] }

// Line returns the line of an offset, counted from 1.
func (d *Document) Line(offset int) int {
	if d.lines == nil {
		d.lines = []int{0}
		for i := range len(d.Text) {
			if d.Text[i] == '\n' {
				d.lines = append(d.lines, i+1)
			}
		}
	}
	n, found := slices.BinarySearch(d.lines, offset)
	if found {
		n++
	}
	return n
}

// HasAnchor reports whether #name leads to something in the document. It ignores case, as GitHub
// does.
func (d *Document) HasAnchor(name string) bool {
	return name == "" || d.anchors[strings.ToLower(name)] || strings.EqualFold(name, "top")
}

// Replace returns the text with the destinations that other returns, and their number. A
// destination for which other returns false stays, and so does every other byte.
func (d *Document) Replace(other func(Link) (string, bool)) (text string, changed int) {
	var b strings.Builder
	from := 0
	for _, l := range d.Links {
		if l.Start < from {
			continue // it is within one that was replaced
		}
		if destination, ok := other(l); ok {
			b.WriteString(d.Text[from:l.Start])
			b.WriteString(destination)
			from = l.End
			changed++
		}
	}
	if changed == 0 {
		return d.Text, 0
	}
	b.WriteString(d.Text[from:])
	return b.String(), changed
}

// addHeading adds a heading. If its anchor is taken, it gets a number.
func (d *Document) addHeading(level, start, end int) {
	text, id := explicitID(d.Text[start:end])
	h := Heading{Level: level, Start: start, End: end, Text: plain(text), Slug: id}
	if id == "" {
		h.Slug = d.unusedSlug(slug(h.Text))
	}
	d.anchors[strings.ToLower(h.Slug)] = true
	d.Headings = append(d.Headings, h)
}
