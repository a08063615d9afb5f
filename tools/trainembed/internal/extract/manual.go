package extract

import (
	"cmp"
	"path"
	"strings"
)

// isManual reports whether a path is a page of the English manual.
func isManual(name string) bool {
	folder := path.Base(path.Dir(name))
	if len(folder) != 4 || !strings.HasPrefix(folder, "man") || !strings.HasSuffix(path.Dir(path.Dir(name)), "/man") {
		return false
	}
	return isDigit(folder[3])
}

// manualPairs pairs the one-line summary of a manual page with its description, its headings with
// their sections, and its options with their explanations.
func manualPairs(name, text string) []Pair {
	m := manual{}
	base := path.Base(strings.TrimSuffix(name, ".gz"))
	m.page.title = strings.TrimSuffix(base, path.Ext(base))
	for line := range strings.SplitSeq(text, "\n") {
		m.line(strings.TrimRight(line, " \r"))
	}
	m.flush()
	m.summary()
	found := m.page.pairs()
	for i := range found {
		found[i].Kind = "man"
	}
	return found
}

// manual parses the lines of roff and collects the text of the current block.
type manual struct {
	page  page
	open  strings.Builder
	kind  blockKind
	level int
	tag   bool // the next line of text is a term
	skip  bool // inside a macro definition or a table
	named bool // the text of a heading follows on the next line
}

// summary makes the line below NAME the title of the page, so that every heading has a subject.
func (m *manual) summary() {
	for i, b := range m.page.blocks {
		if b.kind != heading || !strings.EqualFold(b.text, "name") || i+1 >= len(m.page.blocks) {
			continue
		}
		line := m.page.blocks[i+1].text
		if _, says, ok := strings.Cut(line, " - "); ok {
			line = says
		}
		m.page.title = m.page.title + " " + clip(line, 160)
		m.page.blocks = append(m.page.blocks[:i:i], m.page.blocks[i+2:]...)
		return
	}
}

func (m *manual) line(line string) {
	if m.skip {
		m.skip = line != ".." && line != ".TE" && line != ".fi"
		return
	}
	if line == "" {
		m.flush()
		return
	}
	if line[0] != '.' && line[0] != '\'' {
		m.text(roffText(line))
		return
	}
	macro, rest, _ := strings.Cut(strings.TrimLeft(line[1:], " \t"), " ")
	m.macro(macro, strings.TrimSpace(rest))
}

// text adds a line to the current block. After a tag it starts a new block.
func (m *manual) text(line string) {
	m.open.WriteString(line)
	m.open.WriteByte(' ')
	if m.tag || m.named {
		m.tag, m.named = false, false
		m.flush()
	}
}

// macro handles a line that begins with a dot, of the macro packages man and mdoc.
func (m *manual) macro(name, rest string) {
	switch name {
	case "SH", "Sh", "SS", "Ss":
		m.flush()
		m.kind, m.level = heading, 1
		if strings.EqualFold(name, "ss") {
			m.level = 2
		}
		m.named = true
		if rest != "" {
			m.text(roffText(unquote(rest)))
		}
	case "TP", "TQ":
		m.flush()
		m.kind, m.tag = term, true
	case "IP", "It":
		m.flush()
		if words := roffText(withoutMacros(unquote(rest))); wordCount(words) > 0 {
			m.page.add(term, 0, words)
		}
	case "PP", "P", "LP", "Pp", "HP", "RS", "RE", "sp", "Bl", "El", "nf", "fi":
		m.flush()
	case "B", "I", "BR", "BI", "IR", "RB", "RI", "IB", "SM", "SB", "UR", "MT":
		m.text(roffText(alternate(rest, len(name) == 2 && name != "SM" && name != "SB")))
	case "de", "TS", "ig":
		m.skip = true
	case "Nm":
		m.text(cmp.Or(roffText(rest), m.page.title))
	case "Nd":
		m.text("- " + roffText(rest))
	case "Fl", "Ar", "Cm", "Ic", "Pa", "Xr", "Dq", "Sq", "Li", "Va", "Ev", "Fn", "Em", "Sy", "Op", "Dv", "Ft", "Fa",
		"Pq", "Ql", "Nx", "Qq", "Vt", "Er":
		m.text(roffText(withoutMacros(rest)))
	}
}

