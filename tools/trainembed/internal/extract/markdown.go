package extract

import (
	"strings"
	"sync"
)

// markdownPairs pairs the headings of Markdown or AsciiDoc with their sections.
func markdownPairs(_, text string) []Pair {
	m := markdown{}
	lines := strings.Split(frontMatter(&m.page, text), "\n")
	for i := 0; i < len(lines); i++ {
		next := ""
		if i+1 < len(lines) {
			next = lines[i+1]
		}
		if m.line(strings.TrimRight(lines[i], " \t\r"), strings.TrimSpace(next)) {
			i++
		}
	}
	m.flush()
	return m.page.pairs()
}

// frontMatter removes the settings between lines of dashes from a text, and reads the title in
// them.
func frontMatter(p *page, text string) string {
	rest, ok := strings.CutPrefix(text, "---\n")
	if !ok {
		return text
	}
	settings, rest, ok := strings.Cut(rest, "\n---")
	if !ok {
		return text
	}
	for line := range strings.SplitSeq(settings, "\n") {
		if title, ok := strings.CutPrefix(line, "title:"); ok {
			p.title = strings.Trim(title, " \"'\r")
		}
	}
	return rest
}

// markdown parses lines and collects those of the current block.
type markdown struct {
	page  page
	fence string // what ends the open code block or comment
	kind  blockKind
	open  []string
}

// line parses one line. It reports whether it used the next one too, as the underline of a heading.
func (m *markdown) line(line, next string) bool {
	bare := strings.TrimLeft(line, " \t>")
	if m.fence == "-->" {
		if strings.Contains(line, m.fence) {
			m.fence = ""
		}
		return false
	}
	if m.fence != "" {
		if strings.HasPrefix(bare, m.fence) {
			m.flush()
			m.fence = ""
		} else {
			m.open = append(m.open, line)
		}
		return false
	}
	switch {
	case bare == "":
		m.flush()
	case strings.HasPrefix(bare, "```"), strings.HasPrefix(bare, "~~~"),
		strings.HasPrefix(bare, "----") && line == bare && len(m.open) == 0:
		m.flush()
		m.fence, m.kind = bare[:3], sample
	case bare[0] == '#', strings.HasPrefix(bare, "== "), strings.HasPrefix(bare, "=== "), strings.HasPrefix(bare, "==== "):
		m.flush()
		m.heading(bare)
	case len(m.open) == 0 && underlines(next) && line == bare && bare[0] != '|':
		m.page.add(heading, 1+strings.Count(next[:1], "-"), inline(bare))
		return true
	case strings.HasPrefix(bare, "<!--"):
		m.flush()
		if !strings.Contains(bare, "-->") {
			m.fence = "-->"
		}
	case bare[0] == '|', strings.HasPrefix(bare, "[!["), strings.HasPrefix(bare, "import "),
		bare[0] == ':' && len(m.open) == 0:
		m.flush()
	case isItem(bare):
		m.flush()
		m.kind = item
		m.open = append(m.open, strings.TrimLeft(bare, "*-+0123456789.) "))
	default:
		m.open = append(m.open, bare)
	}
	return false
}

func (m *markdown) heading(line string) {
	text := strings.TrimLeft(line, "#=")
	if text == "" || text[0] != ' ' {
		return
	}
	text, _, _ = strings.Cut(text, " {#")
	m.page.add(heading, len(line)-len(strings.TrimLeft(line, "#=")), inline(strings.Trim(text, " #=")))
}

// flush ends the current block.
func (m *markdown) flush() {
	text := strings.Join(m.open, "\n")
	if m.kind != sample {
		text = inline(text)
	}
	m.page.add(m.kind, 0, text)
	m.open, m.kind = nil, paragraph
}

// inline returns the words of Markdown text.
func inline(text string) string {
	text = plain(text)
	if !strings.ContainsAny(text, "*_") {
		return text
	}
	return emphasis().Replace(text)
}

// emphasis removes the marks of emphasis, and the backslashes before escaped marks.
var emphasis = sync.OnceValue(func() *strings.Replacer {
	return strings.NewReplacer("\\_", "_", "\\*", "*", " *", " ", "* ", " ", " _", " ", "_ ", " ")
})

// underlines reports whether a line is only the underline of a heading.
func underlines(line string) bool {
	return len(line) >= 3 && (strings.Trim(line, "=") == "" || strings.Trim(line, "-") == "")
}

// isItem reports whether a line begins a list item.
func isItem(line string) bool {
	if len(line) > 2 && strings.IndexByte("*-+", line[0]) >= 0 && line[1] == ' ' {
		return true
	}
	if strings.HasPrefix(line, "#. ") {
		return true
	}
	digits := 0
	for digits < len(line) && isDigit(line[digits]) {
		digits++
	}
	after := line[digits:]
	return digits > 0 && digits < 4 && (strings.HasPrefix(after, ". ") || strings.HasPrefix(after, ") "))
}
