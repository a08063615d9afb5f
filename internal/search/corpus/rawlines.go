package corpus

import "bytes"

// rawLines is like lines, for Query.Raw. The context of a match ends at the match before and at the
// one after, so that all contexts together are at most twice the text.
func (s *search) rawLines(data []byte, hits []hit, part textRange) []Line {
	all := make([]Line, len(hits))
	first := 0 // the end of the match before
	for i, h := range hits {
		after := afterLine(data, h.end)
		searched := data[h.start:h.end]
		if s.query.Pattern.Multiline {
			searched = data[h.start:after]
		}
		l := &all[i]
		*l = Line{
			Number: part.lines + h.number, Column: 1, Offset: part.offset + int64(h.start),
			Text: string(data[h.start:after]), Spans: s.query.Pattern.FindAll(searched),
		}
		if len(l.Spans) > 0 {
			l.Column = l.Spans[0][0] + 1
		}
		start, end, last := h.start, after, len(data)
		if i+1 < len(hits) {
			last = hits[i+1].start
		}
		for n := s.query.Context; n > 0 && start > first; n-- {
			start = bytes.LastIndexByte(data[:start-1], '\n') + 1
		}
		for n := s.query.Context; n > 0 && end < last; n-- {
			end = afterLine(data, end)
		}
		l.Before = splitLines(data[start:h.start])
		l.After = splitLines(data[after:end])
		first = after
	}
	return all
}

// afterLine returns the start of the next line.
func afterLine(data []byte, at int) int {
	if n := bytes.IndexByte(data[at:], '\n'); n >= 0 {
		return at + n + 1
	}
	return len(data)
}

// splitLines returns lines with their line ends.
func splitLines(data []byte) (lines []string) {
	for line := range bytes.Lines(data) {
		lines = append(lines, string(line))
	}
	return lines
}
