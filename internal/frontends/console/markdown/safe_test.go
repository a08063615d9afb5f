package markdown_test

import (
	"html"
	"html/template"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/microcosm-cc/bluemonday"

	"remit/internal/complexitytest"
	"remit/internal/frontends/console/markdown"
)

// policy allows only the elements of this package.
func policy() *bluemonday.Policy {
	p := bluemonday.NewPolicy()
	p.AllowElements("p", "br", "hr", "h1", "h2", "h3", "h4", "h5", "h6", "blockquote", "ul", "ol", "li", "em", "strong", "del", "code", "pre",
		"table", "thead", "tbody", "tr", "th", "td", "sub", "sup", "kbd", "details", "summary", "div", "input", "img", "span")
	p.AllowNoAttrs().OnElements("a", "span", "img", "input", "div")
	p.AllowURLSchemes("http", "https", "mailto")
	p.AllowRelativeURLs(true)
	p.RequireParseableURLs(false)
	p.AllowAttrs("href", "rel", "title").OnElements("a")
	p.AllowAttrs("src", "alt", "title", "loading").OnElements("img")
	p.AllowAttrs("id").Matching(regexp.MustCompile(`^h-`)).OnElements("h1", "h2", "h3", "h4", "h5", "h6")
	p.AllowAttrs("class").Matching(regexp.MustCompile(`^(raw|scroll|left|right|center|language-[^\s]*)$`)).OnElements("p", "div", "th", "td", "code")
	p.AllowAttrs("tabindex").Matching(regexp.MustCompile(`^0$`)).OnElements("pre", "div")
	p.AllowAttrs("role", "aria-label").OnElements("div")
	p.AllowAttrs("scope").OnElements("th")
	p.AllowAttrs("start").OnElements("ol")
	p.AllowAttrs("open").OnElements("details")
	p.AllowAttrs("type", "disabled", "checked", "aria-label").OnElements("input")
	return p
}

// normalize gives equal text for equal HTML, whatever escapes and attribute forms it uses.
func normalize(text string) string {
	text = strings.NewReplacer(` disabled=""`, " disabled", ` checked=""`, " checked", ` open=""`, " open").Replace(text)
	return html.UnescapeString(text)
}

// checkSafe fails if a sanitizer would remove something from the output, or if an element is not
// closed.
func checkSafe(t *testing.T, p *bluemonday.Policy, source string) {
	t.Helper()
	out := ours(source)
	if got := p.Sanitize(out); normalize(got) != normalize(out) {
		t.Fatalf("%q became\n%s\nwhich the sanitizer changed to\n%s", source, out, got)
	}
	if at := unbalanced(out); at != "" {
		t.Fatalf("%q: %s in\n%s", source, at, out)
	}
}

var tags = regexp.MustCompile(`<(/?)([a-z0-9]+)[^<>]*>`)

// unbalanced returns the first tag that is not closed in the right order, or "".
func unbalanced(out string) string {
	var open []string
	for _, m := range tags.FindAllStringSubmatch(out, -1) {
		switch {
		case m[2] == "br" || m[2] == "hr" || m[2] == "img" || m[2] == "input":
		case m[1] == "":
			open = append(open, m[2])
		case len(open) == 0 || open[len(open)-1] != m[2]:
			return "a stray " + m[0]
		default:
			open = open[:len(open)-1]
		}
	}
	if len(open) > 0 {
		return "an open " + open[len(open)-1]
	}
	return ""
}

// attacks are known attacks on pages that show Markdown.
var attacks = []string{
	"<script>alert(1)</script>", `"><img src=x onerror=alert(1)>`, "[x](javascript:alert(1))", "[x](  javascript:alert(1))", "![x](javascript:alert(1))",
	`[x](http://a "onmouseover=alert(1) x=")`, "[x]: javascript:alert(1)\n\n[x]", "<a href='javascript:alert(1)'>x</a>", "<IMG SRC=javascript:alert(1)>",
	`<img src="a.png" onload="alert(1)">`, `<img src="a.png"/onerror=alert(1)>`, "<details open ontoggle=alert(1)>", "<svg/onload=alert(1)>", "<kbd onclick=alert(1)>x</kbd>",
	"```\"onload=alert(1)\nx\n```", "```a\tbutton\nx\n```", "```a&#10;button\nx\n```", "```&#9;button\nx\n```", "```a\u00a0b\u2028c\nx\n```", "# \"onclick=alert(1)", "<http://a\"onclick=alert(1)>", "http://a.b/\"onclick=alert(1)", "`<script>`", "|<script>|\n|-|\n|<img onerror>|",
	"- [x] <script>", "<!--><script>alert(1)</script>-->", "<!-- --!><script>alert(1)</script>", "<![CDATA[<script>]]>", "<?x <script>?>", "&lt;script&gt;", "\u202egnp.exe",
	"<details><summary><script>alert(1)</script></summary>", "</p></div><script>", "<table><tr><td>", "[<img src=x>](a)", "![<script>](a.png)", "<sub><p></sub>",
}

