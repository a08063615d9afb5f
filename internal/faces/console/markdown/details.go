package markdown

import "strings"

// mostFolds is how many <details> may be open at once.
const mostFolds = 16

// markup writes HTML as text, but for <details> and <summary>, which are built anew.
// folds are those that are open in this block; it gives how many are afterwards.
func (r *renderer) markup(b *block, folds int) int {
	text := strings.Join(b.lines, "\n")
	if b.until == "-->" {
		_, text, _ = strings.Cut(text, "-->")
	}
	if b.until != "" && b.until != "-->" {
		r.raw(text)
		return folds
	}
	for {
		at, tag := nextFold(text)
		if at < 0 {
			r.raw(text)
			return folds
		}
		r.raw(text[:at])
		text = text[at+len(tag):]
		switch {
		case tag == "</details>":
			if folds == 0 {
				r.raw(tag)
				continue
			}
			folds--
			r.unfold()
		case r.details >= mostFolds:
			r.raw(tag)
		default:
			folds++
			text = r.fold(tag, text)
		}
	}
}

// nextFold finds the next tag of <details>.
func nextFold(text string) (at int, tag string) {
	for at < len(text) {
		next := strings.IndexByte(text[at:], '<')
		if next < 0 {
			break
		}
		at += next
		for _, known := range []string{"<details>", "<details open>", "</details>"} {
			if strings.HasPrefix(text[at:], known) {
				return at, known
			}
		}
		at++
	}
	return -1, ""
}

// fold opens <details>, with the summary that the text begins with, and gives the rest
// of the text.
func (r *renderer) fold(tag, text string) string {
	r.details++
	r.write(tag + "\n")
	rest := strings.TrimLeft(text, " \t\n")
	inside, ok := strings.CutPrefix(rest, "<summary>")
	end := strings.Index(inside[:min(len(inside), longestPart)], "</summary>")
	if !ok || end < 0 {
		return text
	}
	r.write("<summary>")
	r.spans(r.inline(strings.TrimSpace(inside[:end])))
	r.write("</summary>\n")
	return inside[end+len("</summary>"):]
}

func (r *renderer) unfold() {
	r.details--
	r.write("</details>\n")
}

// raw shows HTML as text.
func (r *renderer) raw(text string) {
	text = strings.Trim(text, " \t\n")
	if text == "" {
		return
	}
	r.write(`<p class="raw">`)
	r.escaped(text)
	r.write("</p>\n")
}
