package console

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

const (
	// longestPart is how many bytes of a text a page shows: browsers grow slow with more.
	longestPart = 256 << 10
	// longestLine is how many bytes of a line of code a page shows.
	longestLine = 5000
)

// partsOf cuts a text into parts that pages can show, and not within fenced code if that
// can be helped.
func partsOf(text string) []string {
	var parts []string
	for len(text) > longestPart {
		at := endOfPart(text)
		parts = append(parts, text[:at])
		text = text[at:]
	}
	return append(parts, text)
}

// endOfPart finds the last blank line of a first part, or else the end of a line, of a
// word or of a character.
func endOfPart(text string) int {
	first := text[:longestPart]
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
		if end > longestPart/2 {
			return end
		}
	}
	return wholeCharacters(text, longestPart)
}

// shortLines cuts lines that are so long that nobody reads them.
func shortLines(text string) string {
	if len(text) <= longestLine {
		return text
	}
	var b strings.Builder
	for line := range strings.Lines(text) {
		kept, ended := strings.CutSuffix(line, "\n")
		if n := len(kept); n > longestLine {
			kept = kept[:wholeCharacters(kept, longestLine)]
			kept += fmt.Sprintf(" … and %d bytes more", n-len(kept))
		}
		b.WriteString(kept)
		if ended {
			b.WriteByte('\n')
		}
	}
	return b.String()
}

// wholeCharacters is the last place up to another one that cuts no character in two.
func wholeCharacters(text string, at int) int {
	for at > 0 && !utf8.RuneStart(text[at]) {
		at--
	}
	return at
}

// takeTitle takes the heading off a text that begins with the title of its page: nobody
// wants to read it twice. A text without a title gets that of its heading.
func takeTitle(text, title string) (rest, taken string) {
	line, rest, _ := strings.Cut(strings.TrimLeft(text, "\r\n"), "\n")
	heading, ok := strings.CutPrefix(strings.TrimRight(line, " \t\r"), "# ")
	heading = strings.TrimSpace(heading)
	if !ok || heading == "" || strings.ContainsAny(heading, "\\`*_~[]<>&#") || title != "" && title != heading {
		return text, title
	}
	return rest, heading
}
