package markdown

import (
	"strings"

	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/util"
)

// rel is the attribute of links to other servers.
const rel = ` rel="noopener noreferrer nofollow"`

// link writes the start tag of a link; closeElements writes its end tag.
func (r *renderer) link(n *ast.Link) {
	if r.spend(n.Destination, n.Title) && r.startLink(string(util.URLEscape(n.Destination, true)), unescape(n.Title)) {
		r.open = append(r.open, openElement{n, "a"})
	}
}

func (r *renderer) autoLink(n *ast.AutoLink) {
	dest := string(util.URLEscape(n.URL(r.source), false))
	if n.AutoLinkType == ast.AutoLinkEmail && !strings.HasPrefix(strings.ToLower(dest), "mailto:") {
		dest = "mailto:" + dest
	}
	linked := r.startLink(dest, "")
	r.escaped(string(n.Label(r.source)))
	if linked {
		r.write("</a>")
	}
}

// startLink writes the start tag of a link. It returns false if the destination is not allowed.
func (r *renderer) startLink(dest, title string) bool {
	href, attributes := r.href(dest)
	if href == "" {
		return false
	}
	r.write(`<a href="` + Escape(href) + `"` + attributes)
	if title != "" {
		r.write(` title="` + Escape(title) + `"`)
	}
	r.write(">")
	return true
}

// spend subtracts the size of a URL and a title from the budget and reports whether it was
// sufficient. Many links may share one long definition, so the output could become much larger than
// the text.
func (r *renderer) spend(dest, title []byte) bool {
	r.budget -= len(dest) + len(title)
	return r.budget >= 0
}

// href returns the URL and further attributes of a link. The URL is empty if the destination is not
// allowed.
func (r *renderer) href(dest string) (href, attributes string) {
	switch placeOf(dest) {
	case fragment:
		return "#" + IDPrefix + strings.ToLower(dest[1:]), ""
	case external:
		return dest, rel
	case relative:
		if r.Link != nil {
			if href, ok := r.Link(dest); ok {
				return href, ""
			}
		}
	}
	return "", ""
}

// markdownImage writes the image of a node.
func (r *renderer) markdownImage(n *ast.Image) {
	if r.spend(n.Destination, n.Title) {
		r.image(string(util.URLEscape(n.Destination, true)), unescape(n.Title), r.plain(n))
	} else {
		r.escaped(r.plain(n))
	}
}

// image writes an image. An image on another server becomes a link, because loading it would reveal
// to that server who reads the page.
func (r *renderer) image(dest, title, alt string) {
	place := placeOf(dest)
	if place == relative && r.Image != nil {
		if src, ok := r.Image(dest); ok {
			r.write(`<img src="` + Escape(src) + `" alt="` + Escape(strings.ReplaceAll(alt, "\n", " ")) + `"`)
			if title != "" {
				r.write(` title="` + Escape(title) + `"`)
			}
			r.write(` loading="lazy">`)
			return
		}
	}
	if alt == "" {
		alt = dest
	}
	linked := place == external && r.startLink(dest, "")
	r.escaped(alt)
	if linked {
		r.write("</a>")
	}
}

// place classifies the destination of a link.
type place uint8

const (
	forbidden place = iota // not allowed
	fragment               // a heading of the same text
	relative               // a file, by a relative path
	external               // another server or a mail address
)

// placeOf classifies a URL that util.URLEscape returned. A colon before any slash, question mark or
// hash means that the URL has a scheme.
func placeOf(dest string) place {
	at := strings.IndexAny(dest, ":/?#")
	switch {
	case strings.HasPrefix(dest, "//"):
		return forbidden // another server, with the scheme of the page
	case at == 0 && dest[0] == '#':
		return fragment
	case at < 0 || dest[at] != ':':
		return relative
	}
	switch strings.ToLower(dest[:at]) {
	case "http", "https", "mailto":
		return external
	}
	return forbidden
}
