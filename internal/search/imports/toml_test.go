package imports

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestTOML(t *testing.T) {
	const document = `
# A comment.
title = "a \"quoted\" word" # and another
bare-key_1 = 'C:\literal'
a.b."c.d" = true
broken =
list = [ "x", 'y', # comment
  """z
z""", ]
[tool.x]   # header
n = 1_000
inline = { path = "../p", features = ["f"], deep = { er = 'v' } }
[[bin]]
name = "one"
[bin.sub]
k = "v"
[[bin]]
name = "two"
[ spaced . "table" ]
k = 2020-01-01 07:00:00
`
	want := tomlTable{
		"title": `a "quoted" word`, "bare-key_1": `C:\literal`,
		"a":    tomlTable{"b": tomlTable{"c.d": "true"}},
		"list": []any{"x", "y", "z\nz"},
		"tool": tomlTable{"x": tomlTable{"n": "1_000", "inline": tomlTable{
			"path": "../p", "features": []any{"f"}, "deep": tomlTable{"er": "v"},
		}}},
		"bin":    []any{tomlTable{"name": "one", "sub": tomlTable{"k": "v"}}, tomlTable{"name": "two"}},
		"spaced": tomlTable{"table": tomlTable{"k": "2020-01-01 07:00:00"}},
	}
	if diff := cmp.Diff(want, parseTOML([]byte(document))); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func FuzzTOML(f *testing.F) {
	for _, seed := range []string{"a = [", "[a]\n[a.b]\nc.d = {e = 1", `a = "\`, "[[a]]\n[[a.b]]", "a=[]\n[a.b]", "a = '''"} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, content []byte) {
		parseTOML(content).texts("a", "b")
	})
}
