package imports

import (
	"slices"
	"strings"
	"testing"

	"remit/internal/complexitytest"
)

func TestMarkdownExtract(t *testing.T) {
	for _, c := range []struct {
		name, source string
		want         []spec
	}{
		{"links", "[a](b.md) ![c](d.png \"title\")\n[e](<f g.md>) [h](i\\).md 't') [j](k(l)m.md)", []spec{
			{"b.md", 1, 0}, {"d.png", 1, 0}, {"f g.md", 2, 0}, {"i\\).md", 2, 0}, {"k(l)m.md", 2, 0},
		}},
		{"image in a link", "[![a](b.png)](c.md)", []spec{{"b.png", 1, 0}, {"c.md", 1, 0}}},
		{"text of several lines", "[a\nb](c.md)\n[d](\n  e.md)\n\n[f\n\ng](no.md)", []spec{{"c.md", 2, 0}, {"e.md", 4, 0}}},
		{"no links", "\\[a](no.md) a](no.md) [b] (no.md) [c](no md) `[d](no.md)` ``[e](`no.md)`` [f](", nil},
		{"definitions", "[a]: b.md\n> [c d]: <e.md> \"t\"\n[^1]: no.md\n\n[f]:\n  g.md\nx [h]: no.md", []spec{{"b.md", 1, 0}, {"e.md", 2, 0}, {"g.md", 6, 0}}},
		{"no definition within a paragraph", "[^1]: a\n[f]: no.md", nil},
		{"html", "<img alt=\"x\" SRC = 'a.png'/> <a\n  href=b.md>x</a> <http://no> <!-- <img src=no> [a](no.md)\n--> <b>[c](d.md)</b> 1 < 2 [e](f.md)", []spec{
			{"a.png", 1, 0}, {"b.md", 2, 0}, {"d.md", 3, 0}, {"f.md", 3, 0},
		}},
		{"comment as a block", "<!-- [a](no.md)\n\n[b](no.md) -->\n\n[c](d.md)", []spec{{"d.md", 5, 0}}},
		{"comment that its paragraph does not end", "a <!-- [b](c.md)\n\n-->", []spec{{"c.md", 1, 0}}},
		{"fences", "```md\n[a](no.md)\n~~~\n```\n[b](c.md)\n- ~~~~\n  [d](no.md)\n  ~~~\n  ~~~~~\n> ```\n> [e](no.md)\n\n[f](g.md)\n``` [h](no.md)", []spec{{"c.md", 5, 0}, {"g.md", 13, 0}}},
		{"indents", "a\n\n    [a](no.md)\n\n    [b](no.md)\n\n- c\n\n    [d](e.md)\n\nf\n    [g](h.md)", []spec{{"e.md", 9, 0}, {"h.md", 12, 0}}},
		{"front matter", "---\na: \"[b](no.md)\"\n---\n[c](d.md)", []spec{{"d.md", 4, 0}}},
		{"rule", "---\n[c](d.md)", []spec{{"d.md", 2, 0}}},
		{"wiki", "[[a b]] ![[c.png]] [[d|e]] [[1]](f.md) [[]] [[g", []spec{
			{"a b", 1, markdownWiki}, {"c.png", 1, markdownWiki}, {"d|e", 1, markdownWiki}, {"f.md", 1, 0},
		}},
		{"backticks that begin no code", "``` a [c](d.md) `[e](no.md)`\n\n`[f](g.md)\n\n`", []spec{{"d.md", 1, 0}, {"g.md", 3, 0}}},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := extractMarkdown([]byte(c.source))
			if err != nil || !slices.Equal(got, c.want) {
				t.Errorf("got %v, %v; want %v", got, err, c.want)
			}
		})
	}
}

func TestMarkdownResolve(t *testing.T) {
	files := memory{
		"docs/a.md": "[b](b.md#part) [c](../README.md?x=1) [root](/docs/img/p.png) [out](../../x.md) [self](#here) [self](a.md)\n" +
			"[space](with%20space.md) [amp](r&amp;d.md) [escaped](under\\_score.md) [bad](100%.md)",
		"docs/external.md":    "[a](https://b.md) [b](mailto:b.md) [c](//docs/b.md) [d](C:\\b.md) <a href='tel:1'> [e](none.md)",
		"docs/folders.md":     "[a](guide) [b](guide/) [c](img) [d](..) [e](b) [f](/)",
		"docs/wiki.md":        "[[deep]] [[twice]] [[two/twice|x]] ![[p.png]] [[none]] [[b#part]] [[/]]",
		"docs/b.md":           "",
		"docs/with space.md":  "",
		"docs/r&d.md":         "",
		"docs/under_score.md": "",
		"docs/100%.md":        "",
		"docs/img/p.png":      "",
		"docs/guide/Index.md": "",
		"docs/x/y/deep.md":    "",
		"docs/one/twice.md":   "",
		"docs/two/twice.md":   "",
		"README.md":           "",
	}
	check(t, files, "markdown", []importing{
		{"relative, root, decoded", "docs/a.md", []string{
			"docs/b.md", "README.md", "docs/img/p.png", "docs/with space.md", "docs/r&d.md", "docs/under_score.md", "docs/100%.md",
		}},
		{"external", "docs/external.md", nil},
		{"folders and endings", "docs/folders.md", []string{"docs/guide/Index.md", "README.md", "docs/b.md"}},
		{"wiki", "docs/wiki.md", []string{"docs/x/y/deep.md", "docs/two/twice.md", "docs/img/p.png", "docs/b.md"}},
	})
}

func TestMarkdownIsLinear(t *testing.T) {
	for _, piece := range []string{
		"[", "]", "[](", "[](a \"", "[](a (", "`", "`a", "`` ` ", "<a b=\"", "<a b='", "<!--", "[[", "[[a", "> ", "- ", "[a]:\n", "\\", "<a\n", "\n", "```\n", "    a\n", "1. ",
	} {
		t.Run(piece, func(t *testing.T) {
			complexitytest.Linear(t, 64_000, func(n int) { _, _ = extractMarkdown([]byte(strings.Repeat(piece, n))) })
		})
	}
	t.Run("runs of every length", func(t *testing.T) {
		complexitytest.Linear(t, 64_000, func(n int) {
			var b strings.Builder
			for i := 1; b.Len() < 10*n; i++ {
				b.WriteString(strings.Repeat("`", i) + "a")
			}
			_, _ = extractMarkdown([]byte(b.String()))
		})
	})
}

func FuzzMarkdown(f *testing.F) {
	for _, seed := range []string{"[a](b)", "[[a]]", "```\n[a](b)\n```", "<a href=b>", "<!-- -->", "[a]: <b>", "> - ~~~", "---\na\n---\n`` ` ``", "[a](%zz \\"} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, content []byte) {
		specs, _ := extractMarkdown(content)
		lines := 1 + strings.Count(string(content), "\n")
		for _, s := range specs {
			if s.line < 1 || s.line > lines {
				t.Fatalf("line %d of %d", s.line, lines)
			}
		}
		_, _ = Of(memory{"a/b": "", "a/b.md": "", "b": ""}, "a/x.md", "markdown", content)
	})
}
