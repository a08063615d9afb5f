package markdown

import (
	"html"
	"net/url"
	"path"
	"strings"
)

// Target is the target of a local destination: a file relative to the text, or a place in one.
type Target struct {
	Path     string // unescaped file path; "" for the text itself
	Fragment string // the name after #
	Rest     string // the destination as it is written, from # or ? on
}

// ParseTarget parses a destination. It returns false for one that is not local, such as an address
// with a scheme.
func ParseTarget(destination string) (t Target, ok bool) {
	at := strings.IndexAny(destination, "#?")
	// &#35; is a character reference.
	for at > 0 && destination[at] == '#' && destination[at-1] == '&' {
		next := strings.IndexAny(destination[at+1:], "#?")
		if next < 0 {
			at = -1
			break
		}
		at += 1 + next
	}
	file := destination
	if at >= 0 {
		file, t.Rest = destination[:at], destination[at:]
	}
	if file = unescape(file); hasScheme(file) || strings.HasPrefix(file, "//") {
		return Target{}, false
	}
	t.Path = unquote(file)
	if _, fragment, found := strings.Cut(t.Rest, "#"); found {
		t.Fragment = unquote(unescape(fragment))
	}
	return t, true
}

// unescape resolves the escapes of Markdown and HTML.
func unescape(text string) string {
	if strings.IndexByte(text, '\\') >= 0 {
		var b strings.Builder
		for i := 0; i < len(text); i++ {
			if text[i] == '\\' && i+1 < len(text) && isPunctuation(text[i+1]) {
				i++
			}
			b.WriteByte(text[i])
		}
		text = b.String()
	}
	return html.UnescapeString(text)
}

func isPunctuation(c byte) bool {
	return c > ' ' && c < 0x7f && !isLetter(c) && !isDigit(c)
}

// unquote decodes %XX escapes. It returns an invalid text unchanged.
func unquote(text string) string {
	if plain, err := url.PathUnescape(text); err == nil {
		return plain
	}
	return text
}

// hasScheme reports whether a destination has a scheme, such as mailto: or https:. A Windows drive
// letter counts as one too, because it is not relative to the text.
func hasScheme(file string) bool {
	for i := range len(file) {
		switch c := file[i]; {
		case isLetter(c), i > 0 && (isDigit(c) || strings.IndexByte("+.-", c) >= 0):
		default:
			return c == ':' && i > 0
		}
	}
	return false
}

// Resolve returns the path of the file that link leads to, from the text at a path. A link that
// begins with a slash is relative to the top.
func Resolve(text, link string) string {
	if top, ok := strings.CutPrefix(link, "/"); ok {
		return path.Clean(top)
	}
	return path.Join(path.Dir(text), link)
}

// PageSources returns the files of which a program that publishes Markdown, such as mdBook, may
// have made the HTML page at a path. It returns nil if the path is not that of an HTML page.
func PageSources(page string) []string {
	stem, ok := strings.CutSuffix(page, ".html")
	if !ok {
		return nil
	}
	sources := []string{stem + ".md", stem + ".mdx", stem + ".markdown"}
	if path.Base(stem) == "index" {
		sources = append(sources, path.Join(path.Dir(page), "README.md"))
	}
	return sources
}

// Relative returns the link from the text at a path to a file.
func Relative(text, file string) string {
	from, to := strings.Split(text, "/"), strings.Split(file, "/")
	for len(from) > 1 && len(to) > 1 && from[0] == to[0] {
		from, to = from[1:], to[1:]
	}
	return strings.Repeat("../", len(from)-1) + strings.Join(to, "/")
}
