package markdown_test

import (
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/text"

	"remit/internal/search/markdown"
)

// TestOracle checks that goldmark finds the same destinations and headings in our documents and in
// constructs that are easy to misread.
func TestOracle(t *testing.T) {
	t.Parallel()
	texts := map[string]string{}
	for i, construct := range []string{
		"- item\n---\nThird\n===\n", "> quote\n---\nafter\n", "> quote\n===\n\nx", "#hashtag\nSecond\n---\n", "a\n***\nb\n---\n",
		"- a\n  ===\n- b\n", "1. a\n\n   # In an item\n", "> # In a quote\n> [a](b.md)\n", "[a]: b.md\n[c]: d.md 'x'\n\n[a] [c]", "Text\n[a]: no.md\n",
		"[a](b.md \"x\") ![c](<d e.png>) `[no](no.md)`", "    [no](no.md)\n\ntext\n    [a](b.md)\n", "- a\n\n      [no](no.md)\n\n    [b](c.md)\n",
		"```\n[no](no.md)\n# no\n```\n~~~\n# no\n", "a <!-- [b](c.md)\n\n--> [d](e.md)", "<!-- # no\n\n[no](no.md) -->\n\n# Yes\n", "[a [b](c.md)](no.md)",
		"# Closed ##\n## \n### a\\#\n", "Two\nlines\n====\n", "[a](\n  b.md)", "[^1]: a\n[f]: no.md", "* * *\n- - -\n", "- a\n  > b\n\n  - [c](d.md)\n\n    [e](f.md)\n\nx\n\n    [no](no.md)", "2024 was\n2. no item\nTwo\n---\n", "> - a\n>\n>   # In both\n", "a\n\n---\n\nb\n",
	} {
		texts[fmt.Sprint(i, construct)] = construct
	}
	root := os.DirFS("../../..")
	err := fs.WalkDir(root, "docs", func(name string, _ fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(name, ".md") {
			return err
		}
		content, err := fs.ReadFile(root, name)
		texts[name] = string(content)
		return err
	})
	if err != nil || len(texts) < 40 {
		t.Fatalf("%d texts, error %v", len(texts), err)
	}
	for name, content := range texts {
		d := markdown.Parse(content)
		var headings, links []string
		for _, h := range d.Headings {
			headings = append(headings, fmt.Sprint(h.Level, " ", strings.Join(strings.Fields(content[h.Start:h.End]), " ")))
		}
		for _, l := range d.Links {
			links = append(links, d.Destination(l))
		}
		wantHeadings, wantLinks := oracle(content)
		if diff := cmp.Diff(wantHeadings, headings); diff != "" {
			t.Errorf("%s: headings (-goldmark +ours):\n%s", name, diff)
		}
		if diff := cmp.Diff(wantLinks, set(links)); diff != "" {
			t.Errorf("%s: links (-goldmark +ours):\n%s", name, diff)
		}
	}
}

func set(words []string) []string {
	slices.Sort(words)
	return slices.Compact(words)
}

// oracle returns the headings of a text, and the destinations of links, images and definitions.
func oracle(content string) (headings, links []string) {
	source, context := []byte(content), parser.NewContext()
	root := goldmark.New(goldmark.WithExtensions(extension.GFM, extension.Footnote)).Parser().Parse(text.NewReader(source), parser.WithContext(context))
	_ = ast.Walk(root, func(n ast.Node, entering bool) (ast.WalkStatus, error) {
		if !entering {
			return ast.WalkContinue, nil
		}
		switch n := n.(type) {
		case *ast.Heading:
			title := ""
			for i := range n.Lines().Len() {
				line := n.Lines().At(i)
				title += string(line.Value(source)) + " "
			}
			headings = append(headings, fmt.Sprint(n.Level, " ", strings.Join(strings.Fields(title), " ")))
		case *ast.Link:
			links = append(links, string(n.Destination))
		case *ast.Image:
			links = append(links, string(n.Destination))
		}
		return ast.WalkContinue, nil
	})
	for _, reference := range context.References() {
		links = append(links, string(reference.Destination()))
	}
	return headings, set(links)
}
