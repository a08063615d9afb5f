package pieces

import (
	"strings"

	"remit/internal/search/lexical"
)

// A comment is a comment's line: what is on it after the marks, where the marks begin, and on which line.
type comment struct {
	text         string
	line, column int
	alone        bool // nothing but blanks is before it
}

// comments gives all comments of a file, line by line.
func (f *file) comments() []comment {
	found, _ := lexical.Read(f.language, []byte(f.text), f.commentsOf)
	return found
}

func (f *file) commentsOf(s *lexical.Scanner) []comment {
	var found []comment
	s.Comments = true
	for t := s.Next(); t.Kind != lexical.End; t = s.Next() {
		if t.Kind != lexical.Comment {
			continue
		}
		start := f.starts[t.Line-1]
		alone := strings.TrimSpace(f.text[start:t.Start]) == ""
		for i, text := range strings.Split(t.Text, "\n") {
			text = strings.TrimRight(strings.TrimLeft(text, "/*!#-;% \t"), "* \t")
			found = append(found, comment{text: text, line: t.Line + i, column: t.Start - start, alone: alone || i > 0})
		}
	}
	return found
}
