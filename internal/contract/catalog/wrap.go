package catalog

import (
	"regexp"
	"strings"
	"sync"
	"unicode/utf8"
)

// maxColumns is the width of the Markdown that this package writes. Code blocks may be wider.
const maxColumns = 120

// blockMarker matches a word that begins a list, a heading, a quote, a table or a code block if it
// is the first word of a line.
var blockMarker = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile("^([-+*>|=]|#+|[0-9]+[.)]|[=-]+|(```|~~~).*)$") })

// Wrap joins the words of a text with spaces and newlines to lines of at most 120 columns. Every
// line but the first begins with indent; the caller writes as many columns before the first. Words
// longer than a line stay whole, and so do code spans.
func Wrap(text, indent string) string {
	var b strings.Builder
	column := utf8.RuneCountInString(indent)
	for i, word := range words(text) {
		width := utf8.RuneCountInString(word)
		switch {
		case i == 0:
		case column+1+width > maxColumns:
			b.WriteString("\n" + indent)
			column = utf8.RuneCountInString(indent)
		default:
			b.WriteString(" ")
			column++
		}
		b.WriteString(word)
		column += width
	}
	return b.String()
}

// words splits a text at white space where a line may end: not within a code span, and not before a
// word that Markdown would take for the beginning of a block.
func words(text string) []string {
	var list []string
	open := false // the last word ends within a code span
	for _, field := range strings.Fields(text) {
		if last := len(list) - 1; last >= 0 && (open || blockMarker().MatchString(field)) {
			list[last] += " " + field
		} else {
			list = append(list, field)
		}
		open = open != (strings.Count(field, "`")%2 == 1)
	}
	return list
}
