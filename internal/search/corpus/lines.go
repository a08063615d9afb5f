package corpus

import (
	"bytes"
	"slices"
	"strings"
	"unicode/utf8"
)

const (
	maxLineBytes = 1000 // maximum length of a returned line
	maxLead      = 200  // maximum number of bytes before the match
)

// lines returns the lines of hits in data, which is the given part of the file. The texts of the
// lines are substrings of one string, which is faster than allocating many.
func (s *search) lines(data []byte, hits []hit, part textRange) []Line {
	if s.query.Raw {
		return s.rawLines(data, hits, part)
	}
	all := make([]Line, len(hits))
	size := 0
	for i := range hits {
		size += min(hits[i].end-hits[i].start, maxLineBytes) + 1
	}
	joined := make([]byte, 0, size)
	for i, h := range hits {
		l, text := &all[i], data[h.start:h.end]
		column, _ := s.query.Pattern.Find(text)
		l.Number, l.Column = part.lines+h.number, max(column, 0)+1
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
	splitJoined(all, string(joined))
	return all
}

// splitJoined assigns each line that is not cut its part of the joined texts.
func splitJoined(all []Line, joined string) {
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

// window returns a line or, if it is too long, the part around offset at.
func window(line []byte, at int) (text []byte, isCut bool) {
	if len(line) <= maxLineBytes {
		return line, false
	}
	from := max(0, min(at-maxLead, len(line)-maxLineBytes))
	for from > 0 && from < at && !utf8.RuneStart(line[from]) {
		from++
	}
	return shorten(line[from:]), true
}

// validate replaces invalid UTF-8, and cuts the line if that makes it too long.
func validate(line string) (text string, isCut bool) {
	text = strings.ToValidUTF8(line, string(utf8.RuneError))
	if len(text) > maxLineBytes {
		return string(shorten([]byte(text))), true
	}
	return text, false
}

// contextLine returns the text of a line of context.
func contextLine(line []byte) string {
	line, _ = window(bytes.TrimSuffix(line, []byte{'\r'}), 0)
	text, _ := validate(string(line))
	return text
}

// shorten cuts a line at its maximum length, without splitting a character.
func shorten(line []byte) []byte {
	if len(line) <= maxLineBytes {
		return line
	}
	end := maxLineBytes
	for end > maxLineBytes-utf8.UTFMax && !utf8.RuneStart(line[end]) {
		end--
	}
	return line[:end]
}

// linesBefore returns the last count lines of data. If data is not empty, it must end with \n.
func linesBefore(data []byte, count int) []string {
	var all []string
	for ; count > 0 && len(data) > 0; count-- {
		data = data[:len(data)-1]
		start := bytes.LastIndexByte(data, '\n') + 1
		all = append(all, contextLine(data[start:]))
		data = data[:start]
	}
	slices.Reverse(all)
	return all
}

// linesAfter returns the lines that follow the first line end in data.
func linesAfter(data []byte, count int) []string {
	var all []string
	_, data, _ = bytes.Cut(data, []byte{'\n'})
	for ; count > 0 && len(data) > 0; count-- {
		var line []byte
		line, data, _ = bytes.Cut(data, []byte{'\n'})
		all = append(all, contextLine(line))
	}
	return all
}
