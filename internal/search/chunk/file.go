package chunk

import (
	"bytes"
	"strings"
	"unicode/utf8"
)

// A file is a text with its lines. Lines count from 1, and ranges include both ends.
type file struct {
	name, language string
	text           string
	starts         []int // the offset of each line, and the end of the text
}

// newFile converts bytes into a text: valid UTF-8 without NUL, with newlines as line ends.
func newFile(name, language string, content []byte) *file {
	content = bytes.TrimPrefix(content, []byte("\uFEFF"))
	text := string(content)
	if strings.Contains(text, "\r\n") {
		text = strings.ReplaceAll(text, "\r\n", "\n")
	}
	if !utf8.ValidString(text) {
		text = strings.ToValidUTF8(text, "\uFFFD")
	}
	if strings.Contains(text, "\x00") {
		text = strings.ReplaceAll(text, "\x00", " ")
	}
	name = strings.ReplaceAll(strings.ToValidUTF8(name, "\uFFFD"), "\x00", " ")
	f := &file{name: name, language: language, text: text, starts: make([]int, 1, 2+len(text)/32)}
	for at := 0; ; {
		i := strings.IndexByte(text[at:], '\n')
		if i < 0 {
			break
		}
		at += i + 1
		f.starts = append(f.starts, at)
	}
	if f.starts[len(f.starts)-1] < len(text) {
		f.starts = append(f.starts, len(text))
	}
	return f
}

// lines returns the number of lines.
func (f *file) lines() int { return len(f.starts) - 1 }

// line returns a line without its line end.
func (f *file) line(n int) string { return strings.TrimSuffix(f.text[f.starts[n-1]:f.starts[n]], "\n") }

// span returns a range of lines unchanged.
func (f *file) span(from, to int) string { return f.text[f.starts[from-1]:f.starts[to]] }

func (f *file) size(from, to int) int { return f.starts[to] - f.starts[from-1] }

func (f *file) isBlank(n int) bool { return strings.TrimSpace(f.line(n)) == "" }

// trim removes blank lines at both ends of a range; from is greater than to if nothing is left.
func (f *file) trim(from, to int) (int, int) {
	for from <= to && f.isBlank(from) {
		from++
	}
	for to >= from && f.isBlank(to) {
		to--
	}
	return from, to
}

// indent returns the indentation of a line; a tab counts as four spaces.
func indent(line string) int {
	n := 0
	for i := range len(line) {
		switch line[i] {
		case ' ':
			n++
		case '\t':
			n += 4
		default:
			return n
		}
	}
	return n
}

// maxName is the maximum length of a name in bytes.
const maxName = 200

func cutName(name string) string {
	if len(name) <= maxName && utf8.ValidString(name) && !strings.Contains(name, "\x00") {
		return name
	}
	name = strings.ReplaceAll(strings.ToValidUTF8(name, "\uFFFD"), "\x00", " ")
	return strings.TrimSpace(name[:boundary(name, maxName)])
}

// cutText shortens a text to the maximum of a chunk, at the end of a line or word if there is one
// near the limit.
func cutText(text string) string {
	if len(text) <= MaxText {
		return text
	}
	return strings.TrimRight(text[:wordEnd(text, MaxText)], " \t\n")
}

// wordEnd returns the best position to cut a text that is longer than a limit: after a line, a
// sentence or a word, and never within a character. It never returns 0.
func wordEnd(text string, limit int) int {
	limit = boundary(text, limit)
	head := text[:limit]
	for _, end := range []string{"\n", ". ", " "} {
		if i := strings.LastIndex(head, end); i >= limit/2 {
			return i + len(end)
		}
	}
	return limit
}

// boundary returns the last character boundary up to a limit. It returns 0 only if the text is
// empty.
func boundary(text string, limit int) int {
	if limit >= len(text) {
		return len(text)
	}
	for limit > 1 && !utf8.RuneStart(text[limit]) {
		limit--
	}
	return limit
}

// wordBytes counts the bytes of a text that belong to words: at least three letters in a row that
// do not follow a digit. Tables of numbers, hexadecimal or not, contain none.
func wordBytes(text string) int {
	total, run, digits := 0, 0, false
	for i := range len(text) {
		switch c := text[i]; {
		case c|0x20 >= 'a' && c|0x20 <= 'z' || c >= utf8.RuneSelf:
			run++
		default:
			if run >= 3 && !digits {
				total += run
			}
			digits, run = isDigit(c), 0
		}
	}
	if run >= 3 && !digits {
		total += run
	}
	return total
}

func isDigit(c byte) bool { return c >= '0' && c <= '9' }

// saysAnything reports whether a text contains words, in a sufficient proportion.
func saysAnything(text string) bool {
	words := wordBytes(text)
	return words >= 12 && (len(text) < 400 || words*8 >= len(text))
}
