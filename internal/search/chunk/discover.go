package chunk

import (
	"path"
	"slices"
	"strings"
)

// shortParagraph is the maximum length in bytes of a paragraph that may be one rule.
const shortParagraph = 700

// discoveries finds the discoveries in a document, and marks their blocks as taken.
func (d *document) discoveries() []Chunk {
	if d.purpose == decisions {
		return d.decision()
	}
	var found []Chunk
	for i := range d.sections {
		s := &d.sections[i]
		if p, ok := d.wholeSection(s); ok {
			found = append(found, p)
			continue
		}
		for j := range s.blocks {
			if p, ok := d.discovery(s, j); ok {
				found = append(found, p)
			}
		}
	}
	return found
}

// wholeSection returns a section as one discovery: one with its own heading under a heading that
// indicates a type, or a section of good practices without a list.
func (d *document) wholeSection(s *section) (Chunk, bool) {
	if len(s.blocks) == 0 || len(s.path) == 0 || d.size(s.from, s.to) > MaxText {
		return Chunk{}, false
	}
	kind := ""
	switch own := d.headingType(s.title()); {
	case d.purpose == practices:
		if !slices.ContainsFunc(s.blocks, func(b block) bool { return b.kind == item }) && (s.level > 1 || len(d.sections) == 1) {
			kind = practiceType(d.span(s.from, s.to))
		}
	case own == "" && d.purpose != instructions && d.purpose != contributing:
		kind = d.typeAround(s)
	}
	if kind == "" {
		return Chunk{}, false
	}
	var parts []string
	for i := range s.blocks {
		s.blocks[i].taken = true
		parts = append(parts, d.plain(s.blocks[i]))
	}
	text := s.title() + "\n" + strings.Join(parts, "\n")
	return Chunk{Type: kind, Name: s.name(), Text: cutText(text), Date: dateIn(s.title()), Line: s.from, End: s.to}, true
}

// discovery returns an item or a paragraph as a discovery, if it is one.
func (d *document) discovery(s *section, i int) (Chunk, bool) {
	b := &s.blocks[i]
	if b.taken || b.kind != item && b.kind != paragraph {
		return Chunk{}, false
	}
	text := d.plain(*b)
	kind := ""
	marked, rest := markedType(text)
	if marked != "" {
		kind, text = marked, rest
	} else if (wordBytes(text) >= 12 || b.kind == item && wordBytes(text) >= 6) && !isLink(text) && !strings.HasSuffix(text, ":") {
		kind = d.typeOf(s, *b, text)
	}
	if kind == "" {
		return Chunk{}, false
	}
	b.taken = true
	return Chunk{Type: kind, Name: s.name(), Text: cutText(text), Line: b.from, End: b.to}, true
}

// typeOf returns the type of discovery of a block that does not name it itself, or "".
func (d *document) typeOf(s *section, b block, text string) string {
	if b.kind == paragraph && len(text) > shortParagraph {
		return ""
	}
	if d.purpose == practices {
		return practiceType(text)
	}
	if kind := d.typeAround(s); kind != "" {
		return kind
	}
	switch d.purpose {
	case instructions:
		return d.instruction(s, b, text)
	case contributing:
		if len(s.path) > 0 && (b.kind == item || advises(wordsOf(text))) {
			return Rule
		}
	}
	return ""
}

// instruction returns the type of a block in a file of rules. Introductions, descriptions and lists
// of commands count only if they demand something.
func (d *document) instruction(s *section, b block, text string) string {
	introduces := b.kind == paragraph && (s.level <= 1 && d.language == "markdown" && len(s.path) > 0 || wordBytes(text) < 40)
	if (introduces || describes(s.title())) && !commands(wordsOf(text)) {
		return ""
	}
	return Rule
}

// practiceType distinguishes rules from other practices.
func practiceType(text string) string {
	if commands(wordsOf(text)) {
		return Rule
	}
	return Pattern
}

// typeAround returns the type indicated by the nearest heading, or by the document itself.
func (d *document) typeAround(s *section) string {
	for i := len(s.path) - 1; i >= 0; i-- {
		if kind := d.headingType(s.path[i]); kind != "" {
			return kind
		}
	}
	return typeNamed(d.kind)
}

// headingType returns the type of discovery that a heading indicates, or "". In guides such as a
// README, headings like "Issues" and "Decisions" indicate none: such a section explains where to
// report issues, or how decisions are recorded.
func (d *document) headingType(title string) string {
	kind := headingType(title)
	if kind == "" || !isGuide(strings.ToLower(path.Base(d.name))) {
		return kind
	}
	switch strings.ToLower(title) {
	case "issues", "bugs", "problems", "decisions", "decision log", "decision records", "architecture decisions":
		return ""
	}
	return kind
}

// describes reports whether a heading introduces a description rather than rules.
func describes(title string) bool {
	words := wordsOf(title)
	return hasAny(words, "overview", "architecture", "structure", "layout", "about", "introduction", "links", "resources", "license", "contents",
		"stack", "background", "directory", "directories", "files", "features", "references", "glossary", "commands", "scripts", "setup",
		"installation", "quickstart", "started")
}

// markedType returns the type that a block names at its beginning ("Decision: ...", "**Rule:**
// ..."), and the rest of the block; "" if it names none.
func markedType(text string) (kind, rest string) {
	plain := strings.TrimLeft(text, "*_> `")
	i := strings.IndexAny(plain[:min(len(plain), 40)], ":.")
	if i < 3 {
		return "", ""
	}
	bold := len(plain) < len(text) && strings.HasPrefix(text, "**")
	word := strings.TrimRight(plain[:i], "*_` ")
	if plain[i] == '.' && !bold || strings.Contains(word, " ") && !bold || word == "" || word[0] >= 'a' && word[0] <= 'z' {
		return "", ""
	}
	rest = strings.TrimLeft(plain[i+1:], "*_` ")
	switch kind = typeNamed(word); {
	case kind == "" || wordBytes(rest) < 8:
		return "", ""
	case strings.EqualFold(word, "why") || strings.EqualFold(word, "tip") || strings.EqualFold(word, "warning"):
		return "", ""
	}
	return kind, rest
}

// isLink reports whether a text is nothing but a link.
func isLink(text string) bool {
	return strings.HasPrefix(text, "[") && strings.HasSuffix(text, ")") && strings.Count(text, "](") == 1 || strings.HasPrefix(text, "http") && !strings.Contains(text, " ")
}

// plain returns the text of a block without the marks of lists and quotations, each paragraph on
// one line.
func (d *document) plain(b block) string {
	var out strings.Builder
	fence := ""
	for n := b.from; n <= b.to; n++ {
		text := strings.TrimSpace(d.line(n))
		opens := fence == "" && fenceOf(text) != ""
		text = strings.TrimSpace(strings.TrimLeft(text, ">"))
		switch {
		case text == "":
			continue
		case n == b.from:
			text = strings.TrimSpace(text[bulletOf(text):])
			for _, box := range []string{"[ ] ", "[x] ", "[X] "} {
				text = strings.TrimPrefix(text, box)
			}
		case fence != "" || opens || b.kind == listing || b.kind == table || bulletOf(text) > 0:
			out.WriteByte('\n')
		default:
			out.WriteByte(' ')
		}
		out.WriteString(text)
		switch {
		case opens:
			fence = fenceOf(text)
		case fence != "" && strings.HasPrefix(text, fence):
			fence = ""
		}
	}
	return out.String()
}
