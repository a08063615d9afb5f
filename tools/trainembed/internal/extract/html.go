package extract

import (
	"html"
	"strings"
	"sync"
)

// htmlPairs pairs the headings of a page with their sections and the terms of its lists with their definitions. It reads
// whatever there is: tags that are not closed, or closed without having been opened, do no harm.
func htmlPairs(_, text string) []Pair {
	h := htmlPage{rest: text}
	for h.step() {
	}
	h.flush()
	return h.page.pairs()
}

// htmlPage reads tags and gathers the text of the block that is not yet at its end.
type htmlPage struct {
	page  page
	rest  string
	kind  blockKind
	level int
	title bool
	open  strings.Builder
	stuck bool // an element was not closed: no more are skipped
}

// step reads up to the end of the next tag; it says whether there was one.
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

// tag acts on what stands between angle brackets.
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

// blockOf says which block an element makes, and whether it makes one at all.
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

// flush ends the block that is open. The title of the page is no block of it.
func (h *htmlPage) flush() {
	text := furniture().Replace(html.UnescapeString(h.open.String()))
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

// furniture takes what pages put beside headings and names out of a text.
var furniture = sync.OnceValue(func() *strings.Replacer {
	return strings.NewReplacer("¶", "", "\u200b", "", "[source]", "", "#permalink", "")
})

// pageTitle leaves the name of a site off the title of one of its pages.
func pageTitle(title string) string {
	for _, mark := range []string{" — ", " – ", " | ", " - ", " :: "} {
		title, _, _ = strings.Cut(title, mark)
	}
	return title
}

// tagName gives the name of a tag in lower case, with a slash before it if it closes.
func tagName(tag string) string {
	end := 0
	for end < len(tag) && (isName(tag[end]) || tag[end] == '/' && end == 0) {
		end++
	}
	return strings.ToLower(tag[:min(end, 16)])
}

// dropped says that an element holds nothing to read.
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

// droppedClass says that the attributes of a tag mark it as a part of the site rather than of the page.
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

// skipElement skips to the end of an element that was just opened, and of those of the same name within it. One that is
// not closed nearby is not skipped, and neither is any after it: looking for their ends could take forever.
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
