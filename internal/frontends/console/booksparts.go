package console

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

const (
	// maxPartBytes is how much of a text one page shows: browsers become slow with more.
	maxPartBytes = 256 << 10
	// maxLineBytes is how much of a line of code a page shows.
	maxLineBytes = 5000
)

// splitParts splits a text into parts that fit on a page, outside of fenced code if possible.
func splitParts(text string) []string {
	var parts []string
	for len(text) > maxPartBytes {
		at := endOfPart(text)
		parts = append(parts, text[:at])
		text = text[at:]
	}
	return append(parts, text)
}

// endOfPart returns the end of the first part of a text: its last blank line, or else the end of a
// line, of a word or of a character.
func endOfPart(text string) int {
	first := text[:maxPartBytes]
	at, blank, fenced := 0, 0, false
	for line := range strings.Lines(first) {
		at += len(line)
		switch line = strings.TrimSpace(line); {
		case strings.HasPrefix(line, "```") || strings.HasPrefix(line, "~~~"):
			fenced = !fenced
		case line == "" && !fenced:
			blank = at
		}
	}
	for _, end := range []int{blank, strings.LastIndexByte(first, '\n') + 1, strings.LastIndexByte(first, ' ') + 1} {
		if end > maxPartBytes/2 {
			return end
		}
	}
	return runeBoundary(text, maxPartBytes)
}

// shortLines truncates very long lines.
func shortLines(text string) string {
	if len(text) <= maxLineBytes {
		return text
	}
	var b strings.Builder
	for line := range strings.Lines(text) {
		kept, ended := strings.CutSuffix(line, "\n")
		if n := len(kept); n > maxLineBytes {
			kept = kept[:runeBoundary(kept, maxLineBytes)]
			kept += fmt.Sprintf(" … and %d more bytes", n-len(kept))
		}
		b.WriteString(kept)
		if ended {
			b.WriteByte('\n')
		}
	}
	return b.String()
}

// runeBoundary returns the last position up to at that does not split a character.
func runeBoundary(text string, at int) int {
	for at > 0 && !utf8.RuneStart(text[at]) {
		at--
	}
	return at
}

// stripTitle removes the first heading of a text if it equals the title of its page, which shows
// the title already. If there is no title yet, the heading becomes the title.
func stripTitle(text, title string) (rest, newTitle string) {
	line, rest, _ := strings.Cut(strings.TrimLeft(text, "\r\n"), "\n")
	heading, ok := strings.CutPrefix(strings.TrimRight(line, " \t\r"), "# ")
	heading = strings.TrimSpace(heading)
	if !ok || heading == "" || strings.ContainsAny(heading, "\\`*_~[]<>&#") || title != "" && title != heading {
		return text, title
	}
	return rest, heading
}
