package markdown

import (
	"strconv"
	"strings"
	"unicode"
)

// renderer writes HTML.
type renderer struct {
	Options
	out        strings.Builder
	references map[string]reference
	budget     int // bytes that references may yet put in place of their names
	padding    int // cells that rows got which they did not have
	ids        map[string]int
	details    int // how many are open, all in all
}

// blocks writes what a block holds.
func (r *renderer) blocks(b *block) {
	folds := 0 // <details> that this block opened
	for _, child := range b.children {
		if child.kind == markup {
			folds = r.markup(child, folds)
			continue
		}
		r.block(child, b)
	}
	for ; folds > 0; folds-- {
		r.unfold()
	}
}

func (r *renderer) block(b, parent *block) {
	switch b.kind {
	case quote:
		r.write("<blockquote>\n")
		r.blocks(b)
		r.write("</blockquote>\n")
	case list:
		r.list(b)
	case paragraph:
		r.paragraph(b, parent)
	case heading:
		r.heading(b)
	case code:
		r.code(b)
	case rule:
		r.write("<hr>\n")
	case table:
		r.table(b)
	}
}

func (r *renderer) write(html string) { r.out.WriteString(html) }

func (r *renderer) escaped(text string) { AppendEscaped(&r.out, text) }

func (r *renderer) list(b *block) {
	end := "</ul>\n"
	if !b.marker.ordered {
		r.write("<ul>\n")
	} else {
		end = "</ol>\n"
		r.write("<ol")
		if b.marker.start != 1 {
			r.write(` start="` + strconv.Itoa(b.marker.start) + `"`)
		}
		r.write(">\n")
	}
	for _, it := range b.children {
		r.write("<li>")
		if len(it.children) > 0 && (!b.tight || it.children[0].kind != paragraph) {
			r.write("\n")
		}
		r.blocks(it)
		r.write("</li>\n")
	}
	r.write(end)
}

func (r *renderer) paragraph(b, parent *block) {
	lines := b.lines
	tight := parent.kind == item && parent.parent.tight
	if !tight {
		r.write("<p>")
	}
	if parent.kind == item && parent.children[0] == b {
		lines = r.checkbox(lines)
	}
	r.spans(r.inline(strings.TrimRight(strings.Join(lines, "\n"), " \t")))
	switch {
	case !tight:
		r.write("</p>\n")
	case parent.children[len(parent.children)-1] != b:
		r.write("\n")
	}
}

// checkbox writes the box of a task, and gives the lines without it.
func (r *renderer) checkbox(lines []string) []string {
	first := lines[0]
	if len(first) < 4 || first[0] != '[' || first[2] != ']' || first[3] != ' ' && first[3] != '\t' {
		return lines
	}
	switch first[1] {
	case 'x', 'X':
		r.write(`<input type="checkbox" disabled checked aria-label="done"> `)
	case ' ':
		r.write(`<input type="checkbox" disabled aria-label="to do"> `)
	default:
		return lines
	}
	return append([]string{strings.TrimLeft(first[3:], " \t")}, lines[1:]...)
}

func (r *renderer) heading(b *block) {
	level := strconv.Itoa(min(6, b.level+r.Shift))
	tokens := r.inline(strings.TrimRight(strings.Join(b.lines, "\n"), " \t"))
	r.write("<h" + level + ` id="`)
	r.escaped(r.id(plain(tokens)))
	r.write(`">`)
	r.spans(tokens)
	r.write("</h" + level + ">\n")
}

// id makes an id of the words of a heading, as GitHub does, and another one if it was
// given before.
func (r *renderer) id(words string) string {
	const longest = 100
	var b strings.Builder
	for _, c := range strings.ToLower(strings.TrimSpace(words)) {
		switch {
		case b.Len() >= longest:
		case unicode.IsLetter(c) || unicode.IsDigit(c) || c == '-' || c == '_':
			b.WriteRune(c)
		case c == ' ' || c == '\n':
			b.WriteByte('-')
		}
	}
	if r.ids == nil {
		r.ids = map[string]int{}
	}
	id := b.String()
	for {
		n := r.ids[id]
		r.ids[id]++
		if n == 0 && id != "" {
			return IDPrefix + id
		}
		id += "-" + strconv.Itoa(n)
	}
}

func (r *renderer) code(b *block) {
	// What is too wide scrolls, and who has only keys must get there.
	r.write(`<pre tabindex="0"><code`)
	lang := ""
	if words := strings.Fields(unescape(b.info)); len(words) > 0 { // more of them would be classes too
		lang = words[0]
		r.write(` class="language-`)
		r.escaped(lang)
		r.write(`"`)
	}
	r.write(">")
	text := strings.Join(b.lines, "\n")
	if len(b.lines) > 0 {
		text += "\n"
	}
	if r.Highlight != nil {
		r.write(string(r.Highlight(lang, text)))
	} else {
		r.escaped(text)
	}
	r.write("</code></pre>\n")
}

func (r *renderer) table(b *block) {
	r.write("<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"Table\"><table>\n<thead>\n")
	r.row("th", b.rows[0], b.align)
	r.write("</thead>\n")
	if len(b.rows) > 1 {
		r.write("<tbody>\n")
		for _, row := range b.rows[1:] {
			r.row("td", row, b.align)
		}
		r.write("</tbody>\n")
	}
	r.write("</table></div>\n")
}

func (r *renderer) row(element string, cells, align []string) {
	r.write("<tr>\n")
	for i := range align {
		if i >= len(cells) {
			if r.padding++; r.padding > mostPadding {
				break
			}
		}
		r.write("<" + element)
		if element == "th" {
			r.write(` scope="col"`)
		}
		if i < len(cells) && align[i] != "" {
			r.write(` class="` + align[i] + `"`)
		}
		r.write(">")
		if i < len(cells) {
			r.spans(r.inline(cells[i]))
		}
		r.write("</" + element + ">\n")
	}
	r.write("</tr>\n")
}
