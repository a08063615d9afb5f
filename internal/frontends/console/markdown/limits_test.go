package markdown_test

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"remit/internal/frontends/console/markdown"
)

const notice = "<p><em>This text is too complex to format, so its source is shown.</em></p>\n"

// TestLimits has texts just within a limit, which are formatted, and texts just above it, whose
// source is shown below a notice.
func TestLimits(t *testing.T) {
	rows := func(n int) string {
		return "|" + strings.Repeat("a|", 100) + "\n|" + strings.Repeat("-|", 100) + "\n" + strings.Repeat("b\n", n-2)
	}
	paragraph := strings.Repeat("word ", 28_000)
	for _, c := range []struct{ name, within, above string }{
		{"marks", strings.Repeat("`a` ", 1000), strings.Repeat("[a ", 1001)},
		{"marks of each block", strings.Repeat(strings.Repeat("[a ", 600)+"\n\n", 10), "*b*\n\n" + strings.Repeat("<a ", 1001)},
		{"marks of each item", strings.Repeat("- "+strings.Repeat("[a ", 600)+"\n", 10), strings.Repeat("2) "+strings.Repeat("[a ", 600)+"\n", 2)[3:]},
		{"marks of each cell", "|a|\n|-|\n" + strings.Repeat("|"+strings.Repeat("[a ", 600)+"|\n", 10), strings.Repeat("|"+strings.Repeat("[a ", 600)+"\n", 2)},
		{"marks in code", "```\n" + strings.Repeat("[a ", 2000) + "\n```\n", strings.Repeat("[a ", 2000)},
		{"marks in a summary", "<details><summary>" + strings.Repeat("*", 900) + "</summary></details>", "<details><summary>" + strings.Repeat("[", 1001) + "</summary></details>"},
		{"long rescans", paragraph + strings.Repeat("_", 900), strings.Repeat("_a ", 900) + paragraph},
		{"cells", rows(1000), rows(1001)},
		{"cells of all tables", rows(500) + "\n" + rows(500), rows(500) + "\n" + rows(501)},
		{"a second row of delimiters", rows(900) + "|-|\n" + strings.Repeat("b\n", 99), rows(900) + "|-|\n" + strings.Repeat("b\n", 100)},
		{"escaped bars", "|a|\n|-|\n" + strings.Repeat("|`\\|`|\n", 4000), "|a|\n|-|\n" + strings.Repeat("|`\\|`|\n", 4001)},
		{"definitions", strings.Repeat("[a]: b\n", 2000), strings.Repeat("[a]: b\n", 2001)},
		{"definitions before many lines", strings.Repeat("[a]: b\n", 100) + strings.Repeat("c\n", 100_000), strings.Repeat("[a]: b\n", 200) + strings.Repeat("c\n", 100_000)},
	} {
		t.Run(c.name, func(t *testing.T) {
			if out := string(markdown.Render([]byte(c.within), markdown.Options{})); strings.HasPrefix(out, notice) {
				t.Error("the text within the limit is not formatted")
			}
			source := strings.TrimSuffix(c.above, "\n") + "\n"
			want := notice + `<pre tabindex="0"><code>` + markdown.Escape(source) + "</code></pre>\n"
			if out := string(markdown.Render([]byte(c.above), markdown.Options{})); out != want {
				t.Errorf("the text above the limit became\n%.300s", out)
			}
			checkSafe(t, policy(), c.above)
		})
	}
}

// TestDeepTexts nests quotes and lists so deeply that the innermost markup stays text.
func TestDeepTexts(t *testing.T) {
	for _, c := range []struct{ mark, element string }{{"> ", "<blockquote>"}, {"- ", "<ul>"}, {"1. ", "<ol>"}} {
		out := ours(strings.Repeat(c.mark, 200) + "a")
		if n := strings.Count(out, c.element); n < 32 || n > 64 || !strings.Contains(out, strings.TrimSpace(markdown.Escape(c.mark+"a"))) {
			t.Errorf("%q: %d deep in\n%s", c.mark, n, out)
		}
	}
}

// TestUnlikeGoldmark has cases that goldmark alone renders wrong.
func TestUnlikeGoldmark(t *testing.T) {
	for _, c := range []struct{ name, source, want string }{
		{"a link that looks like a task", "- [x](y.md)", "<ul>\n<li><a href=\"y.md\">x</a></li>\n</ul>\n"},
		{"a task without text", "- [x]", "<ul>\n<li><input type=\"checkbox\" disabled checked aria-label=\"done\"> </li>\n</ul>\n"},
		{"a fence at the end", "```go", "<pre tabindex=\"0\"><code class=\"language-go\"></code></pre>\n"},
		{"an image with quotes", `<img alt="'a' src=b" src='c.png'>`, "<p><img src=\"c.png\" alt=\"'a' src=b\" loading=\"lazy\"></p>\n"},
		{"a direction character as a reference", "a&#x202e;b", "<p>a\ufffdb</p>\n"},
	} {
		if got := ours(c.source); got != c.want {
			t.Errorf("%s: got\n%s\nwant\n%s", c.name, got, c.want)
		}
	}
}

// TestLongDefinition refers to a long address many times: the output stays small.
func TestLongDefinition(t *testing.T) {
	source := "[a]: /" + strings.Repeat("x", 10_000) + "\n\n" + strings.Repeat("[a] ![a]\n\n", 1000)
	out := ours(source)
	if len(out) > 400_000 || !strings.HasSuffix(out, "<p>a a</p>\n") {
		t.Errorf("%d bytes became %d, ending in %q", len(source), len(out), out[len(out)-100:])
	}
}

func BenchmarkRender(b *testing.B) {
	var source strings.Builder
	texts := corpus(b)
	for _, name := range slices.Sorted(maps.Keys(texts)) {
		source.WriteString(texts[name] + "\n\n")
	}
	text := []byte(source.String()[:200<<10])
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		markdown.Render(text, markdown.Options{})
	}
}
