package markdown

import (
	"html"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// explicitID splits the id off a heading such as "## Title {#id}".
func explicitID(text string) (rest, id string) {
	trimmed := strings.TrimRight(text, " \t")
	i := strings.LastIndex(trimmed, "{#")
	if i < 0 || !strings.HasSuffix(trimmed, "}") {
		return text, ""
	}
	id = trimmed[i+2 : len(trimmed)-1]
	if id == "" || strings.ContainsAny(id, " \t{}#") {
		return text, ""
	}
	return trimmed[:i], id
}

// plain returns the text of a heading without markup.
func plain(text string) string {
	var b strings.Builder
	p := inliner{scanner: &scanner{Document: &Document{anchors: map[string]bool{}}, text: text}, end: len(text)}
	for p.at < p.end {
		from := p.at
		c := text[from]
		if c == '_' {
			p.at += runLength(text[from:], c)
			if inWord(text, from, p.at) {
				b.WriteString(text[from:p.at])
			}
			continue
		}
		p.step()
		to := min(p.at, p.end)
		switch c {
		case '\\':
			b.WriteString(text[from+1 : to])
		case '`':
			b.WriteString(strings.Trim(text[from:to], "`"))
		case '<':
			if to == from+1 {
				b.WriteByte(c)
			}
		case '[', ']', '*', '~':
		case '!':
			if to == from+1 {
				b.WriteByte(c)
			}
		default:
			b.WriteString(text[from:to])
		}
	}
	return strings.TrimSpace(html.UnescapeString(b.String()))
}

// inWord reports whether underscores are part of a word and not a mark of emphasis.
func inWord(text string, start, end int) bool {
	before, _ := utf8.DecodeLastRuneInString(text[:start])
	after, _ := utf8.DecodeRuneInString(text[end:])
	word := func(r rune) bool { return r != utf8.RuneError && (unicode.IsLetter(r) || unicode.IsDigit(r)) }
	return word(before) && word(after)
}

// slug returns the anchor that GitHub gives a heading.
func slug(text string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == ' ':
			return '-'
		case r == '-', r == '_', unicode.IsLetter(r), unicode.IsNumber(r), unicode.IsMark(r):
			return unicode.ToLower(r)
		default:
			return -1
		}
	}, text)
}

// unusedSlug adds a number to an anchor that is taken.
func (d *Document) unusedSlug(name string) string {
	if !d.anchors[name] {
		return name
	}
	if d.repeats == nil {
		d.repeats = map[string]int{}
	}
	for {
		d.repeats[name]++
		if numbered := name + "-" + strconv.Itoa(d.repeats[name]); !d.anchors[numbered] {
			return numbered
		}
	}
}
