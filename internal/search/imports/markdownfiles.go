package imports

import (
	"html"
	"net/url"
	"path"
	"strings"
)

// resolveMarkdown gives the files that links lead to, of whatever kind they are.
func resolveMarkdown(files Files, from string, specs []spec) []string {
	return resolveEach(specs, func(s spec) (string, bool) {
		if s.kind == markdownWiki {
			return wikiPage(files, s.text)
		}
		return linkedPage(files, from, s.text)
	})
}

// linkedPage finds the file of a destination as written.
func linkedPage(files Files, from, text string) (string, bool) {
	if strings.Contains(text, "&") {
		text = html.UnescapeString(text)
	}
	if end := strings.IndexAny(text, "#?"); end >= 0 {
		text = text[:end]
	}
	if text == "" || strings.HasPrefix(text, "//") || hasScheme(text) {
		return "", false
	}
	text = unescaped(text)
	if decoded, err := url.PathUnescape(text); err == nil {
		text = decoded
	}
	folder := path.Dir(from)
	if strings.HasPrefix(text, "/") {
		folder, text = ".", strings.TrimLeft(text, "/")
	}
	target, ok := within(folder, text)
	if !ok || strings.ContainsRune(target, 0) {
		return "", false
	}
	return page(files, target, strings.HasSuffix(text, "/"))
}

// hasScheme tells whether a destination names a scheme, as in mailto:somebody.
func hasScheme(text string) bool {
	for i := range len(text) {
		c := text[i]
		switch {
		case c == ':':
			return i > 1 || i == 1 && strings.HasPrefix(text[2:], `\`)
		case isLetter(c):
		case i > 0 && (isDigit(c) || c == '+' || c == '-' || c == '.'):
		default:
			return false
		}
	}
	return false
}

// unescaped takes away backslashes before punctuation.
func unescaped(text string) string {
	if !strings.Contains(text, `\`) {
		return text
	}
	var b strings.Builder
	for i := 0; i < len(text); i++ {
		if text[i] == '\\' && i+1 < len(text) && strings.IndexByte("!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~", text[i+1]) >= 0 {
			i++
		}
		b.WriteByte(text[i])
	}
	return b.String()
}

// page finds a file, the page that stands for a folder, or the page whose ending a link leaves out.
func page(files Files, target string, folder bool) (string, bool) {
	if !folder && files.Has(target) {
		return target, true
	}
	names := files.In(target)
	for _, index := range []string{"readme.md", "index.md", "index.mdx", "readme.mdx"} {
		for _, name := range names {
			if strings.EqualFold(name, index) {
				return path.Join(target, name), true
			}
		}
	}
	if target == "." {
		return "", false
	}
	for _, ending := range []string{".md", ".mdx", ".markdown"} {
		if files.Has(target + ending) {
			return target + ending, true
		}
	}
	return "", false
}

// wikiPage finds the only file that a wiki link can mean.
func wikiPage(files Files, text string) (string, bool) {
	name, _, _ := strings.Cut(text, "|")
	name, _, _ = strings.Cut(name, "#")
	name = path.Clean("/" + strings.TrimSpace(strings.TrimSuffix(name, `\`)))[1:]
	if name == "" {
		return "", false
	}
	for _, tail := range []string{name + ".md", name} {
		if found := endingIn(files, tail); len(found) > 0 {
			return found[0], len(found) == 1
		}
	}
	return "", false
}
