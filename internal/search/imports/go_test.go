package imports

import (
	"errors"
	"runtime"
	"slices"
	"strings"
	"testing"
)

func TestGoExtract(t *testing.T) {
	const source = `// Package x: import "not/this".
package x

import "a"
import (
	b "b/c"; _ "d"
	. ` + "`e`" + `
)
import "C"

var s = "import \"no\""
`
	specs, err := extractGo([]byte(source))
	want := []spec{{text: "a", line: 4}, {text: "b/c", line: 6}, {text: "d", line: 6}, {text: "e", line: 7}}
	if err != nil || !slices.Equal(specs, want) {
		t.Errorf("got %v, %v; want %v", specs, err, want)
	}
}

func TestGoSyntaxErrors(t *testing.T) {
	for _, c := range []struct {
		source, why string
		line        int
	}{
		{"package x\n\nimport (\n\t\"a\n)\n", "string literal not terminated", 4},
		{"", "expected 'package', found 'EOF'", 1},
		{"package x\nimport a\n", "import path", 2},
		{"//line /home/someone/y.go:900\npackage x\nimport 5\n", "import path", 3},
	} {
		_, err := extractGo([]byte(c.source))
		var syntax *SyntaxError
		if !errors.As(err, &syntax) || syntax.Line != c.line || !strings.Contains(syntax.Reason, c.why) {
			t.Errorf("%q: got %v, want line %d: %s", c.source, err, c.line, c.why)
		}
	}
	if _, err := extractGo([]byte("package x\nimport \"a\"\nfunc {{{")); err != nil {
		t.Errorf("what comes after the imports does not matter, but: %v", err)
	}
}

func TestGoResolve(t *testing.T) {
	imports := func(paths ...string) string {
		source := "package x\n"
		for _, p := range paths {
			source += "import \"" + p + "\"\n"
		}
		return source
	}
	files := memory{
		"go.mod":             "module example.com/m // the module\ngo 1.26\nreplace (\n\t\"example.com/far\" => ./third/far\n\texample.com/versioned v1.0.0 => ./third/far\n)\nrequire example.com/versioned v1.2.0\nreplace example.com/out => ../out\nreplace example.com/remote => example.com/fork v1.0.0\n",
		"main.go":            imports("fmt", "example.com/m/a", "example.com/m/nested", "example.com/far", "example.com/far/deep", "example.com/versioned", "example.com/out", "example.com/remote", "./a", "example.com/mm", "example.com/m/none"),
		"main_test.go":       "package x_test\nimport \"example.com/m\"\n",
		"a/a.go":             imports("example.com/m/a/testdata/b"),
		"a/a_test.go":        "package a\n",
		"a/_no.go":           "package a\n",
		"a/.no.go":           "package a\n",
		"a/a_" + other():     "package a\n",
		"a/" + other():       "package a\n",
		"a/doc.go":           "package documentation\n",
		"a/tool.go":          "//go:build ignore\n\npackage main\n",
		"a/own.go":           "// Some words.\n\n//go:build " + runtime.GOOS + " && cgo && gc && go1.21 && !go1.999\n\npackage a\n",
		"a/late.go":          "package a\n\n//go:build ignore\n",
		"a/comment.go":       "/*\n//go:build ignore\n*/\n\npackage a\n",
		"a/twice.go":         "//go:build gc\n//go:build gc\n\npackage a\n",
		"a/plus.go":          "// +build ignore\n\npackage a\n",
		"a/plusdoc.go":       "// +build ignore\npackage a\n",
		"a/testdata/b/b.go":  "package b\n",
		"nested/go.mod":      "module example.com/m/nested\n",
		"nested/n.go":        imports("example.com/m/a"),
		"third/far/go.mod":   "module example.com/far\n",
		"third/far/f.go":     "package far\n",
		"third/far/deep/d.g": "",
		"third/far/deep/d.go": `package deep
import "example.com/far"`,
		"m/none/readme.txt": "",
		"loose/x/x.go":      imports("example.com/m/a"),
		"loose/go.mod":      "",
	}
	a := []string{"a/a.go", "a/comment.go", "a/late.go", "a/" + other(), "a/own.go", "a/plusdoc.go"}
	slices.Sort(a)
	check(t, files, "go", []importing{
		{"module and replacements", "main.go", append(slices.Clone(a), "third/far/f.go", "third/far/deep/d.go")},
		{"external test", "main_test.go", []string{"main.go"}},
		{"testdata can be imported", "a/a.go", []string{"a/testdata/b/b.go"}},
		{"a nested module is on its own", "nested/n.go", nil},
		{"within a replacement", "third/far/deep/d.go", []string{"third/far/f.go"}},
		{"a module without a name", "loose/x/x.go", nil},
	})
}

// other returns a file name for a different operating system.
func other() string {
	if runtime.GOOS == "windows" {
		return "linux.go"
	}
	return "windows.go"
}

func TestGoWorkspaceAndVendor(t *testing.T) {
	files := memory{
		"go.work":                       "go 1.26\nuse ./a\nuse (\n\t./b\n)\nreplace example.com/c => ./c\n",
		"a/go.mod":                      "module example.com/a\nreplace example.com/c => ./mine\n",
		"a/a.go":                        "package a\nimport (\n\"example.com/b/sub\"\n\"example.com/c\"\n\"example.com/d\"\n)",
		"a/mine/c.go":                   "package c",
		"b/go.mod":                      "module example.com/b\n",
		"b/sub/s.go":                    "package sub\nimport \"example.com/a\"",
		"c/go.mod":                      "module example.com/c\n",
		"c/c.go":                        "package c",
		"d/go.mod":                      "module example.com/d\n",
		"d/d.go":                        "package d\nimport (\n\"example.com/a\"\n\"example.com/v/w\"\n)",
		"d/vendor/modules.txt":          "# example.com/v v1.0.0\n",
		"d/vendor/example.com/v/w/w.go": "package w\nimport \"example.com/v\"",
		"d/vendor/example.com/v/v.go":   "package v",
	}
	check(t, files, "go", []importing{
		{"go.work", "a/a.go", []string{"b/sub/s.go", "c/c.go"}},
		{"back", "b/sub/s.go", []string{"a/a.go"}},
		{"not used by go.work", "d/d.go", []string{"d/vendor/example.com/v/w/w.go"}},
		{"between vendored packages", "d/vendor/example.com/v/w/w.go", []string{"d/vendor/example.com/v/v.go"}},
	})
}

func FuzzGo(f *testing.F) {
	f.Add([]byte("package x\nimport (\n\"a\"\n)"), []byte("module a\nreplace a => ./b"))
	f.Fuzz(func(t *testing.T, source, module []byte) {
		files := memory{"go.mod": string(module), "go.work": string(module), "a/x.go": string(source)}
		_, _ = Of(files, "a/x.go", "go", source)
	})
}
