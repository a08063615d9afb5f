package imports

import (
	"strings"
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
k = "2020-01-01"
`
	want := tomlTable{
		"title": `a "quoted" word`, "bare-key_1": `C:\literal`,
		"a":    map[string]any{"b": map[string]any{"c.d": true}},
		"list": []any{"x", "y", "z\nz"},
		"tool": map[string]any{"x": map[string]any{"n": int64(1000), "inline": map[string]any{
			"path": "../p", "features": []any{"f"}, "deep": map[string]any{"er": "v"},
		}}},
		"bin":    []any{map[string]any{"name": "one", "sub": map[string]any{"k": "v"}}, map[string]any{"name": "two"}},
		"spaced": map[string]any{"table": map[string]any{"k": "2020-01-01"}},
	}
	if diff := cmp.Diff(want, parseTOML([]byte(document))); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestTOMLErrors: invalid lines are skipped, up to a limit.
func TestTOMLErrors(t *testing.T) {
	for text, want := range map[string]string{
		"[tool]\na = 'x'\nb =\nc = 1 2\n[tool]\na = 'y'\nd = 'z'\n": "x",
		"\r\n[tool]\r\n= 1\r\na = \"x\"\r\n":                        "x",
		strings.Repeat("?\n", 1000) + "[tool]\na = 'x'":             "",
		"tool.a = " + strings.Repeat("[", 1<<20):                    "",
		"tool = " + strings.Repeat("{tool = ", 1<<17):               "",
	} {
		if got := parseTOML([]byte(text)).text("tool", "a"); got != want {
			t.Errorf("%.60q: got %q, want %q", text, got, want)
		}
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
