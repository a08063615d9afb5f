package markdown_test

import (
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"remit/internal/frontends/console/markdown"
)

func TestSameAsGoldmark(t *testing.T) {
	for name, source := range corpus(t) {
		if diff := cmp.Diff(strings.Split(same(oracle(t, source)), "\n"), strings.Split(same(ours(source)), "\n")); diff != "" {
			t.Errorf("%s (-goldmark +ours):\n%s", name, diff)
		}
	}
}

// TestConstructs renders the parts of the corpus one by one, so that a difference in one part does
// not hide another.
func TestConstructs(t *testing.T) {
	data, err := os.ReadFile("testdata/constructs.md")
	if err != nil {
		t.Fatal(err)
	}
	for part := range strings.SplitSeq(string(data), "\n\n") {
		for _, source := range []string{part, part + "\n", "> " + strings.ReplaceAll(part, "\n", "\n> "), "- " + strings.ReplaceAll(part, "\n", "\n  ")} {
			if diff := cmp.Diff(same(oracle(t, source)), same(ours(source))); diff != "" {
				t.Errorf("%q (-goldmark +ours):\n%s", source, diff)
			}
		}
	}
}

func TestRender(t *testing.T) {
	o := markdown.Options{
		Shift: 1,
		Link: func(dest string) (string, bool) {
			return "/read/" + dest, !strings.HasPrefix(dest, "..")
		},
		Image: func(dest string) (string, bool) { return "/asset/" + dest, !strings.HasPrefix(dest, "..") },
	}
	for _, c := range []struct{ name, source, want string }{
		{"headings are shifted by one level", "# A *b* c!", "<h2 id=\"h-a-b-c\">A <em>b</em> c!</h2>\n"},
		{"ids are unique", "# A\n# A\n# A-1", "<h2 id=\"h-a\">A</h2>\n<h2 id=\"h-a-1\">A</h2>\n<h2 id=\"h-a-1-1\">A-1</h2>\n"},
		{"an empty heading", "#", "<h2 id=\"h--0\"></h2>\n"},
		{"lines at the beginning of a part", "---\ntitle: x\n\n---\nText", "<hr>\n<p>title: x</p>\n<hr>\n<p>Text</p>\n"},
		{"a relative link", "[a](b.md#c)", "<p><a href=\"/read/b.md#c\">a</a></p>\n"},
		{"a link that is refused", "[a *b*](../b.md)", "<p>a <em>b</em></p>\n"},
		{"a link to a heading", "[a](#In-code)", "<p><a href=\"#h-in-code\">a</a></p>\n"},
		{"an external link", "[a](https://x.org)", "<p><a href=\"https://x.org\" rel=\"noopener noreferrer nofollow\">a</a></p>\n"},
		{"no other scheme", "[a](javascript:alert(1)) <javascript:alert(1)> [b](data:text/html,x) [c](vbscript:x)", "<p>a javascript:alert(1) b c</p>\n"},
		{"no scheme in disguise", "[a](JaVaScRiPt:x) [b](&#106;avascript:x) [c](java\\script:x) [d](&#1;javascript:x)", "<p>a b c d</p>\n"},
		{"no other server by two slashes", "[a](//x.org) ![b](//x.org/p.png)", "<p>a b</p>\n"},
		{"a backslash is not a slash", `[a](/\x.org)`, "<p><a href=\"/read//%5Cx.org\">a</a></p>\n"},
		{"a relative image", `![a "b"](c.png "d")`, "<p><img src=\"/asset/c.png\" alt=\"a &quot;b&quot;\" title=\"d\" loading=\"lazy\"></p>\n"},
		{"an image that is refused", "![a](../c.png)", "<p>a</p>\n"},
		{"an external image is a link", "![a](https://x.org/c.png)", "<p><a href=\"https://x.org/c.png\" rel=\"noopener noreferrer nofollow\">a</a></p>\n"},
		{"an HTML image", `<img src="c.png" onerror="alert(1)" alt='x"y'>`, "<p><img src=\"/asset/c.png\" alt=\"x&quot;y\" loading=\"lazy\"></p>\n"},
		{"a script", "<script>alert(1)</script>", "<p class=\"raw\">&lt;script&gt;alert(1)&lt;/script&gt;</p>\n"},
		{"an inline script", "a <script>alert(1)</script>", "<p>a &lt;script&gt;alert(1)&lt;/script&gt;</p>\n"},
		{"an incomplete tag", `"><img src=x onerror=alert(1)`, "<p>&quot;&gt;&lt;img src=x onerror=alert(1)</p>\n"},
		{"an unclosed element", "a <kbd>b *c", "<p>a <kbd>b *c</kbd></p>\n"},
		{"overlapping elements", "*a <sub>b* c</sub>", "<p><em>a <sub>b</sub></em> c&lt;/sub&gt;</p>\n"},
		{"a details element", "<details>\n<summary>More *x*</summary>\n\n- a\n\n</details>\n\nb", "<details>\n<summary>More <em>x</em></summary>\n<ul>\n<li>a</li>\n</ul>\n</details>\n<p>b</p>\n"},
		{"an unclosed details element", "> <details>\n> a\n\nb", "<blockquote>\n<details>\n<p class=\"raw\">a</p>\n</details>\n</blockquote>\n<p>b</p>\n"},
		{"a stray end tag of details", "</details>", "<p class=\"raw\">&lt;/details&gt;</p>\n"},
		{"characters that change the text direction", "a\u202eb `c\u2066d`", "<p>a\ufffdb <code>c\ufffdd</code></p>\n"},
		{"invalid bytes", "a\x00b\xff", "<p>a\ufffdb\ufffd</p>\n"},
		{"code keeps its language", "```go \"><script>\nx < y\n```", "<pre tabindex=\"0\"><code class=\"language-go\">x &lt; y\n</code></pre>\n"},
		{"an invalid language", "```\"><script>\nx\n```", "<pre tabindex=\"0\"><code class=\"language-&quot;&gt;&lt;script&gt;\">x\n</code></pre>\n"},
		{"empty", "", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			if diff := cmp.Diff(c.want, string(markdown.Render([]byte(c.source), o))); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestSplit(t *testing.T) {
	for _, c := range []struct{ name, source, front, body string }{
		{"front matter", "---\ntitle: x\n---\nText", "title: x\n", "Text"},
		{"other line ends", "\ufeff---\r\ntitle: x\r\n---\r\nText\r\n", "title: x\r\n", "Text\r\n"},
		{"no end", "---\ntitle: x", "", "---\ntitle: x"},
		{"not at the beginning", "\n---\ntitle: x\n---\n", "", "\n---\ntitle: x\n---\n"},
	} {
		if front, body := markdown.Split(c.source); front != c.front || body != c.body {
			t.Errorf("%s: %q, %q", c.name, front, body)
		}
	}
}
