package markdown_test

import (
	"fmt"
	"sort"
	"strings"
	"testing"
	"time"

	"remit/internal/faces/console/highlight"
	"remit/internal/faces/console/markdown"
)

func TestTmpSlow(t *testing.T) {
	const size = 1 << 17
	type r struct {
		name string
		d    time.Duration
		n    int
	}
	var all []r
	run := func(name, source string) {
		s := time.Now()
		keep := func(dest string) (string, bool) { return dest, true }
		out := markdown.Render([]byte(source), markdown.Options{Link: keep, Image: keep, Highlight: highlight.Code})
		d := time.Since(s)
		if d > 300*time.Millisecond { fmt.Println(name, len(source), d, len(out)) }
		all = append(all, r{name, d, len(out)})
	}
	more := append([]string{}, hard...)
	more = append(more, "[a][b]", "[a][b", "[](", "[a](b\\", "**a *b ", "*_", "_*~", "a*", "*a*", "***a** b", "`` ` ", "`\\", "<a><", "<a href='", "<!---->", "<!--a", "<![CDATA[", "&amp", "&#x", "> > ", ">\n\n", "1) ", "- - - ", "+ a\n  ", "  - a\n", "* a\n\n\n", " |", "|-", "-|", "|a|b|\n", "a|b\n-|-\n", "[a\\]: x\n", "[a]: <", "[a]: b \"", "[a]:\n", "[ß]: b\n", "http://a.b.", "https://a_b.c", "www.a.b;", "&a;&a;", "a@b.", "a.a@", "\\\\", "\\\n", "~~~\n", "```a\n```\n", "\t", " \t", "<details>\n\n", "<details>\n\n> ", "<details>\n\n- ", "</details>\n\n", "<summary>", "![a][a]", "[a]: b\n[a] ", "<img src='a' alt='", "# #", "#\t", "a\n-", "\u2028", "\u202a", "\xe2", "é*", "*é", "\"*\"", "_a_b", "a\n>", ">a\n", ">\ta\n", "10. ", "1.\n", "-\n\n", "- a\n- b\n\n", "- [ ] ", "|\\|", "`|")
	for _, p := range more {
		n := size / len(p)
		run(fmt.Sprintf("%q rep", p), strings.Repeat(p, n))
		run(fmt.Sprintf("%q back", p), strings.Repeat(p, n/2)+"a"+strings.Repeat(backwards(p), n/2))
		run(fmt.Sprintf("%q header", p), "|"+strings.Repeat("a|", 200)+"\n|"+strings.Repeat("-|", 200)+"\n"+strings.Repeat(p, n))
		run(fmt.Sprintf("%q refs", p), "[a]: /"+strings.Repeat("x", 1900)+"\n\n"+strings.Repeat(p, n))
		run(fmt.Sprintf("%q lines", p), strings.Repeat(strings.TrimRight(p, "\n")+"\n", size/(len(p)+1)))
		run(fmt.Sprintf("%q deep", p), strings.Repeat("> ", 20)+strings.Repeat(p, n))
		run(fmt.Sprintf("%q deeplist", p), strings.Repeat("- ", 20)+strings.Repeat(p, n))
		run(fmt.Sprintf("%q spaced", p), strings.Repeat(p+" ", n))
		run(fmt.Sprintf("%q inc", p), func() string {
			var b strings.Builder
			for i := 1; b.Len() < size; i++ {
				b.WriteString(strings.Repeat(p, i))
				b.WriteString("a ")
			}
			return b.String()
		}())
		run(fmt.Sprintf("%q inc lines", p), func() string {
			var b strings.Builder
			for i := 1; b.Len() < size; i++ {
				b.WriteString(strings.Repeat(p, i))
				b.WriteString("a\n")
			}
			return b.String()
		}())
	}
	var defs strings.Builder
	for i := 0; defs.Len() < size; i++ {
		fmt.Fprintf(&defs, "[a%d]: b\n", i)
	}
	run("defs different", defs.String())
	var heads strings.Builder
	for i := 0; heads.Len() < size; i++ {
		heads.WriteString("# a\n# a-1\n# a-1-1\n")
	}
	run("heads", heads.String())
	var lad strings.Builder
	for i := 0; lad.Len() < size; i++ {
		lad.WriteString(strings.Repeat(" ", i%2000) + "- a\n")
	}
	run("ladder", lad.String())
	// every 2 pieces together
	sort.Slice(all, func(i, j int) bool { return all[i].d > all[j].d })
	for _, x := range all[:25] {
		t.Log(x.name, x.d, x.n)
	}
	sort.Slice(all, func(i, j int) bool { return all[i].n > all[j].n })
	for _, x := range all[:10] {
		t.Log("size", x.name, x.d, x.n)
	}
}
