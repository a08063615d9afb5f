package chunk

import (
	"cmp"
	"path"
	"slices"
	"strings"
	"time"
)

// decision extracts from the record of a decision what was decided, with its title; the rest of the
// record is prose.
func (d *document) decision() []Chunk {
	title := d.decisionTitle()
	blocks := d.decided()
	if title == "" || len(blocks) == 0 {
		return nil
	}
	text := title
	last := blocks[0]
	for _, b := range blocks {
		more := d.plain(*b)
		if b != blocks[0] && len(text)+len(more) > MaxText-100 {
			break
		}
		text += "\n" + more
		b.taken = true
		last = b
	}
	status := d.statusOf()
	if text = cutText(text); isOpen(status) && len(text)+len(status) < MaxText-20 {
		text += "\nStatus: " + status
	}
	return []Chunk{{Type: Decision, Name: title, Text: text, Date: d.dateOfDecision(status), Line: blocks[0].from, End: last.to}}
}

// decisionTitle returns the title of the record without its number, or the name of the file.
func (d *document) decisionTitle() string {
	title := cmp.Or(d.heading(), strings.NewReplacer("-", " ", "_", " ").Replace(stem(path.Base(d.name))))
	rest := strings.TrimPrefix(strings.TrimPrefix(title, "ADR"), "adr")
	if cut := strings.TrimLeft(rest, "0123456789-.:#– "); cut != "" {
		return cut
	}
	return title
}

// decided returns the blocks that state the decision: those under such a heading, those after such
// a word in bold, or those under the title.
func (d *document) decided() []*block {
	for _, is := range []func(title string) bool{isDecisionHeading, isOutcome} {
		for i := range d.sections {
			s := &d.sections[i]
			if !is(s.title()) {
				continue
			}
			if blocks := d.sectionBlocks(i); len(blocks) > 0 {
				return blocks
			}
		}
	}
	for i := range d.sections {
		if blocks := d.decidedInBold(&d.sections[i]); len(blocks) > 0 {
			return blocks
		}
	}
	for i := range d.sections {
		if blocks := telling(d.sections[i].blocks); len(blocks) > 0 && !d.isNote(*blocks[0]) {
			return blocks
		}
	}
	return nil
}

func isDecisionHeading(title string) bool {
	title = strings.ToLower(strings.TrimLeft(title, "0123456789. "))
	return strings.HasPrefix(title, "decision") && !strings.HasPrefix(title, "decision driver") && !strings.HasPrefix(title, "decision maker") ||
		title == "decided" || title == "the decision" || title == "what we decided"
}

func isOutcome(title string) bool {
	outcomes := []string{"outcome", "resolution", "chosen option", "solution", "proposal", "conclusion", "recommendation"}
	return slices.Contains(outcomes, strings.ToLower(title))
}

// sectionBlocks returns the blocks of a section or, if it has none, those of its subsections.
func (d *document) sectionBlocks(i int) []*block {
	if own := telling(d.sections[i].blocks); len(own) > 0 {
		return own
	}
	var all []*block
	for j := i + 1; j < len(d.sections) && d.sections[j].level > d.sections[i].level; j++ {
		all = append(all, telling(d.sections[j].blocks)...)
	}
	return all
}

// telling returns the blocks that are not remarks.
func telling(blocks []block) []*block {
	var found []*block
	for i := range blocks {
		if blocks[i].kind != remark {
			found = append(found, &blocks[i])
		}
	}
	return found
}

// decidedInBold returns the blocks from one that begins with such a word in bold up to the next
// that begins with another.
func (d *document) decidedInBold(s *section) []*block {
	var found []*block
	for i := range s.blocks {
		text := strings.ToLower(strings.TrimSpace(d.line(s.blocks[i].from)))
		switch bold := strings.HasPrefix(text, "**"); {
		case len(found) == 0 && (strings.HasPrefix(text, "**deci") || strings.HasPrefix(text, "decision:") || strings.HasPrefix(text, "decided:")):
			found = append(found, &s.blocks[i])
		case len(found) > 0 && bold:
			return found
		case len(found) > 0:
			found = append(found, &s.blocks[i])
		}
	}
	return found
}

// isNote reports whether a block is about the record itself: a status, a date, the participants.
func (d *document) isNote(b block) bool {
	key, _ := fieldOf(d.line(b.from))
	return slices.Contains([]string{
		"status", "date", "deciders", "author", "authors", "decision-makers", "consulted", "informed", "tags", "superseded by",
	}, key)
}

// fieldOf parses a line like "Date: 2024-01-05", "* Status: accepted" or "**Date**: ...".
func fieldOf(line string) (key, value string) {
	text := strings.TrimSpace(line)
	text = text[bulletOf(text):]
	key, value, ok := strings.Cut(text, ":")
	if !ok || len(key) > 30 {
		return "", ""
	}
	return strings.ToLower(strings.Trim(key, "*_ |")), strings.Trim(value, "*_ |")
}

// statusOf returns the status of the record.
func (d *document) statusOf() string {
	if d.status != "" {
		return d.status
	}
	for i := range d.sections {
		s := &d.sections[i]
		for _, b := range s.blocks {
			if strings.EqualFold(s.title(), "status") {
				return firstLine(d.plain(b))
			}
			for n := b.from; n <= min(b.to, b.from+8); n++ {
				if key, value := fieldOf(d.line(n)); key == "status" {
					return value
				}
			}
		}
		if i > 3 {
			break
		}
	}
	return ""
}

func firstLine(text string) string {
	line, _, _ := strings.Cut(text, "\n")
	return line[:boundary(line, maxName)]
}

// isOpen reports whether a status means that the decision is not in force.
func isOpen(status string) bool {
	words := wordsOf(status)
	return hasAny(words, "superseded", "deprecated", "rejected", "proposed", "draft", "pending", "replaced", "obsolete", "withdrawn")
}

// dateOfDecision returns the date in the front matter, on a line of its own, in a section, or next
// to the status.
func (d *document) dateOfDecision(status string) time.Time {
	if !d.date.IsZero() {
		return d.date
	}
	for n := d.after; n <= min(d.lines(), d.after+40); n++ {
		if key, value := fieldOf(d.line(n)); key == "date" || key == "decided" || key == "last updated" {
			if at := dateOf(value); !at.IsZero() {
				return at
			}
		}
	}
	for i := range d.sections {
		if s := &d.sections[i]; strings.EqualFold(s.title(), "date") && len(s.blocks) > 0 {
			return dateIn(d.line(s.blocks[0].from))
		}
	}
	return dateIn(status)
}
