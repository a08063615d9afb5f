package extract

import (
	"testing"
	"unicode/utf8"
)

// fuzz passes any bytes to a reader. It must not panic, and its texts must be valid and within the
// limits.
func fuzz(f *testing.F, path string, seeds ...string) {
	f.Helper()
	for _, seed := range seeds {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, content []byte) {
		for _, pair := range File(path, content) {
			if len(pair.A) > maxA || len(pair.B) > maxB || pair.A == "" || pair.B == "" {
				t.Fatalf("a text of %d and one of %d bytes", len(pair.A), len(pair.B))
			}
			if !utf8.ValidString(pair.A) || !utf8.ValidString(pair.B) {
				t.Fatalf("no UTF-8: %q", pair)
			}
		}
	})
}

func FuzzGo(f *testing.F) {
	fuzz(f, "a.go", "package a\n\n// Sum adds all of them.\nfunc Sum(all []int) int { return 1 }\n\ntype A interface {\n\t// Get gets one of them.\n\tGet()\n}")
}

func FuzzPython(f *testing.F) {
	fuzz(f, "a.py", "class A:\n\t'''Is one of many.'''\n\tdef f(a,\n b): # x\n\t\tr\"\"\"Does :a:`b <c>` it.\"\"\"\n\t\treturn '\\''\n")
}

func FuzzScript(f *testing.F) {
	fuzz(f, "a.ts", "export class A {\n/** Does {@link A b} of [a](b). */\n@Input(a)\nget b(): string { return `}`; }\n/** @license */ }")
}

func FuzzMarkdown(f *testing.F) {
	fuzz(f, "a.md", "---\ntitle: a\n---\n# A {#a}\nb\n===\n* c [d](e) ![f](g) `h`\n```\ni\n```\n<!-- j\n--> <k>\n> l\n"+body)
}

func FuzzHTML(f *testing.F) {
	fuzz(f, "a.html", "<title>a - b</title><h1>c</h1><div class=\"sidebar\"><div>d</div></div><!-- e --><dl><dt>f<dd>g &amp; h<pre>i</pre><p>"+body)
}

func FuzzStructured(f *testing.F) {
	fuzz(f, "a.rst", "===\nA\n===\n\nB\n--\n\n.. note:: c\n\n.. option:: d\n\n   e :f:`g`\n\nh::\n\n  i\n\n* j\n\nk\n  l\n"+body)
}

func FuzzPod(f *testing.F) {
	fuzz(f, "a.pod", "=head1 A C<b>\n\n=item c L<d|e> B<< f >>\n\n  g\n\n"+body)
}

func FuzzManual(f *testing.F) {
	fuzz(f, "usr/share/man/man1/a.1", ".SH NAME\na \\- b \\fIc\\fR \\(aq \\[oq]\n.SH \"D\"\n.TP\n.BR e \" f\"\ng\n.IP \"h\" 4\n.de x\n..\n.Nm\n.Nd i\n"+body)
}

func FuzzWordNet(f *testing.F) {
	fuzz(f, "dict/data.verb", "00001740 29 v 04 breathe 0 take_a_breath 0 respire 0 suspire 3 021 * 00005041 v 0000 | draw air into and expel out of the lungs; \"I can breathe better here\"\n")
}

func FuzzThesaurus(f *testing.F) { fuzz(f, "words.txt", "a,b,c,d,e,f\n") }
