package imports

import (
	"errors"
	"strings"
	"testing"

	"remit/internal/complexitytest"
)

func TestCSSImports(t *testing.T) {
	checkReadings(t, extractCSS, []reading{
		{"import", "@import 'a';@IMPORT \"b\" screen, print;\n@import url(c) layer(d);@import url( 'e' );", "1 a style, 1 b style, 2 c style, 2 e style"},
		{"files", "a { b: url(c.png) d, url('e f.png'); }", "1 c.png file, 1 e f.png file"},
		{"composes", "a { composes: b c from 'd'; composes: e; composes: f from global }\n@value g, h from \"i\";", "1 d style, 2 i style"},
		{"no imports", "/* @import 'a'; */ b { content: \"@import 'c'; url(d)\"; from: 'e' } .composes { f: 'g' }", ""},
		{"an address is no comment", "a { b: url(//c/d.png) } @import 'e'", "1 //c/d.png file, 1 e style"},
		{"a string ends with its line", "a { b: 'c\n} @import 'd'", "2 d style"},
		{"use", "// it's @use 'x'\n@use 'a' as b with ($c: 'd');\n@forward \"e\" show f; @include meta.load-css('g');", "2 a style, 3 e style, 3 g style"},
		{"many", "@import 'a', \"b\"\n, 'c';", "1 a style, 1 b style, 2 c style"},
		{"Less", "@import (reference, optional) 'a'; @plugin \"b\"; @c: 'd'; .import('e');", "1 a style, 1 b style"},
	})
}

func TestCSSSyntaxError(t *testing.T) {
	_, err := extractCSS([]byte("a {}\n\n/* b"))
	var fault *SyntaxError
	if !errors.As(err, &fault) || *fault != (SyntaxError{3, "unterminated comment"}) {
		t.Error(err)
	}
}

func TestCSSIsLinear(t *testing.T) {
	for _, piece := range []string{"@import (", "@import 'a',", "url(", "composes:", "composes: from", "@value a ", "/*", "//", "'", "'\\", "@"} {
		t.Run(piece, func(t *testing.T) {
			complexitytest.Linear(t, 64_000, func(n int) { _, _ = extractCSS([]byte(strings.Repeat(piece, n))) })
		})
	}
}

func TestCSSFiles(t *testing.T) {
	files := memory{
		"package.json": `{"workspaces": ["packages/*"]}`,
		"a/main.css":   "@import 'other.css'; @import './gone.css'; @import 'theme/base.css'; @import '~theme/base.css'; b { c: url(img/d.png?e#f), url(data:x) }",
		"a/other.css":  "", "a/img/d.png": "",
		"a/main.scss":                 "@use 'part'; @use 'sub'; @import './other', 'plain.css'; @use 'sass:math'; @use '../b/deep';",
		"a/_part.scss":                "",
		"a/other.scss":                "",
		"a/plain.css":                 "",
		"b/_deep.sass":                "",
		"a/main.less":                 "@import 'mix'; @import (css) url('plain.css'); @import 'http://x/y.css';",
		"a/mix.less":                  "",
		"a/main.module.css":           ".a { composes: b from './other.css' }",
		"a/sub/_index.scss":           "",
		"packages/theme/package.json": `{"name": "theme", "exports": {"./*.css": {"style": "./css/*.css"}}}`,
		"packages/theme/css/base.css": "",
	}
	check(t, files, "css", []importing{
		{"plain", "a/main.css", []string{"a/other.css", "packages/theme/css/base.css", "a/img/d.png"}},
		{"modules", "a/main.module.css", []string{"a/other.css"}},
	})
	check(t, files, "scss", []importing{
		{"Sass", "a/main.scss", []string{"a/_part.scss", "a/sub/_index.scss", "a/other.scss", "a/plain.css", "b/_deep.sass"}},
	})
	check(t, files, "less", []importing{{"Less", "a/main.less", []string{"a/mix.less", "a/plain.css"}}})
}
