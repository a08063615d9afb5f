package imports

import (
	"slices"
	"strings"

	"remit/internal/search/markdown"
)

// markdownWiki is [[name]].
const markdownWiki kind = 1

// extractMarkdown reads links, images, definitions of references, wiki links, and the src and href of HTML tags in a
// Markdown file. Code, comments and front matter have none.
func extractMarkdown(content []byte) ([]spec, error) {
	d := markdown.Parse(string(content))
	links := slices.Concat(d.Links, d.Others)
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
