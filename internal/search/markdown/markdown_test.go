package markdown_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"remit/internal/complexitytest"
	"remit/internal/search/markdown"
)

// destinations lists the destinations in a text. Those of images are prefixed with !.
func destinations(text string) []string {
	d := markdown.Parse(text)
	found := []string{}
	for _, l := range d.Links {
		mark := ""
		if l.Image {
			mark = "!"
		}
		found = append(found, mark+d.Destination(l))
	}
	return found
}

func TestLinks(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name, text string
		want       []string
	}{
		{"a link", "See [the next](lesson-02.md).", []string{"lesson-02.md"}},
		{"an image", "![A cat](img/cat.png)", []string{"!img/cat.png"}},
		{"with titles", `[a](a.md "A") [b](b.md 'B') [c](c.md (C)) ![d]( d.png  "D" )`, []string{"a.md", "b.md", "c.md", "!d.png"}},
		{"in angle brackets", "[a](<my file.md>) ![b](<b (1).png> \"t\")", []string{"my file.md", "!b (1).png"}},
		{"with parentheses", "[a](a_(b).md) [c](c\\).md)", []string{"a_(b).md", "c\\).md"}},
		{"not a link: with a space", "[a](my file.md)", []string{}},
		{"an image in a link", "[![alt](img.png)](target.md)", []string{"!img.png", "target.md"}},
		{"a link in a link is the inner", "[a [b](b.md) c](c.md)", []string{"b.md"}},
		{"brackets in the text", "[a [b] c](d.md)", []string{"d.md"}},
		{"over two lines", "[a\nb](c.md\n\"t\")", []string{"c.md"}},
		{"no blank line in between", "[a\n\nb](c.md)", []string{}},
		{"nothing in it", "[a]()", []string{""}},
		{"escaped", `\[a](b.md) [c\](d.md)`, []string{}},
		{"definitions", "[a]: a.md\n[b]: <b c.md> \"B\"\n[c]:\n  c.md\n\nSee [a].", []string{"a.md", "b c.md", "c.md"}},
		{"not a definition: in a paragraph", "Text\n[a]: a.md", []string{}},
		{"a footnote is a text", "[^1]: See [a](a.md)", []string{"a.md"}},
		{"addresses", "<https://example.org/a.md> <a@example.org> [x](https://example.org)", []string{"https://example.org"}},
		{"tags", `<img alt="a>b" src="a.png"> <a href='b.md'>x</a> <IMG SRC=c.png /> <p align="x">`, []string{"!a.png", "b.md", "!c.png"}},
		{"a tag over two lines", "<img\n  src=\"a.png\"\n  width=1>", []string{"!a.png"}},
		{"a comparison is no tag", "a < b [c](c.md) and 1 <2", []string{"c.md"}},
		{"code", "`[a](a.md)` ``[b](`b.md)`` [c](c.md) `", []string{"c.md"}},
		{"code over two lines", "`a\n[b](b.md)`", []string{}},
		{"code ends with its paragraph", "`a\n\n[b](b.md)`", []string{"b.md"}},
		{"fences", "```md\n[a](a.md)\n```\n[b](b.md)\n~~~\n[c](c.md)\n```\n~~~~\n[d](d.md)", []string{"b.md", "d.md"}},
		{"a fence in a list", "- x\n\n  ```\n  [a](a.md)\n  ```\n  [b](b.md)\n", []string{"b.md"}},
		{"a fence ends with its item", "- ```\n  [a](a.md)\n\n[b](b.md)", []string{"b.md"}},
		{"a fence in a quote", "> ```\n> [a](a.md)\n\n[b](b.md)", []string{"b.md"}},
		{"no fence", "``` a ` b\n[a](a.md)", []string{"a.md"}},
		{"indented code", "Text\n\n    [a](a.md)\n\n\t[b](b.md)\n\n[c](c.md)", []string{"c.md"}},
		{"an indent goes on with a paragraph", "Text\n    [a](a.md)", []string{"a.md"}},
		{"an indent in a list", "1. One\n\n    [a](a.md)\n\n- Two\n  - Three\n\n    [b](b.md)\n\n        [c](c.md)", []string{"a.md", "b.md"}},
		{"an item that is code", "-     [a](a.md)\n- [b](b.md)", []string{"b.md"}},
		{"a quote in a list", "- a\n  > b\n\n  - [c](c.md)\n\n    [d](d.md)\n\nx\n\n    [no](no.md)", []string{"c.md", "d.md"}},
		{"quotes", "> See [a](a.md)\n> > ![b](b.png)", []string{"a.md", "!b.png"}},
		{"comments", "<!-- [a](a.md) -->\n\n<!--\n[b](b.md)\n\n[c](c.md)\n-->\n[d](d.md) <!-- [e](e.md) --> [f](f.md)", []string{"d.md", "f.md"}},
		{"raw tags", "<pre>\n[a](a.md)\n\n[b](b.md)</pre>\n\n[c](c.md)\n\n<script>x\n</SCRIPT>\n[d](d.md)", []string{"c.md", "d.md"}},
		{"headings", "# A [b](b.md) #\n\nC [d](d.md)\n---\n[e](e.md)", []string{"b.md", "d.md", "e.md"}},
		{"tables", "| a | b |\n|---|---|\n| [c](c.md) | ` |\n| [d](d.md) | ` |", []string{"c.md", "d.md"}},
		{"front matter", "---\ntitle: \"[a](a.md)\"\n---\n[b](b.md)", []string{"b.md"}},
		{"line ends of Windows", "```\r\n[a](a.md)\r\n```\r\n[b]: b.md\r\n[c](c.md)\r\n", []string{"b.md", "c.md"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, destinations(tc.text)); diff != "" {
				t.Errorf("%s\n%s", tc.text, diff)
			}
		})
	}
}

