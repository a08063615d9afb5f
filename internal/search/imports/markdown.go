package imports

import (
	"path"
	"slices"
	"strings"

	"remit/internal/search/lexical"
	"remit/internal/search/markdown"
)

// markdownWiki is the kind of a wiki link, [[name]].
const markdownWiki kind = 1

// extractMarkdown reads links, images, reference definitions, wiki links, and the src and href of
// HTML tags in a Markdown file. Code, comments and front matter have none.
func extractMarkdown(content []byte) ([]spec, error) {
	d := markdown.Parse(string(content))
	links := slices.Concat(d.Links, d.OtherLinks)
	slices.SortFunc(links, func(a, b markdown.Link) int { return a.Start - b.Start })
	var list specList
	for _, l := range links {
		k := kind(0)
		if l.Wiki {
			k = markdownWiki
		}
		list.add(strings.TrimSpace(d.Destination(l)), d.Line(l.Start), k)
	}
	return list.specs, nil
}

// resolveMarkdown returns the files that links lead to, of any kind.
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
	link, ok := markdown.ParseTarget(text)
	if !ok || link.Path == "" {
		return "", false
	}
	folder, name := path.Dir(from), link.Path
	if strings.HasPrefix(name, "/") {
		folder, name = ".", strings.TrimLeft(name, "/")
	}
	target, ok := within(folder, name)
	if !ok || strings.ContainsRune(target, 0) {
		return "", false
	}
	return page(files, target, strings.HasSuffix(name, "/"))
}

// hasScheme reports whether a destination has a scheme, as in mailto:somebody.
func hasScheme(text string) bool {
	for i := range len(text) {
		c := text[i]
		switch {
		case c == ':':
			return i > 1 || i == 1 && strings.HasPrefix(text[2:], `\`)
		case 'a' <= c|0x20 && c|0x20 <= 'z':
		case i > 0 && (lexical.IsDigit(c) || c == '+' || c == '-' || c == '.'):
		default:
			return false
		}
	}
	return false
}

// page finds a file, the index page of a folder, or a page whose extension the link omits.
func page(files Files, target string, folder bool) (string, bool) {
	if !folder && files.Has(target) {
		return target, true
	}
	names := files.List(target)
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

// wikiPage finds the only file that a wiki link can refer to.
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
