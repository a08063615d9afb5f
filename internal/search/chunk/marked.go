package chunk

import (
	"slices"
	"strings"

	"remit/internal/search/lexical"
	"remit/internal/search/outline"
)

// marked returns the discoveries in the comments of a file: those that begin with a marker word.
func (f *file) marked() []Chunk {
	markers := []string{"TODO", "FIXME", "XXX", "BUG", "HACK", "ISSUE", "DECISION:", "RULE:", "PATTERN:", "INVARIANT:", "WHY:"}
	if !slices.ContainsFunc(markers, func(marker string) bool { return strings.Contains(f.text, marker) }) {
		return nil // a quick check that covers most files
	}
	var found []Chunk
	comments := f.comments()
	for i := 0; i < len(comments) && len(found) < MaxChunks; {
		marker, text := markerOf(comments[i].text)
		next := i + 1
		if marker == "" {
			i = next
			continue
		}
		for next < len(comments) && next-i < maxContinued && continues(comments[next-1], comments[next]) {
			text += " " + comments[next].text
			next++
		}
		if p, ok := noteOf(marker, text); ok {
			p.Line, p.End = comments[i].line, comments[next-1].line
			found = append(found, p)
		}
		i = next
	}
	f.nameAround(found)
	return found
}

// maxContinued is the maximum number of lines of such a comment.
const maxContinued = 12

// markerOf returns the marker word at the beginning of a comment, and the comment; "" if there is
// none. Words that are often used just for emphasis need a colon.
func markerOf(text string) (marker, whole string) {
	text = strings.TrimLeft(text, "@")
	n := 0
	for n < len(text) && text[n] >= 'A' && text[n] <= 'Z' {
		n++
	}
	if n < 3 {
		return "", ""
	}
	word, rest := text[:n], text[n:]
	rest = withoutOwner(rest)
	colon := strings.HasPrefix(rest, ":")
	switch word {
	case "DECISION", "RULE", "PATTERN", "INVARIANT", "WHY":
		if !colon {
			return "", ""
		}
	case "TODO", "FIXME", "XXX", "BUG", "HACK", "ISSUE":
		if rest != "" && !strings.ContainsAny(rest[:1], ": -!,.") {
			return "", ""
		}
	default:
		return "", ""
	}
	return word, text
}

// withoutOwner removes the brackets after a marker, as in TODO(ann).
func withoutOwner(rest string) string {
	if !strings.HasPrefix(rest, "(") && !strings.HasPrefix(rest, "[") {
		return rest
	}
	if i := strings.IndexAny(rest, ")]"); i >= 0 && i < 60 {
		return rest[i+1:]
	}
	return rest
}

// continues reports whether a comment on the next line continues the one before.
func continues(before, next comment) bool {
	if next.line != before.line+1 || !next.alone || next.text == "" || abs(next.column-before.column) > 3 {
		return false
	}
	marker, _ := markerOf(next.text)
	isDirective := strings.HasPrefix(next.text, "go:") || strings.HasPrefix(next.text, "nolint") || strings.HasPrefix(next.text, "@") ||
		strings.HasPrefix(next.text, "eslint-") || strings.HasPrefix(next.text, "+build")
	return marker == "" && !isDirective
}

func abs(n int) int { return max(n, -n) }

// noteOf converts a marked comment into a discovery; false if it has no text. The markers of open
// work stay: they distinguish a wish from a fault.
func noteOf(marker, text string) (Chunk, bool) {
	said := withoutOwner(strings.TrimLeft(text[len(marker):], " "))
	said = strings.TrimLeft(said, ":-!,. \t")
	if len(strings.Fields(said)) < 2 || wordBytes(said) < 6 {
		return Chunk{}, false
	}
	p := Chunk{Source: Discovery, Type: Issue, Text: cutText(text)}
	switch marker {
	case "DECISION", "WHY":
		p.Type, p.Text = Decision, cutText(said)
	case "RULE", "INVARIANT":
		p.Type, p.Text = Rule, cutText(said)
	case "PATTERN":
		p.Type, p.Text = Pattern, cutText(said)
	}
	return p, true
}

// nameAround names each chunk after the declaration that contains it or directly follows it.
func (f *file) nameAround(found []Chunk) {
	if len(found) == 0 {
		return
	}
	symbols := outline.Outline(f.language, []byte(f.text))
	for i := range found {
		reach := f.reach(found[i].End)
		for _, s := range symbols {
			if s.Line > reach {
				break
			}
			if s.End >= found[i].Line {
				found[i].Name = s.Name
			}
		}
	}
}

// reach returns the last line on which a declaration may begin that a comment belongs to: comments
// and decorators may be between them, but no blank line and no end of a block.
func (f *file) reach(line int) int {
	last := min(f.lines(), line+maxContinued)
	for line < last {
		text := strings.TrimSpace(f.line(line + 1))
		if text == "" || strings.ContainsAny(text[:1], "})]") {
			break
		}
		line++
		if !belongsToNext(text) && !strings.HasSuffix(text, "*/") {
			break
		}
	}
	return line
}

// A comment is one line of a comment: its text after the marks, the position of the marks, and its
// line.
type comment struct {
	text         string
	line, column int
	alone        bool // only blanks before it
}

// comments returns all comments of a file, line by line.
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