func TestHeadings(t *testing.T) {
	t.Parallel()
	text := "# What is *Python*?\n\n## Names: `__init__` and snake_case\n\nUnder\nlined\n===\n\n# A & B &amp; C\n\n## Setup\n\n### Setup\n## Setup-1\n" +
		"## __Bold__ [link](x.md) {#own-Id}\n\n## 数据 and Größe\n\n#hashtag\n\n```\n# no\n```\n<a name=\"Here\"></a>"
	d := markdown.Parse(text)
	var got []string
	for _, h := range d.Headings {
		got = append(got, h.Slug)
	}
	want := []string{"what-is-python", "names-__init__-and-snake_case", "underlined", "a--b--c", "setup", "setup-1", "setup-1-1", "own-Id", "数据-and-größe"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	for _, name := range []string{"setup", "Setup-1", "own-id", "here", "", "top"} {
		if !d.HasAnchor(name) {
			t.Errorf("#%s leads nowhere", name)
		}
	}
	if d.HasAnchor("no") || d.HasAnchor("hashtag") {
		t.Error("text that is not a heading has an anchor")
	}
	if h := d.Headings[1]; h.Level != 2 || h.Text != "Names: __init__ and snake_case" || d.Line(h.Start) != 3 {
		t.Errorf("the second heading is %+v in line %d", h, d.Line(h.Start))
	}
}

func TestBlocks(t *testing.T) {
	t.Parallel()
	const text = "---\ntitle: x\n---\n# A\nText\n  goes on\n- one\nlazily\n\n  in one\n\n  > quoted\n\n    in one\n- two\n  - within\n2. three\n\n" +
		"2024 was\n2. no item\nTwo\n---\n> quote\n>\n> more\nlazily\n\n> another\n\n    code\n    code\n```\n# code\n\n```\n|a|\n|-|\n\n|b|\n***\n<!-- x\n\ny -->\nend\n"
	names := map[markdown.BlockKind]string{
		markdown.Paragraph: "text", markdown.Title: "title", markdown.Item: "item", markdown.Quote: "quote",
		markdown.Code: "code", markdown.Table: "table", markdown.Remark: "remark",
	}
	var got []string
	d := markdown.Parse(text)
	for _, b := range d.Blocks {
		line := fmt.Sprint(names[b.Kind], " ", d.Line(b.Start), "-", d.Line(b.End))
		if b.Heading != nil {
			line += fmt.Sprint(" ", b.Heading.Level, " ", b.Heading.Text)
		}
		got = append(got, line)
	}
	want := []string{
		"title 4-4 1 A", "text 5-6", "item 7-14", "item 15-16", "item 17-17", "title 19-22 2 2024 was\n2. no item\nTwo", "quote 23-26", "quote 28-28",
		"code 30-31", "code 32-35", "table 36-37", "table 39-39", "remark 40-40", "remark 41-43", "text 44-44",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestFrontMatter(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name, text, title, wrong string
		line                     int
	}{
		{name: "a title", text: "---\ntitle: Hello\n---\nx", title: "Hello"},
		{name: "dots and a mark", text: "\ufeff---  \r\ntitle: Hello\r\n...\r\nx", title: "Hello"},
		{name: "none", text: "# Hello\n---\ntitle: no\n---\n"},
		{name: "empty", text: "---\n---\n"},
		{name: "a line across the page", text: "---\n\nText\n"},
		{name: "a text between lines across the page", text: "---\nText\n---\n"},
		{name: "never ends", text: "---\ntitle: Hello\n\nText\n", wrong: "never ends", line: 1},
		{name: "a list", text: "---\n- a\n---\n", wrong: "keys with values", line: 2},
		{name: "no YAML", text: "---\ntitle: a\nx: [1\n---\n", wrong: "not YAML", line: 3},
		{name: "a key twice", text: "---\ntitle: a\nx: 1\ntitle: b\n---\n", wrong: "already", line: 4},
		{name: "TOML", text: "+++\ntitle = 'Hello'\n...\n+++\nx", wrong: "not TOML", line: 3},
		{name: "TOML with a title", text: "+++\ntitle = 'Hello'\ndate = 2026-01-02\n+++\nx", title: "Hello"},
		{name: "TOML that never ends", text: "+++\ntitle: Hello\n---\nx"},
		{name: "too deep", text: "---\ntitle: " + strings.Repeat("[", 600) + "\n---\n", wrong: "too deeply", line: 1},
	} {
		t.Run(tc.name, func(t *testing.T) {
			fields, err := markdown.Parse(tc.text).Front.Fields()
			var wrong *markdown.FrontError
			if errors.As(err, &wrong) != (tc.wrong != "") {
				t.Fatalf("error %v, want %q", err, tc.wrong)
			}
			if wrong != nil && (!strings.Contains(wrong.Message, tc.wrong) || wrong.Line != tc.line) {
				t.Errorf("line %d: %s", wrong.Line, wrong.Message)
			}
			if title, _ := fields["title"].(string); title != tc.title {
				t.Errorf("the title is %q", title)
			}
		})
	}
}

func TestReplaceChangesDestinationsAlone(t *testing.T) {
	t.Parallel()
	text := "\ufeffSee [a](old.md#x \"T\"),\r\n![b](<old.md>) and `old.md`.\r\n[c]: old.md\r\n\r\n<img src='old.md'>\t\n"
	got, n := markdown.Parse(text).Replace(func(l markdown.Link) (string, bool) {
		return strings.Replace(text[l.Start:l.End], "old.md", "new.md", 1), true
	})
	want := "\ufeffSee [a](new.md#x \"T\"),\r\n![b](<new.md>) and `old.md`.\r\n[c]: old.md\r\n\r\n<img src='new.md'>\t\n"
	if got != want || n != 3 {
		t.Errorf("%d replaced:\n%q\n%q", n, got, want)
	}
}

func FuzzParse(f *testing.F) {
	for _, seed := range []string{
		"---\ntitle: x\n---\n# A\n[a](b \"c\") ![d](<e>)\n", "- > 1. ```\n[a]: <b>\n", "<img src='a' id=b>\n\n    code\n", "`` ` ``` [](\\)",
		"[[[![](a)](b)](c)", "<!-- \n-->\n<pre>", "\r\n>\t- x\n", "[\\", "![", "<a b=", "[a]: ", "# \\", "\ufeff---\n...",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		d := markdown.Parse(text)
		_, _ = d.Front.Fields()
		if !slices.IsSortedFunc(d.Links, func(a, b markdown.Link) int { return a.Start - b.Start }) {
			t.Error("the links are not in order")
		}
		last := 0
		for _, l := range d.Links {
			if l.Start < last || l.End < l.Start || l.End > len(text) {
				t.Fatalf("%q has a link from %d to %d after %d", text, l.Start, l.End, last)
			}
			if strings.ContainsAny(d.Destination(l), "\n") && !strings.Contains(text, "=") {
				t.Errorf("%q is a destination over two lines", d.Destination(l))
			}
			last = l.End
			_ = d.Line(l.Start)
		}
		if same, n := d.Replace(func(l markdown.Link) (string, bool) { return d.Destination(l), true }); same != text || n != len(d.Links) {
			t.Fatalf("%q became %q", text, same)
		}
		last = 0
		for _, b := range d.Blocks {
			if b.Start < last || b.End < b.Start || b.End > len(text) {
				t.Fatalf("%q has a block from %d to %d after %d", text, b.Start, b.End, last)
			}
			last = b.End
		}
		for _, h := range d.Headings {
			if !d.HasAnchor(h.Slug) {
				t.Errorf("#%s leads nowhere", h.Slug)
			}
		}
	})
}

// TestParseIsLinear checks that parsing takes linear time, also within headings, lists and quotes.
func TestParseIsLinear(t *testing.T) {
	for _, piece := range []string{
		"[", "![", "](", "[](", "[a](b \"", "`", "`a", "<a ", "<!--", "<a b=\"", "- ", "> ", "[a]: b\n", "<a:", "\\", "![[](x)", "a](<", "[](a(", "| [", "1) ", "_",
		"_a", "*", "[[a", "{#", "&amp;", "a\n===\n", "- a\n", "- a\n  > b\n", "a\n> b\n", "2. a\n", "```\n", "<pre>\n", "\n", "    a\n", "---\n",
	} {
		for _, before := range []string{"", "# ", "- ", "> ", "+++\n"} {
			t.Run(before+piece, func(t *testing.T) {
				complexitytest.Linear(t, 64_000, func(n int) { _ = markdown.Parse(before + strings.Repeat(piece, n)) })
			})
		}
	}
}

func TestLocal(t *testing.T) {
	t.Parallel()
	for destination, want := range map[string]*markdown.Target{
		"a.md":                 {Path: "a.md"},
		"../a%20b.md#Part-1":   {Path: "../a b.md", Fragment: "Part-1", Rest: "#Part-1"},
		"a.md?x=1#y":           {Path: "a.md", Fragment: "y", Rest: "?x=1#y"},
		"#here":                {Fragment: "here", Rest: "#here"},
		`a\_b\(1\).md`:         {Path: "a_b(1).md"},
		"a&amp;b&#45;c.md#d":   {Path: "a&b-c.md", Fragment: "d", Rest: "#d"},
		"100%.md":              {Path: "100%.md"},
		"/img/a.png":           {Path: "/img/a.png"},
		"":                     {},
		"https://example.org":  nil,
		"mailto:a@example.org": nil,
		"//example.org/a":      nil,
		"C:/a.md":              nil,
	} {
		got, ok := markdown.ParseTarget(destination)
		if ok != (want != nil) || ok && got != *want {
			t.Errorf("%q leads to %+v, %v", destination, got, ok)
		}
	}
}
