// Package markdown finds what a Markdown text leads to: its links with their places in
// the text, its headings, and its front matter.
package markdown

import (
	"slices"
	"strings"
)

// Document is what was found in a text. All places are byte offsets in it.
type Document struct {
	Text     string
	Front    Front
	Blocks   []Block
	Headings []Heading
	Links    []Link
	Others   []Link // what only some follow: wiki links, and src and href of tags that are neither links nor media

	anchors map[string]bool // what #name may lead to
	repeats map[string]int  // how often a heading was there before
	lines   []int           // where each line begins
}

// Link is a destination that the text names: that of a link or an image in Markdown, of
// a reference definition, or of an HTML tag.
type Link struct {
	Start, End int  // of the destination alone, without brackets or quotes around it
	Image      bool // it is shown, not followed
	Wiki       bool // it is [[name]]
}

// Heading is a heading, with the name that links to it use on GitHub.
type Heading struct {
	Level, Start, End int // Start and End are of its text, with all marks
	Text, Slug        string
}

// Parse reads a text. Any text is Markdown: there is nothing that it refuses.
func Parse(text string) *Document {
	d := &Document{Text: text, anchors: map[string]bool{}}
	d.Front = FindFront(text)
	s := scanner{Document: d, text: text}
	s.blocks(d.Front.Length)
	slices.SortStableFunc(d.Links, func(a, b Link) int { return a.Start - b.Start })
	return d
}

// Destination is a link's destination as it is written.
func (d *Document) Destination(l Link) string { return d.Text[l.Start:l.End] }

// Line is the number of the line that an offset is in, counted from 1.
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

// HasAnchor tells whether #name leads to something here. Case does not matter, as it
// does not to those who follow links on GitHub.
func (d *Document) HasAnchor(name string) bool {
	return name == "" || d.anchors[strings.ToLower(name)] || strings.EqualFold(name, "top")
}

// Replace gives the text with other destinations, and how many there are. What the
// function says no to stays; all else stays byte for byte.
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

// addHeading keeps a heading; one with the name of another gets a number.
func (d *Document) addHeading(level, start, end int) {
	text, id := explicitID(d.Text[start:end])
	h := Heading{Level: level, Start: start, End: end, Text: plain(text), Slug: id}
	if id == "" {
		h.Slug = d.unusedSlug(slug(h.Text))
	}
	d.anchors[strings.ToLower(h.Slug)] = true
	d.Headings = append(d.Headings, h)
}
