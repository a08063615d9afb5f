package imports

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestTSConfig(t *testing.T) {
	for name, c := range map[string]struct {
		files memory
		text  string
		want  []string
	}{
		"paths": {
			memory{"tsconfig.json": `{"compilerOptions": {"paths": {"@/*": ["./a/*"], "@/b/*": ["gone/*", "b/*"], "exact": ["a/x.ts"], "@/*.svg": ["svg/*.svg"], "*": ["any/*"]}}}`},
			"import '@/x'; import '@/b/y'; import 'exact'; import '@/c.svg'; import 'z'; import '@/gone'",
			[]string{"a/x.ts", "b/y.ts", "svg/c.svg", "any/z.ts"},
		},
		"comments": {
			memory{"tsconfig.json": "\ufeff// one\n{ /* \"two\" */ \"compilerOptions\": { \"paths\": { \"@//*\": [\"./a/*\",], }, }, } // end"},
			"import '@//x'",
			[]string{"a/x.ts"},
		},
		"baseUrl":      {memory{"tsconfig.json": `{"compilerOptions": {"baseUrl": "./a", "paths": {"y": ["../b/y"]}}}`}, "import 'x'; import 'y'; import '/x'", []string{"a/x.ts", "b/y.ts"}},
		"nearest":      {memory{"tsconfig.json": `{"compilerOptions": {"baseUrl": "a"}}`, "src/jsconfig.json": `{"compilerOptions": {"baseUrl": "../b"}}`}, "import 'x'; import 'y'", []string{"b/y.ts"}},
		"extends":      {memory{"tsconfig.json": `{"extends": "./c/base", "compilerOptions": {"baseUrl": "b"}}`, "c/base.json": `{"compilerOptions": {"baseUrl": "../a", "paths": {"p": ["y"]}}}`}, "import 'y'; import 'p'; import 'x'", []string{"b/y.ts"}},
		"paths there":  {memory{"tsconfig.json": `{"extends": "./c/base.json"}`, "c/base.json": `{"compilerOptions": {"paths": {"p": ["../a/x"]}}}`}, "import 'p'", []string{"a/x.ts"}},
		"many":         {memory{"tsconfig.json": `{"extends": ["./1.json", "./2.json"]}`, "1.json": `{"compilerOptions": {"baseUrl": "a"}}`, "2.json": `{"compilerOptions": {"baseUrl": "b"}}`}, "import 'x'; import 'y'", []string{"b/y.ts"}},
		"loop":         {memory{"tsconfig.json": `{"extends": "./1.json", "compilerOptions": {"baseUrl": "a"}}`, "1.json": `{"extends": "./tsconfig.json"}`}, "import 'x'", []string{"a/x.ts"}},
		"variable":     {memory{"src/tsconfig.json": `{"extends": "../c/1.json"}`, "c/1.json": `{"extends": "../2.json"}`, "2.json": `{"compilerOptions": {"paths": {"p": ["${configDir}/own"]}}}`}, "import 'p'", []string{"src/own.ts"}},
		"a package's":  {memory{"package.json": `{"workspaces": ["c"]}`, "c/package.json": `{"name": "@s/config"}`, "c/web.json": `{"compilerOptions": {"baseUrl": "../a"}}`, "tsconfig.json": `{"extends": "@s/config/web.json"}`}, "import 'x'", []string{"a/x.ts"}},
		"foreign":      {memory{"tsconfig.json": `{"extends": "@tsconfig/node20", "compilerOptions": {"baseUrl": "a"}}`}, "import 'x'", []string{"a/x.ts"}},
		"references":   {memory{"tsconfig.json": `{"files": [], "references": [{"path": "./t.app.json"}, {"path": "c"}]}`, "t.app.json": `{"compilerOptions": {"baseUrl": "a"}}`, "c/tsconfig.json": `{"compilerOptions": {"baseUrl": "../b"}}`}, "import 'x'; import 'y'", []string{"a/x.ts", "b/y.ts"}},
		"rootDirs":     {memory{"tsconfig.json": `{"compilerOptions": {"rootDirs": ["src", "made", "b"]}}`}, "import './y'; import './own'; import './gone'", []string{"b/y.ts", "src/own.ts"}},
		"conditions":   {memory{"package.json": `{"imports": {"#x": {"mine": "./a/x.ts", "default": "./b/y.ts"}}}`, "tsconfig.json": `{"compilerOptions": {"customConditions": ["mine"]}}`}, "import '#x'", []string{"a/x.ts"}},
		"broken":       {memory{"tsconfig.json": `{"compilerOptions": {"baseUrl": "a"`}, "import 'x'; import './own'", []string{"src/own.ts"}},
		"wrong shapes": {memory{"tsconfig.json": `{"extends": 1, "references": {}, "compilerOptions": {"baseUrl": 1, "paths": [1], "rootDirs": "b"}}`, "package.json": `[1]`}, "import './y'; import './own'", []string{"src/own.ts"}},
		"out of reach": {memory{"tsconfig.json": `{"compilerOptions": {"paths": {"p": ["../../../x"], "q": ["/a/x"]}}}`}, "import 'p'", nil},
	} {
		files := memory{"src/main.ts": c.text, "a/x.ts": "", "b/y.ts": "", "any/z.ts": "", "svg/c.svg": "", "src/own.ts": ""}
		for file, content := range c.files {
			files[file] = content
		}
		check(t, files, "typescript", []importing{{name, "src/main.ts", c.want}})
	}
}

func TestPlainJSON(t *testing.T) {
	for text, want := range map[string]jsonObject{
		`{"a": "// b", /* c */ "d": [1, "e,]", ], // f` + "\n}": {{"a", "// b"}, {"d", []any{json.Number("1"), "e,]"}}},
		`{"z": null, "a": true, "z": "\""}`:                     {{"z", nil}, {"a", true}, {"z", `"`}},
		`[]`:                                                    nil,
		"\ufeff{\"a\": \"" + strings.Repeat("[", 1000) + "\"} // b": {{"a", strings.Repeat("[", 1000)}},
	} {
		got, err := parseJSON([]byte(text))
		if err != nil {
			t.Errorf("%s: %v", text, err)
		}
		if diff := cmp.Diff(want, got, cmp.AllowUnexported(jsonMember{})); diff != "" {
			t.Errorf("%s (-want +got):\n%s", text, diff)
		}
	}
	brackets := strings.Repeat("[", 1<<20)
	for _, text := range []string{
		"", "{", `{"a"`, `{"a":}`, "/*", `{"a": "b`, "\ufeff", "// a", brackets, strings.Repeat(`{"a":`, 1<<18), strings.Repeat(`["]",`, 1<<18),
		strings.Repeat("[/*]*/", 1<<17), strings.Repeat("[//]\n", 1<<17), `{"a": "\""` + brackets,
	} {
		if got, err := parseJSON([]byte(text)); err == nil {
			t.Errorf("%.40s gives %v", text, got)
		}
	}
}
