package extract

import "strings"

// A block is a part of a documentation page. Markdown, HTML, RST, POD and manuals are all parsed to
// blocks.
type block struct {
	kind  blockKind
	level int // of a heading, from 1
	text  string
}

type blockKind int

const (
	paragraph blockKind = iota
	heading
	item   // of a list
	term   // defined by the paragraphs after it
	sample // code
)

// A page collects the blocks of a document.
type page struct {
	title  string
	blocks []block
}

// add adds a block to the page, as one line, unless its text is empty.
func (p *page) add(kind blockKind, level int, text string) {
	if text = tidy(text); text != "" {
		p.blocks = append(p.blocks, block{kind, level, clip(text, 2*maxB)})
	}
}

// pairs returns the pairs of a page: headings with their sections, first sentences with what
// follows them, and terms with their definitions.
func (p *page) pairs() []Pair {
	var found []Pair
	path := make([]string, 7)
	for i, b := range p.blocks {
		switch b.kind {
		case heading:
			level := min(max(b.level, 1), 6)
			path[level] = b.text
			clear(path[level+1:])
			found = appendPair(found, p.section(path, i))
		case term:
			found = appendPair(found, p.definition(path, i))
		case paragraph:
			if len(b.text) >= 160 && isProse(b.text) && !isNoise(b.text) {
				found = append(found, proseLeads(b.text)...)
			}
		}
	}
	return found
}

func appendPair(found []Pair, pair Pair) []Pair {
	if pair.Kind == "" {
		return found
	}
	return append(found, pair)
}

// section pairs a heading, with those above it, with the text below it.
func (p *page) section(path []string, at int) Pair {
	name := p.blocks[at].text
	if isNoise(name) || len(name) > 200 {
		return Pair{}
	}
	body := p.body(at+1, false)
	if wordCount(body) < 12 {
		return Pair{}
	}
	return Pair{"doc", clip(p.headed(path), maxA), clip(body, maxProse)}
}

// headed joins the headings above a place, the nearest first, without repetitions. It uses at limit
// two of those above, and none if the heading is a question.
func (p *page) headed(path []string) string {
	var parts []string
	for level := len(path) - 1; level >= 0; level-- {
		text := path[level]
		if level == 0 {
			text = p.title
		}
		if text == "" || len(parts) == 3 || len(parts) > 0 && isNoise(text) ||
			strings.Contains(strings.Join(parts, " "), text) {
			continue
		}
		if parts = append(parts, text); strings.HasSuffix(text, "?") {
			break
		}
	}
	return strings.Join(parts, " - ")
}

// definition pairs a term with its definition. It adds the heading above if the term alone says
// little.
func (p *page) definition(path []string, at int) Pair {
	name := p.blocks[at].text
	body := p.body(at+1, true)
	if isNoise(name) || isLabel(name) || len(name) > 300 || wordCount(body) < 6 {
		return Pair{}
	}
	if wordCount(name) < 4 {
		for level := len(path) - 1; level > 0; level-- {
			if path[level] != "" {
				name += " - " + path[level]
				break
			}
		}
	}
	return Pair{"term", clip(name, maxA), clip(body, maxProse/2)}
}

// body joins the blocks from a place up to the next heading, or up to the next term in a list of
// definitions.
func (p *page) body(at int, defines bool) string {
	var out strings.Builder
	for _, b := range p.blocks[at:] {
		if b.kind == heading || b.kind == term && defines || out.Len() > maxProse {
			break
		}
		text := b.text
		if b.kind == sample {
			text = clip(text, 240)
		}
		out.WriteString(text)
		out.WriteByte(' ')
	}
	return strings.TrimSpace(out.String())
}

// isNoise reports whether a heading or a term is so common that it says nothing about the text
// below it.
func isNoise(name string) bool {
	lower := strings.ToLower(strings.Trim(name, " :.#*¶"))
	if lower == "" || isVersion(lower) {
		return true
	}
	for _, part := range []string{
		"table of contents", "see also", "license", "licence", "copyright", "changelog", "release notes",
		"contributors", "acknowledg",
		"indices and tables", "navigation", "quick search", "this page", "sponsor", "backers", "javascript is",
		"previous topic", "next topic", "all rights reserved",
		"permission is hereby", "creative commons", "last updated", "what's new in", "bug fixes", "generated on",
		"documentation for package", "breaking change",
	} {
		if strings.Contains(lower, part) {
			return true
		}
	}
	switch lower {
	case "contents", "index", "authors", "author", "links", "references", "download", "badges", "support", "credits",
		"thanks", "related", "bugs", "history", "changes", "content",
		"contributing", "donate", "contact", "synopsis", "search", "home", "menu", "languages", "contents:",
		"bibliography", "footnotes":
		return true
	}
	return false
}

// isVersion reports whether a text begins with a version number, like the entries of a change log.
func isVersion(text string) bool {
	text = strings.TrimLeft(strings.TrimPrefix(text, "version "), "[v ")
	digits, dots := 0, 0
	for i := range len(text) {
		switch c := text[i]; {
		case isDigit(c):
			digits++
		case c == '.' || c == '-':
			dots++
		default:
			return digits >= 2 && dots >= 1 && dots*3 >= digits && i >= 3 && strings.IndexByte(" )]", c) >= 0
		}
	}
	return digits > 0
}

// isLabel reports whether a term is one of those that every list of definitions of an interface
// has.
func isLabel(term string) bool {
	switch strings.ToLower(strings.TrimRight(term, ": .")) {
	case "parameters", "returns", "return", "raises", "return type", "yields", "throws", "type", "types", "default",
		"note", "notes", "requires", "effects", "overview",
		"postconditions", "preconditions", "attributes", "methods", "arguments", "args", "examples", "example",
		"output", "input", "value", "usage", "remarks", "since",
		"description", "context", "syntax", "override", "status", "module", "variables", "exceptions", "except",
		"warning", "warnings":
		return true
	}
	return false
}