// flush ends the current block.
func (m *manual) flush() {
	m.page.add(m.kind, m.level, m.open.String())
	m.open.Reset()
	m.kind, m.level, m.tag = paragraph, 0, false
}

// unquote removes the quotes around an argument.
func unquote(text string) string {
	if inner, ok := strings.CutPrefix(text, `"`); ok {
		inner, _, _ = strings.Cut(inner, `"`)
		return inner
	}
	return text
}

// withoutMacros removes the mdoc macros among the words of a line, such as Fl and Ar, and the
// widths that man has after a tag.
func withoutMacros(line string) string {
	words := strings.Fields(line)
	kept := words[:0]
	for i, word := range words {
		isMacro := len(word) == 2 && isUpper(word[0]) && word[1] >= 'a' && word[1] <= 'z' &&
			word != "If" && word != "In" && word != "No"
		isWidth := i > 0 && i == len(words)-1 && isDigit(word[0])
		if !isMacro && !isWidth {
			kept = append(kept, word)
		}
	}
	return strings.Join(kept, " ")
}

// alternate returns the arguments of a font macro. A macro that alternates between two fonts leaves
// no space.
func alternate(text string, joined bool) string {
	if !joined {
		return strings.ReplaceAll(text, `"`, "")
	}
	var out strings.Builder
	inQuotes := false
	for i := range len(text) {
		switch c := text[i]; {
		case c == '"':
			inQuotes = !inQuotes
		case c == ' ' && !inQuotes && (i == 0 || text[i-1] != '\\'):
		default:
			out.WriteByte(c)
		}
	}
	return out.String()
}

// roffText resolves the escapes of roff: it removes fonts and sizes, and keeps characters.
func roffText(text string) string {
	if strings.IndexByte(text, '\\') < 0 {
		return text
	}
	var out strings.Builder
	for i := 0; i < len(text); i++ {
		if text[i] != '\\' || i+1 >= len(text) {
			out.WriteByte(text[i])
			continue
		}
		i++
		switch c := text[i]; c {
		case 'f':
			i += escapeSize(text[i+1:])
		case '(':
			out.WriteString(special(text[i+1 : min(len(text), i+3)]))
			i += 2
		case 'h', 'v', 'w', 'l', 'D':
			i += quotedSize(text[i+1:])
		case '*', 's', 'm', 'F', 'k', 'n':
			i += escapeSize(text[i+1:])
		case '-':
			out.WriteByte('-')
		case '"':
			return out.String()
		case '&', '|', '^', '%', '/', ',', ':', 'c', 'd', 'u', '!', ')':
		case 'e':
			out.WriteByte('\\')
		case '[':
			end := strings.IndexByte(text[i:], ']')
			if end < 0 {
				return out.String()
			}
			out.WriteString(special(text[i+1 : i+end]))
			i += end
		case ' ', '~', '0':
			out.WriteByte(' ')
		default:
			out.WriteByte(c)
		}
	}
	return out.String()
}

// quotedSize returns the length in bytes of an escape's quoted argument.
func quotedSize(rest string) int {
	if !strings.HasPrefix(rest, "'") {
		return 0
	}
	end := strings.IndexByte(rest[1:], '\'')
	return max(0, end+2)
}

// escapeSize returns the length in bytes of an escape's argument: one, two after a bracket, or up
// to a closing one.
func escapeSize(rest string) int {
	switch {
	case rest == "":
		return 0
	case rest[0] == '(':
		return min(3, len(rest))
	case rest[0] == '[':
		return strings.IndexByte(rest, ']') + 1
	case rest[0] == '-' || rest[0] == '+':
		return min(2, len(rest))
	}
	return 1
}

// special returns the character that has this name in roff.
func special(name string) string {
	switch name {
	case "aq", "cq", "oq":
		return "'"
	case "lq", "rq", "dq":
		return `"`
	case "em", "en", "mi", "hy", "bu", "co":
		return "-"
	}
	return ""
}
