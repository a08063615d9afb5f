package chunk

import "strings"

const (
	tinySection  = 160  // bytes: a smaller section is merged into the surrounding one
	largeSection = 1200 // maximum bytes of merged sections
	longProse    = 1600 // bytes: a longer section is cut between its paragraphs
)

// chunks cuts a document: discoveries first, then the rest.
func (d *document) chunks() []Chunk {
	found := d.discoveries()
	for i := range found {
		p := &found[i]
		p.Source, p.Module, p.Session = Discovery, d.module, d.session
		if p.Date.IsZero() {
			p.Date = d.date
		}
	}
	return append(found, d.docs()...)
}

// A passage is a part of a section that becomes a chunk.
type passage struct {
	path     []string
	from, to int
	taken    int // number of discoveries before it
}

// docs returns what was not taken for discoveries.
func (d *document) docs() []Chunk {
	var kept []passage
	taken := 0
	for i := range d.sections {
		var passages []passage
		passages, taken = d.passages(&d.sections[i], taken)
		for _, p := range passages {
			if last := len(kept) - 1; last >= 0 && d.merge(&kept[last], p) {
				continue
			}
			kept = append(kept, p)
		}
	}
	var found []Chunk
	for _, p := range kept {
		found = d.split(found, p)
	}
	if len(found) > 0 && len(d.tags) > 0 {
		found[0].Text = cutText(found[0].Text + "\n" + strings.Join(d.tags, ", "))
	}
	return found
}

// passages cuts a long section between blocks, and leaves out taken blocks. The heading is part of
// the first passage, and never stands alone. It continues the count of taken blocks.
func (d *document) passages(s *section, taken int) ([]passage, int) {
	var found []passage
	open := passage{path: s.path, from: s.from, to: s.from - 1, taken: taken}
	for _, b := range s.blocks {
		if b.taken {
			found = d.closePassage(found, open)
			taken++
			open = passage{path: s.path, from: b.to + 1, to: b.to, taken: taken}
			continue
		}
		if open.to >= open.from && d.size(open.from, b.to) > longProse {
			found = d.closePassage(found, open)
			open.from = b.from
		}
		open.to = b.to
	}
	return d.closePassage(found, open), taken
}

func (d *document) closePassage(found []passage, p passage) []passage {
	from, to := d.trim(p.from, p.to)
	if from > to || !saysAnything(d.span(from, to)) {
		return found
	}
	p.from, p.to = from, to
	return append(found, p)
}

// merge merges a tiny passage into the one before, if that is in a surrounding or neighbouring
// section; or a passage into a tiny one before it, if it is in a subsection of that.
func (d *document) merge(before *passage, p passage) bool {
	if before.taken != p.taken || d.size(before.from, p.to) > largeSection {
		return false
	}
	around := common(before.path, p.path)
	within := len(around) == len(before.path)
	switch {
	case d.size(p.from, p.to) <= tinySection && (within || len(around) > 0 && len(around) == len(p.path)-1):
		before.path = around
	case d.size(p.from, p.to) > tinySection && d.size(before.from, before.to) <= tinySection && within:
		before.path = p.path
	default:
		return false
	}
	before.to = p.to
	return true
}

func common(a, b []string) []string {
	n := 0
	for n < len(a) && n < len(b) && a[n] == b[n] {
		n++
	}
	return a[:n]
}

// split adds the chunks of a passage: several if a single block is too long.
func (d *document) split(found []Chunk, p passage) []Chunk {
	text := strings.TrimRight(d.span(p.from, p.to), " \t\n")
	name := strings.Join(p.path, " > ")
	line := p.from
	for text != "" {
		part := text
		if len(text) > MaxText {
			part = text[:wordEnd(text, MaxText)]
		}
		text = text[len(part):]
		next := line + strings.Count(part, "\n")
		if shown := strings.TrimRight(part, " \t\n"); saysAnything(shown) {
			end := line + strings.Count(shown, "\n")
			found = append(found, Chunk{Source: Docs, Name: name, Text: shown, Module: d.module, Session: d.session, Date: d.date, Line: line, End: end})
		}
		line = next
	}
	return found
}