func TestAttacks(t *testing.T) {
	p := policy()
	for _, source := range attacks {
		checkSafe(t, p, source)
		checkSafe(t, p, "> - "+source)
	}
	for _, source := range corpus(t) {
		checkSafe(t, p, source)
	}
}

func FuzzRender(f *testing.F) {
	for _, source := range attacks {
		f.Add(source)
	}
	for _, part := range strings.Split(corpus(f)["testdata/constructs.md"], "\n\n") {
		f.Add(part)
	}
	p := policy()
	f.Fuzz(func(t *testing.T, source string) { checkSafe(t, p, source) })
}

// hard are texts that make parsers slow or deeply nested.
var hard = []string{
	"[", "]", "[a](", "[](<", "[](a \"", "![", "![[](a)", "[a]", "[[a]", "*", "**", "***", "_", "*a ", "*a_ ", "a**b_", "~", "~~", "~a", "`", "``a`", "`a``", "<", "<a", "<a b=\"", "<a b='", "<!--", "<!-", "<sub>",
	"</sub>", "<kbd>*", "<details>", "<details>\n", "</details>", "<details><summary>", "<details></details>", "&", "&#", "&a;", "\\", ">", "> ", ">>\n", "- ", "* * ", "1. ", "-\n", "- a\n", "- a\n\n", "-\ta\n ", "#", "# a\n", "# \n", "=\n", "a\n=\n", "---\n", "```\n", "~~~a\n",
	"    a\n", "\ta\n\n", "|", "|a", "|a|\n|-|\n", "|\n", "a\n", "a  \n", " ", "\n", "[a]: b\n", "[a]: b\n\n[a]", "[a]:", "[^1]: a\n", "http://", "http://a.b/(", "www.", "www.a.b)", "a@", "a@b.c ", "@", "<a@", "<http:", "<x ", "<x\n", "<div>\n", "<script>", "<?", "\x00", "\xff", "\r", "\u202e", "- [x] a\n", "\"", "'", "(", ")", "![a](b", "<img src=a ", "[a][", "][",
}

// TestHardTexts repeats each text, up to 1 MiB in full runs: quadratic time fails the test, and
// unlimited depth crashes it.
func TestHardTexts(t *testing.T) {
	maxSize := 1 << 16
	if os.Getenv("REMIT_FULL") == "true" {
		maxSize = 1 << 20
	}
	for _, part := range hard {
		for name, source := range map[string]func(n int) string{
			"repeated": func(n int) string { return strings.Repeat(part, n) },
			"after a header": func(n int) string {
				return "|" + strings.Repeat("a|", 200) + "\n|" + strings.Repeat("-|", 200) + "\n" + strings.Repeat(part, n/8)
			},
			"mirrored": func(n int) string {
				return strings.Repeat(part, n/16) + "a" + strings.Repeat(mirror(part), n/16)
			},
			"after references": func(n int) string { return "[a]: /" + strings.Repeat("x", 1900) + "\n\n" + strings.Repeat(part, n/8) },
		} {
			t.Run(part+" "+name, func(t *testing.T) {
				complexitytest.Linear(t, maxSize, func(size int) {
					text := source(size / len(part))
					if out := markdown.Render([]byte(text), markdown.Options{}); len(out) > 20*len(text)+1<<20 {
						t.Errorf("%d bytes became %d", len(text), len(out))
					}
				})
			})
		}
	}
}

func mirror(text string) string {
	b := []byte(text)
	for i, j := 0, len(b)-1; i < j; i, j = i+1, j-1 {
		b[i], b[j] = b[j], b[i]
	}
	return strings.NewReplacer("[", "]", "(", ")", "<", ">").Replace(string(b))
}

func TestHighlighterIsCalled(t *testing.T) {
	var got string
	out := markdown.Render([]byte("```go run\nx\n```"), markdown.Options{Highlight: func(lang, code string) template.HTML {
		got = lang + ":" + code
		return "<span>x</span>"
	}})
	if got != "go:x\n" || !strings.Contains(string(out), "<span>x</span>") {
		t.Errorf("called with %q, rendered %s", got, out)
	}
}
