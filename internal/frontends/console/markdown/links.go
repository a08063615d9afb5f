package markdown

import (
	"strings"

	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/util"
)

// rel is the attribute of links to other servers.
const rel = ` rel="noopener noreferrer nofollow"`

// link writes the beginning of a link; closeElements writes its end.
func (r *renderer) link(n *ast.Link) {
	if r.affords(n.Destination, n.Title) && r.startLink(string(util.URLEscape(n.Destination, true)), unescape(n.Title)) {
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

// startLink writes the beginning of a link, unless the link may not lead where it does.
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

// affords takes an address and a title from the budget: a long definition may be named
// again and again.
func (r *renderer) affords(dest, title []byte) bool {
	r.budget -= len(dest) + len(title)
	return r.budget >= 0
}

// href returns the address and further attributes of a link; the address is empty if the
// link may not lead there.
func (r *renderer) href(dest string) (href, attributes string) {
	switch placeOf(dest) {
	case here:
		return "#" + IDPrefix + strings.ToLower(dest[1:]), ""
	case abroad:
		return dest, rel
	case near:
		if r.Link != nil {
			if href, ok := r.Link(dest); ok {
				return href, ""
			}
		}
	}
	return "", ""
}

// markdownImage writes the picture that a node describes.
func (r *renderer) markdownImage(n *ast.Image) {
	if r.affords(n.Destination, n.Title) {
		r.image(string(util.URLEscape(n.Destination, true)), unescape(n.Title), r.plain(n))
	} else {
		r.escaped(r.plain(n))
	}
}

// image writes a picture. A picture of another server becomes a link, because loading it
// would tell that server who reads the page.
func (r *renderer) image(dest, title, alt string) {
	place := placeOf(dest)
	if place == near && r.Image != nil {
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
	linked := place == abroad && r.startLink(dest, "")
	r.escaped(alt)
	if linked {
		r.write("</a>")
	}
}

// place is where an address leads.
type place uint8

const (
	nowhere place = iota // no link of ours leads there
	here                 // to a heading of the same text
	near                 // to a file, by a relative path
	abroad               // to another server
)

// placeOf classifies an address that util.URLEscape returned. Only an address with a scheme
// has a colon before any slash, question mark or hash.
func placeOf(dest string) place {
	at := strings.IndexAny(dest, ":/?#")
	switch {
	case strings.HasPrefix(dest, "//"):
		return nowhere // another server, by the scheme of the page
	case at == 0 && dest[0] == '#':
		return here
	case at < 0 || dest[at] != ':':
		return near
	}
	switch strings.ToLower(dest[:at]) {
	case "http", "https", "mailto":
		return abroad
	}
	return nowhere
}
