package outline_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"remit/internal/search/outline"
)

// TestOutline: the file NAME.want lists the declarations of NAME.
func TestOutline(t *testing.T) {
	files, err := filepath.Glob("testdata/outline/*")
	if err != nil || len(files) < 15 {
		t.Fatalf("%d files, error %v", len(files), err)
	}
	for _, file := range files {
		if strings.HasSuffix(file, ".want") {
			continue
		}
		t.Run(filepath.Base(file), func(t *testing.T) {
			content, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			want, err := os.ReadFile(file + ".want")
			if err != nil {
				t.Fatal(err)
			}
			language := outline.Language(strings.TrimSuffix(file, ".txt"), content)
			if diff := cmp.Diff(string(want), list(outline.Outline(language, content))); diff != "" {
				t.Errorf("%s (-want +got):\n%s", language, diff)
			}
		})
	}
}

func list(symbols []outline.Symbol) string {
	var b strings.Builder
	for _, s := range symbols {
		fmt.Fprintf(&b, "%d-%d %s %s\n", s.Line, s.End, s.Kind, s.Name)
	}
	return b.String()
}

// TestOutlineLiterals: nothing within a literal or a comment counts, and nothing after one is lost.
func TestOutlineLiterals(t *testing.T) {
	for _, c := range []struct{ language, text, want string }{
		{"css", "a { b: 'c \\\n}\\\n' }\nd { }", "1-3 rule a\n4-4 rule d\n"},
		{"javascript", "f(/['\"`{]/, x => <a>it's {'}'} } (</a>)\nfunction g() {}", "2-2 function g\n"},
		{"typescript", "const f = <T>(x: T) => '<'\nfunction g() {}", "1-1 function f\n2-2 function g\n"},
		{"python", "x = f'{y[\"'\"]}' 'a\\\nb'\ndef f(): '''\ndef g()'''\ndef h(): pass", "3-4 function f\n5-5 function h\n"},
		{"rust", "impl<'a> I for &'a mut b::C<T> {\n fn f() { '{' }\n}", "1-3 impl C\n2-2 method C.f\n"},
		{"kotlin", "fun `a b`() {}\n/* /* */ fun c() */ class D { fun `in`() {} }", "1-1 function a b\n2-2 class D\n2-2 method D.in\n"},
		{"ruby", "x = <<~'A B', /#{\"'\"}/\n  def a\nA B\n=begin\ndef b\n=end\ndef c\nend\n__END__\ndef d", "7-8 function c\n"},
		{"ruby", "x = y <<Z\ndef a\nend", "2-3 function a\n"},
		{"shell", "cat <<- 'E'\na() {\nE\nb() {\n  echo $((1<<n))\n}\nc() { :; }", "4-6 function b\n7-7 function c\n"},
		{"csharp", "#if false\nclass A {\n#else\nclass B {\n#endif\n string s = @\"{\"\"\"; void M() {}\n}", "4-7 class B\n6-6 method B.M\n"},
		{"shell", strings.Repeat(" ", 5000) + "a() {\n" + strings.Repeat(" ", 5000) + "}\n\u00a0\n", "1-2 function a\n"},
	} {
		if diff := cmp.Diff(c.want, list(outline.Outline(c.language, []byte(c.text)))); diff != "" {
			t.Errorf("%s %.60q (-want +got):\n%s", c.language, c.text, diff)
		}
	}
}
