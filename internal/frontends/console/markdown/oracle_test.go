package markdown_test

import (
	"bytes"
	"html"
	"regexp"
	"strings"
	"testing"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	"github.com/yuin/goldmark/renderer"
	"github.com/yuin/goldmark/util"

	"remit/internal/frontends/console/markdown"
)

// oracle renders with unmodified goldmark and GitHub's extensions, without our limits, wrappers and
// renderers. As in this package, HTML is shown as text.
func oracle(t *testing.T, source string) string {
	t.Helper()
	md := goldmark.New(goldmark.WithExtensions(extension.GFM), goldmark.WithRendererOptions(renderer.WithNodeRenderers(util.Prioritized(asText{}, 1))))
	var b bytes.Buffer
	if err := md.Convert([]byte(source), &b); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// asText shows HTML as this package does.
type asText struct{}

func (asText) RegisterFuncs(r renderer.NodeRendererFuncRegisterer) {
	r.Register(ast.KindRawHTML, func(w util.BufWriter, source []byte, n ast.Node, entering bool) (ast.WalkStatus, error) {
		if entering {
			segments := n.(*ast.RawHTML).Segments
			var text string
			for i := range segments.Len() {
				at := segments.At(i)
				text += string(at.Value(source))
			}
			switch {
			case strings.HasPrefix(text, "<!--"):
			case allowedTag.MatchString(text):
				_, _ = w.WriteString(text)
			default:
				_, _ = w.WriteString(html.EscapeString(text))
			}
		}
		return ast.WalkSkipChildren, nil
	})
	r.Register(ast.KindHTMLBlock, func(w util.BufWriter, source []byte, n ast.Node, entering bool) (ast.WalkStatus, error) {
		if entering {
			var text string
			for i := range n.Lines().Len() {
				at := n.Lines().At(i)
				text += string(at.Value(source))
			}
			if closing := n.(*ast.HTMLBlock).ClosureLine; n.(*ast.HTMLBlock).HasClosure() {
				text += string(closing.Value(source))
			}
			if strings.HasPrefix(text, "<!--") {
				_, text, _ = strings.Cut(text, "-->")
			}
			if text = strings.TrimSpace(text); text != "" {
				_, _ = w.WriteString("<p>" + html.EscapeString(text) + "</p>\n")
			}
		}
		return ast.WalkSkipChildren, nil
	})
}

var allowedTag = regexp.MustCompile(`^(<br ?/?>|</?(sub|sup|kbd)>)$`)

// same removes the intended differences: ids, attributes for the keyboard and screen readers,
// classes instead of styles, and different escapes of the same character.
func same(text string) string {
	for _, rule := range rules {
		text = rule.pattern.ReplaceAllString(text, rule.with)
	}
	return html.UnescapeString(text)
}

var rules = []struct {
	pattern *regexp.Regexp
	with    string
}{
	{regexp.MustCompile(`<p class="raw">`), "<p>"},
	{regexp.MustCompile(` (id="h-[^"]*"|tabindex="0"|rel="[^"]*"|loading="lazy"|scope="col"|aria-label="[^"]*")`), ""},
	{regexp.MustCompile(`<div class="scroll" role="region"><table>`), "<table>"},
	{regexp.MustCompile(`</table></div>`), "</table>"},
	{regexp.MustCompile(`<(t[dh]) class="(left|right|center)">`), `<$1 style="text-align:$2">`},
	{regexp.MustCompile(`<input type="checkbox" disabled>`), `<input disabled="" type="checkbox">`},
	{regexp.MustCompile(`<input type="checkbox" disabled checked>`), `<input checked="" disabled="" type="checkbox">`},
	{regexp.MustCompile(`href="#h-`), `href="#`},
	{regexp.MustCompile(`(<br ?/?>)\n?`), "<br>"},
	{regexp.MustCompile(`\n+`), "\n"},
	{regexp.MustCompile(`<li>\n</li>`), "<li></li>"},
}

func ours(source string) string {
	keep := func(dest string) (string, bool) { return dest, true }
	return string(markdown.Render([]byte(source), markdown.Options{Link: keep, Image: keep}))
}
