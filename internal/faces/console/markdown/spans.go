package markdown

import (
	"strings"
)

// deepestSpan is how deep emphasis may lie in emphasis; deeper it does not show.
const deepestSpan = 32

// spans writes tokens. Whatever they open, they close in the right order.
func (r *renderer) spans(tokens []token) {
	s := &spanner{renderer: r}
	for i := 0; i < len(tokens); i++ {
		t := &tokens[i]
		switch t.kind {
		case image:
			r.image(t.dest, t.text, plain(tokens[i+1:t.end]))
			i = t.end
		case delimiter:
			s.delimiter(t)
		case linkStart:
			s.link(t)
		case linkEnd:
			s.close("a")
		case tag:
			s.tag(t)
		default:
			r.token(t)
		}
	}
	s.closeAll(0)
}

// token writes a token that neither opens nor closes anything.
func (r *renderer) token(t *token) {
	switch t.kind {
	case text, bracket:
		r.escaped(t.text)
	case literal:
		r.write(t.text)
	case codeSpan:
		r.write("<code>")
		r.escaped(t.text)
		r.write("</code>")
	case autolink:
		if href, attributes := r.href(t.dest); href != "" {
			r.write(`<a href="`)
			r.escaped(href)
			r.write(`"` + attributes + `>`)
			r.escaped(t.text)
			r.write("</a>")
		} else {
			r.escaped(t.text)
		}
	}
}

// plain is the text of tokens without anything else.
func plain(tokens []token) string {
	var b strings.Builder
	for i := range tokens {
		switch t := &tokens[i]; t.kind {
		case text, bracket, codeSpan, autolink, delimiter:
			b.WriteString(t.text)
		case literal:
			if strings.HasSuffix(t.text, "\n") {
				b.WriteByte('\n')
			}
		}
	}
	return b.String()
}

// spanner knows which elements are open. An empty name is one that was left out.
type spanner struct {
	*renderer
	open []span
	deep int
}

// span is an element that is open. One that does not show is there only so that its end
// does not show either.
type span struct {
	name  string
	shown bool
}

func (s *spanner) start(name, html string, shown bool) {
	if shown {
		s.write(html)
		s.deep++
	}
	s.open = append(s.open, span{name, shown})
}

// close closes an element, and first those that were opened in it and not closed. If
// none of that name is open, nothing happens.
func (s *spanner) close(name string) {
	for i := len(s.open) - 1; i >= 0; i-- {
		if s.open[i].name == name {
			s.closeAll(i)
			return
		}
	}
}

func (s *spanner) closeAll(down int) {
	for len(s.open) > down {
		last := s.open[len(s.open)-1]
		s.open = s.open[:len(s.open)-1]
		if last.shown {
			s.write("</" + last.name + ">")
			s.deep--
		}
	}
}

func (s *spanner) delimiter(t *token) {
	for _, name := range t.closes {
		s.close(name)
	}
	s.escaped(t.text)
	for i := len(t.opens) - 1; i >= 0; i-- {
		s.start(t.opens[i], "<"+t.opens[i]+">", s.deep < deepestSpan)
	}
}

func (s *spanner) link(t *token) {
	href, attributes := s.href(t.dest)
	if href == "" {
		s.start("a", "", false)
		return
	}
	html := `<a href="` + escape(href) + `"` + attributes
	if t.text != "" {
		html += ` title="` + escape(t.text) + `"`
	}
	s.start("a", html+">", true)
}

// href gives the address of a link, and what is to be said of it; "" if it is to lead
// nowhere.
func (r *renderer) href(dest string) (href, attributes string) {
	dest = encode(dest)
	switch placeOf(dest) {
	case here:
		return "#" + IDPrefix + strings.ToLower(dest[1:]), ""
	case abroad:
		return dest, ` rel="noopener noreferrer nofollow"`
	case near:
		if r.Link != nil {
			if href, ok := r.Link(dest); ok {
				return href, ""
			}
		}
	}
	return "", ""
}

// image writes a picture. One of another server is a link: to load it would tell that
// server who reads.
func (r *renderer) image(dest, title, alt string) {
	dest = encode(dest)
	if placeOf(dest) == near && r.Image != nil {
		if src, ok := r.Image(dest); ok {
			r.write(`<img src="`)
			r.escaped(src)
			r.write(`" alt="`)
			r.escaped(strings.ReplaceAll(alt, "\n", " "))
			r.write(`"`)
			if title != "" {
				r.write(` title="`)
				r.escaped(title)
				r.write(`"`)
			}
			r.write(` loading="lazy">`)
			return
		}
	}
	if alt == "" {
		alt = dest
	}
	if placeOf(dest) == abroad {
		r.write(`<a href="`)
		r.escaped(dest)
		r.write(`" rel="noopener noreferrer nofollow">`)
		r.escaped(alt)
		r.write("</a>")
		return
	}
	r.escaped(alt)
}

// tag writes an element that is built anew.
func (s *spanner) tag(t *token) {
	name := t.dest
	switch {
	case name == "br":
		s.write("<br>")
	case name == "img":
		s.image(attribute(t.opens, "src"), attribute(t.opens, "title"), attribute(t.opens, "alt"))
	case t.end == opening:
		s.start(name, "<"+name+">", s.deep < deepestSpan)
	case len(s.open) > 0 && s.open[len(s.open)-1].name == name:
		s.closeAll(len(s.open) - 1)
	default:
		s.escaped(t.text)
	}
}

func attribute(attributes []string, key string) string {
	for i := 0; i+1 < len(attributes); i += 2 {
		if attributes[i] == key {
			return attributes[i+1]
		}
	}
	return ""
}
