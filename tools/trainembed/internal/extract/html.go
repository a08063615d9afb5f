package extract

import (
	"html"
	"strings"
	"sync"
)

// htmlPairs pairs the headings of a page with their sections, and the terms of its lists with their
// definitions. It accepts tags that are not closed, or closed without having been opened.
func htmlPairs(_, text string) []Pair {
	h := htmlPage{rest: text}
	for h.step() {
	}
	h.flush()
	return h.page.pairs()
}

// htmlPage parses tags and collects the text of the current block.
type htmlPage struct {
	page  page
	rest  string
	kind  blockKind
	level int
	title bool
	open  strings.Builder
	stuck bool // an element was not closed, so no more are skipped
}

// step reads up to the end of the next tag, and reports whether there was one.
func (h *htmlPage) step() bool {
	start := strings.IndexByte(h.rest, '<')
	if start < 0 {
		h.open.WriteString(h.rest)
		h.rest = ""
		return false
	}
	h.open.WriteString(h.rest[:start])
	h.rest = h.rest[start+1:]
	if strings.HasPrefix(h.rest, "!--") {
		h.skipPast("-->")
		return true
	}
	if h.rest == "" || h.rest[0] != '/' && h.rest[0] != '!' && h.rest[0] != '?' && !isLetter(h.rest[0]) {
		h.open.WriteByte('<')
		return true
	}
	end := strings.IndexByte(h.rest, '>')
	if end < 0 {
		h.rest = ""
		return false
	}
	tag := h.rest[:end]
	h.rest = h.rest[end+1:]
	h.tag(tag)
	return true
}

// tag handles the content of a pair of angle brackets.
func (h *htmlPage) tag(tag string) {
	name := tagName(tag)
	closing := strings.HasPrefix(name, "/")
	if !closing && dropped(name, tag) && !strings.HasSuffix(tag, "/") && h.skipElement(name) {
		return
	}
	kind, level, isBlock := blockOf(strings.TrimPrefix(name, "/"))
	if !isBlock {
		if name == "br" || name == "td" || name == "th" {
			h.open.WriteByte(' ')
		}
		return
	}
	h.flush()
	if !closing {
		h.kind, h.level, h.title = kind, level, name == "title"
	}
}

// blockOf returns the kind of block that an element starts, and whether it starts one.
func blockOf(name string) (kind blockKind, level int, isBlock bool) {
	switch name {
	case "h1", "h2", "h3", "h4", "h5", "h6":
		return heading, int(name[1] - '0'), true
	case "dt":
		return term, 0, true
	case "li":
		return item, 0, true
	case "pre":
		return sample, 0, true
	case "p", "div", "dd", "dl", "ul", "ol", "table", "tr", "section", "article", "blockquote", "body", "title",
		"main", "head", "caption", "form", "hr", "details", "summary":
		return paragraph, 0, true
	}
	return paragraph, 0, false
}

// flush ends the current block. The title of the page is not a block.
func (h *htmlPage) flush() {
	text := siteMarks().Replace(html.UnescapeString(h.open.String()))
	if h.title {
		h.page.title = pageTitle(tidy(text))
	} else {
		if h.kind == heading {
			text = strings.TrimRight(text, "# \n")
		}
		h.page.add(h.kind, h.level, text)
	}
	h.open.Reset()
	h.kind, h.level, h.title = paragraph, 0, false
}

// siteMarks removes what pages put beside headings and names.
var siteMarks = sync.OnceValue(func() *strings.Replacer {
	return strings.NewReplacer("¶", "", "\u200b", "", "[source]", "", "#permalink", "")
})

// pageTitle removes the name of a site from the title of a page.
func pageTitle(title string) string {
	for _, mark := range []string{" — ", " – ", " | ", " - ", " :: "} {
		title, _, _ = strings.Cut(title, mark)
	}
	return title
}

// tagName returns the name of a tag in lower case, with a slash in front if it is a closing tag.
func tagName(tag string) string {
	end := 0
	for end < len(tag) && (isName(tag[end]) || tag[end] == '/' && end == 0) {
		end++
	}
	return strings.ToLower(tag[:min(end, 16)])
}

// dropped reports whether an element has no text to read.
func dropped(name, tag string) bool {
	switch name {
	case "script", "style", "nav", "footer", "aside", "svg", "button", "select", "noscript", "template", "iframe",
		"math":
		return true
	case "div", "ul", "a", "table", "span", "header", "p":
		return droppedClass(tag)
	}
	return false
}

// droppedClass reports whether the attributes of a tag mark it as a part of the site and not of the
// page.
func droppedClass(tag string) bool {
	if len(tag) < 8 {
		return false
	}
	for _, mark := range []string{
		"sidebar", "navbar", "navigation", "\"nav", "headerlink", "\"related", "toctree", "breadcrumb", "\"footer",
		"\"toc", "searchbox", "\"navheader", "\"navfooter",
		"viewcode", "langs\"", "role=\"note\"", "clipboard", "linenos", "qindex", "\"header\"", "\"summary\"",
		"navrow", "prev-next", "\"prevnext", "out-of-band", "sub-heading",
	} {
		if strings.Contains(tag, mark) {
			return true
		}
	}
	return false
}

// skipElement skips to the end of an element that was just opened, including nested ones of the
// same name. If it is not closed nearby, neither this nor any later element is skipped, because the
// search for their ends could take very long.
func (h *htmlPage) skipElement(name string) bool {
	h.flush()
	if h.stuck {
		return false
	}
	depth, at := 1, 0
	window := h.rest[:min(len(h.rest), 256<<10)]
	for depth > 0 {
		next := strings.IndexByte(window[at:], '<')
		if next < 0 {
			h.stuck = true
			return false
		}
		at += next + 1
		switch found := tagName(window[at:min(len(window), at+20)]); found {
		case name:
			depth++
		case "/" + name:
			depth--
		}
	}
	h.rest = h.rest[at:]
	h.skipPast(">")
	return true
}

// skipPast skips to the end of a mark, or to the end of the page if there is none.
func (h *htmlPage) skipPast(mark string) {
	if _, rest, ok := strings.Cut(h.rest, mark); ok {
		h.rest = rest
	} else {
		h.rest = ""
	}
}
