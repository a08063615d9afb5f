// Package visible makes the characters of a text visible that a terminal or a page would not show,
// or would obey: control characters and escape sequences, marks that change the direction of
// writing, characters without width, letters that draw nothing, and bytes that are not UTF-8.
// Nothing that came from somebody else is shown to a person before it went through this package.
package visible

import (
	"fmt"
	"io"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"
)

// Text escapes the hidden characters of a text of several lines. It keeps line breaks and tabs.
//
// The control characters below a space are escaped as in Go, such as \r and \x1b, and bytes that
// are not UTF-8 as \xff. All others are escaped as in JSON, such as \u202e: only these can stand
// unescaped in JSON, so JSON stays JSON with the same meaning.
func Text(text string) string { return escape(text, true) }

// Line is like Text, and also escapes line breaks and tabs. It is for a text within a line, such as
// a cell of a table.
func Line(text string) string { return escape(text, false) }

// Clip returns the beginning of a line that is longer than limit, and how long it is.
func Clip(line string, limit int) string {
	runes := []rune(line)
	if len(runes) <= limit {
		return line
	}
	return fmt.Sprintf("%s… (%d characters)", string(runes[:limit]), len(runes))
}

// Index returns the index of the first character that Line escapes, or -1 if there is none.
func Index(text string) int { return index(text, false) }

// Writer writes to a terminal. What is written to it is text, which it escapes as Text does; a
// character must not be split between two calls of Write.
type Writer struct {
	// Terminal takes the control sequences of the program itself, such as colors. Whatever else is
	// written there must have been escaped.
	Terminal io.Writer
}

// Write writes a text with its hidden characters escaped.
func (w *Writer) Write(text []byte) (int, error) {
	if _, err := io.WriteString(w.Terminal, Text(string(text))); err != nil {
		return 0, err
	}
	return len(text), nil
}

func escape(text string, breaks bool) string {
	if index(text, breaks) < 0 {
		return text
	}
	var b strings.Builder
	s := scanner{breaks: breaks}
	for len(text) > 0 {
		size, isVisible := s.next(text)
		if isVisible {
			b.WriteString(text[:size])
		} else {
			writeEscape(&b, text[:size])
		}
		text = text[size:]
	}
	return b.String()
}

func index(text string, breaks bool) int {
	s := scanner{breaks: breaks}
	for at := 0; at < len(text); {
		size, isVisible := s.next(text[at:])
		if !isVisible {
			return at
		}
		at += size
	}
	return -1
}

func writeEscape(b *strings.Builder, char string) {
	r, size := utf8.DecodeRuneInString(char)
	switch {
	case r == utf8.RuneError && size == 1:
		fmt.Fprintf(b, `\x%02x`, char[0])
	case r < ' ':
		b.WriteString(strings.Trim(strconv.QuoteRune(r), "'"))
	default:
		for _, unit := range utf16.AppendRune(nil, r) {
			fmt.Fprintf(b, `\u%04x`, unit)
		}
	}
}

// maxMarks is how many combining marks a character may carry. More of them cover the lines above
// and below.
const maxMarks = 4

// scanner decides which characters of a text are visible.
type scanner struct {
	breaks bool // line breaks and tabs are visible
	last   rune // the character before, or 0 if that is escaped
	marks  int  // number of combining marks before the next character
}

// next returns the size in bytes of the run of ASCII or the character that text begins with, and
// whether it is visible.
func (s *scanner) next(text string) (size int, isVisible bool) {
	for size < len(text) && ' ' <= text[size] && text[size] < 0x7f {
		size++
	}
	if size > 0 {
		s.last, s.marks = rune(text[size-1]), 0
		return size, true
	}
	r, size := utf8.DecodeRuneInString(text)
	if isVisible = s.isVisible(r, size); isVisible {
		s.last = r
	} else {
		s.last = 0
	}
	return size, isVisible
}

const (
	textStyle    = 0xFE0E // the character before is drawn as text
	emojiStyle   = 0xFE0F // the character before is drawn as an emoji
	blankBraille = 0x2800
)

func (s *scanner) isVisible(r rune, size int) bool {
	if r >= 0x300 && unicode.In(r, unicode.Mn, unicode.Me) {
		s.marks++
	} else {
		s.marks = 0
	}
	switch {
	case r == '\n' || r == '\t':
		return s.breaks
	case r == utf8.RuneError && size == 1, !strconv.IsGraphic(r):
		return false
	case r < 0x300:
		return true
	case r == textStyle || r == emojiStyle:
		return unicode.In(s.last, unicode.N, unicode.P, unicode.S)
	case r == blankBraille, unicode.In(r, unicode.Other_Default_Ignorable_Code_Point, unicode.Variation_Selector):
		return false
	default:
		return s.marks <= maxMarks
	}
}
