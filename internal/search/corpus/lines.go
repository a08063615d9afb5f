package corpus

import (
	"bytes"
	"slices"
	"strings"
	"unicode/utf8"
)

const (
	mostBytes = 1000 // of a line that are given
	lead      = 200  // of which so many may stand before the match
)

// lines makes the lines of hits: data is the text, and so many lines come before it in the file. Their texts are parts of
// one string, which is made faster than many.
func (s *search) lines(data []byte, hits []hit, before int) []Line {
	all := make([]Line, len(hits))
	size := 0
	for i := range hits {
		size += min(hits[i].end-hits[i].start, mostBytes) + 1
	}
	joined := make([]byte, 0, size)
	for i, h := range hits {
		l, text := &all[i], data[h.start:h.end]
		column, _ := s.query.Pattern.Find(text)
		l.Number, l.Column = before+h.number, max(column, 0)+1
		if text, l.Cut = window(text, l.Column-1); l.Cut {
			l.Text, _ = validate(string(text))
		} else {
			joined = append(append(joined, text...), '\n')
		}
		if s.query.Context > 0 {
			l.Before = linesBefore(data[:h.start], s.query.Context)
			l.After = linesAfter(data[h.end:], s.query.Context)
		}
	}
	share(all, string(joined))
	return all
}

// share gives each line that is not cut its part of the joined texts.
func share(all []Line, joined string) {
	isValid := utf8.ValidString(joined)
	for i := range all {
		l := &all[i]
		if l.Cut {
			continue
		}
		l.Text, joined, _ = strings.Cut(joined, "\n")
		if !isValid {
			l.Text, l.Cut = validate(l.Text)
		}
	}
}

// window returns a line, or the part of it that has the place at, if it is too long.
func window(line []byte, at int) (text []byte, isCut bool) {
	if len(line) <= mostBytes {
		return line, false
	}
	from := max(0, min(at-lead, len(line)-mostBytes))
	for from > 0 && from < at && !utf8.RuneStart(line[from]) {
		from++
	}
	return shorten(line[from:]), true
}

// validate replaces what is no UTF-8, and cuts the line if that makes it too long.
func validate(line string) (text string, isCut bool) {
	text = strings.ToValidUTF8(line, string(utf8.RuneError))
	if len(text) > mostBytes {
		return string(shorten([]byte(text))), true
	}
	return text, false
}

// shown is what is given of a line that is context.
func shown(line []byte) string {
	line, _ = window(bytes.TrimSuffix(line, []byte{'\r'}), 0)
	text, _ := validate(string(line))
	return text
}

// shorten returns the beginning of a line, without half a character at its end.
func shorten(line []byte) []byte {
	if len(line) <= mostBytes {
		return line
	}
	end := mostBytes
	for end > mostBytes-utf8.UTFMax && !utf8.RuneStart(line[end]) {
		end--
	}
	return line[:end]
}

// linesBefore returns the last lines of data, which ends with a line's end, if it is not empty.
func linesBefore(data []byte, count int) []string {
	var all []string
	for ; count > 0 && len(data) > 0; count-- {
		data = data[:len(data)-1]
		start := bytes.LastIndexByte(data, '\n') + 1
		all = append(all, shown(data[start:]))
		data = data[:start]
	}
	slices.Reverse(all)
	return all
}

// linesAfter returns the lines that follow the one whose end data begins with.
func linesAfter(data []byte, count int) []string {
	var all []string
	_, data, _ = bytes.Cut(data, []byte{'\n'})
	for ; count > 0 && len(data) > 0; count-- {
		var line []byte
		line, data, _ = bytes.Cut(data, []byte{'\n'})
		all = append(all, shown(line))
	}
	return all
}
