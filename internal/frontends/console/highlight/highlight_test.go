package highlight_test

import (
	"html"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"remit/internal/complexitytest"
	"remit/internal/frontends/console/highlight"
)

// brief returns highlighted code with spans as [class:text], to make tests readable.
func brief(lang, code string) string {
	out := span.ReplaceAllString(string(highlight.Code(lang, code)), "[$1:$2]")
	return html.UnescapeString(out)
}

var span = regexp.MustCompile(`<span class="hl-([a-z])">([^<]*)</span>`)

func TestCode(t *testing.T) {
	for _, c := range []struct{ lang, code, want string }{
		{"go", "func f() int { return 0x1F } // done", "[k:func] f() [t:int] { [k:return] [n:0x1F] } [c:// done]"},
		{"go", "x := `a\nb` + \"c\\\"d\" + '\\''", "x := [s:`a]\n[s:b`] + [s:\"c\\\"d\"] + [s:'\\'']"},
		{"go", "/* a\nb */ var", "[c:/* a]\n[c:b */] [k:var]"},
		{"Python", "@cached\ndef f(x):\n    \"\"\"doc\n    more\"\"\"\n    return None  # x", "[k:@cached]\n[k:def] f(x):\n    [s:\"\"\"doc]\n[s:    more\"\"\"]\n    [k:return] [k:None]  [c:# x]"},
		{"ts", "const a: Promise<string> = `x ${1}`", "[k:const] a: [t:Promise]<[t:string]> = [s:`x ${1}`]"},
		{"jsx", "return <App a='b'/>", "[k:return] <[t:App] a=[s:'b']/>"},
		{"java", "public class A { char c = 'x'; }", "[k:public] [k:class] [t:A] { [t:char] c = [s:'x']; }"},
		{"c", "#include <a.h>\nint x = 'a';", "[k:#include] <a.h>\n[t:int] x = [s:'a'];"},
		{"c#", "var s = \"a\";", "[k:var] s = [s:\"a\"];"},
		{"rust", "fn f<'a>(x: &'a str) -> char { 'b' }", "[k:fn] f<'a>(x: &'a [t:str]) -> [t:char] { [s:'b'] }"},
		{"ruby", "def x; @a = \"b\" end # c", "[k:def] x; [k:@a] = [s:\"b\"] [k:end] [c:# c]"},
		{"php", "<?php echo $a . 'b'; // c", "<?[k:php] [k:echo] [t:$a] . [s:'b']; [c:// c]"},
		{"kotlin", "fun f(): Int = 1", "[k:fun] f(): [t:Int] = [n:1]"},
		{"swift", "let x: Int = 1", "[k:let] x: [t:Int] = [n:1]"},
		{"bash", "for f in a#b; do echo \"$f\" $HOME; done # x", "[k:for] f [k:in] a#b; [k:do] [k:echo] [s:\"$f\"] [t:$HOME]; [k:done] [c:# x]"},
		{"sql", "SELECT a FROM b WHERE c = 'it''s' -- x", "[k:SELECT] a [k:FROM] b [k:WHERE] c = [s:'it'][s:'s'] [c:-- x]"},
		{"html", "<a href=\"x\">&amp;</a><!-- c -->", "<[k:a] [t:href]=[s:\"x\"]>[n:&amp;]</[k:a]>[c:<!-- c -->]"},
		{"css", "@media x { a { color: red; } /* c */ }", "[k:@media] x { a { [t:color]: red; } [c:/* c */] }"},
		{"json", `{"a": "b", "c": [1, true]}`, `{[t:"a"]: [s:"b"], [t:"c"]: [[n:1], [k:true]]}`},
		{"yaml", "a-b: true # x\nc: 'd'", "[t:a-b]: [k:true] [c:# x]\n[t:c]: [s:'d']"},
		{"toml", "[a]\nb = \"c\" # x", "[a]\n[t:b] = [s:\"c\"] [c:# x]"},
		{"md", "# A\nb `c` d\n```\ne\n```", "[k:# A]\nb [s:`c`] d\n[s:```]\n[s:e]\n[s:```]"},
		{"diff", "--- a\n+b\n-c\n@@ 1\n d", "[c:--- a]\n[s:+b]\n[n:-c]\n[t:@@ 1]\n d"},
		{"dockerfile", "FROM a AS b\nRUN copy $X # c", "[k:FROM] a AS b\n[k:RUN] copy [t:$X] [c:# c]"},
		{"klingon", "if <b>", "if <b>"},
		{"go", "a\u202eb\x00\xff", "a\ufffdb\ufffd\ufffd"},
		{"", "<script>", "<script>"},
	} {
		if diff := cmp.Diff(c.want, brief(c.lang, c.code)); diff != "" {
			t.Errorf("%s %q (-want +got):\n%s", c.lang, c.code, diff)
		}
	}
}

func names() []string {
	return strings.Fields("go python js java c c# rust ruby php kotlin swift bash sql html css json yaml toml markdown diff dockerfile none")
}

// check fails if the output contains other markup than spans, or other text than the code.
func check(t *testing.T, lang, code string) {
	t.Helper()
	out := string(highlight.Code(lang, code))
	bare := span.ReplaceAllString(out, "$2")
	if strings.ContainsAny(bare, "<>\"") {
		t.Fatalf("%s %q: %s", lang, code, out)
	}
	want := strings.ToValidUTF8(code, "\ufffd")
	for _, hidden := range "\x00\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069" {
		want = strings.ReplaceAll(want, string(hidden), "\ufffd")
	}
	if got := html.UnescapeString(bare); got != want {
		t.Fatalf("%s %q became the text %q", lang, code, got)
	}
	for line := range strings.SplitSeq(out, "\n") {
		if strings.Count(line, "<span") != strings.Count(line, "</span>") {
			t.Fatalf("%s %q: a span does not end with its line: %s", lang, code, out)
		}
	}
}

func FuzzCode(f *testing.F) {
	for _, code := range []string{"<script>alert(1)</script>", `"><img src=x onerror=alert(1)>`, "'", "\"\\", "/*", "`", "'''", "<a b='", "&#", "$", "@", "# x\n", "é'é'", "'\\''"} {
		f.Add(code)
	}
	f.Fuzz(func(t *testing.T, code string) {
		for _, lang := range names() {
			check(t, lang, code)
		}
	})
}

// TestLongCode repeats tokens that make scanners slow: 32 KiB, or 256 KiB in full runs.
func TestLongCode(t *testing.T) {
	maxSize := 1 << 15
	if os.Getenv("REMIT_FULL") == "true" {
		maxSize = 1 << 18
	}
	for _, lang := range names() {
		for _, part := range []string{"'", "\"", "`", "/*", "<", "<a ", "<!--", "&", "$", "@a", "a", "1", "\\", "# ", "\n", "'''", "\"\"\"", "a:", " ", "\t:", "é"} {
			t.Run(lang+" "+part, func(t *testing.T) {
				complexitytest.Linear(t, maxSize, func(size int) { highlight.Code(lang, strings.Repeat(part, size/len(part))) })
			})
		}
	}
}
