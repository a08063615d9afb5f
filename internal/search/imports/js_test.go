package imports

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"remit/internal/complexitytest"
)

// A reading is a text with the expected imports: "line text", with the kind if it is not the
// ordinary one.
type reading struct{ name, text, want string }

func checkReadings(t *testing.T, extract func([]byte) ([]spec, error), cases []reading) {
	t.Helper()
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			specs, err := extract([]byte(c.text))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(c.want, showSpecs(specs)); diff != "" {
				t.Errorf("imports (-want +got):\n%s", diff)
			}
		})
	}
}

func showSpecs(specs []spec) string {
	names := []string{"", " type", " require", " url", " reference", " style", " file", " link"}
	var all []string
	for _, s := range specs {
		all = append(all, string(rune('0'+s.line))+" "+s.text+names[s.kind])
	}
	return strings.Join(all, ", ")
}

func TestJSImports(t *testing.T) {
	checkReadings(t, extractJS, []reading{
		{"nothing", "", ""},
		{"default", "import a from './a'", "1 ./a"},
		{"a mark and a program", "\ufeff#!/usr/bin/env node 'x\nimport './a'", "2 ./a"},
		{"for its effect", "import 'a';import \"b\"", "1 a, 1 b"},
		{"names", "import a, {b as c, 'd-e' as f, default as g} from\n'./a'", "2 ./a"},
		{"all", "import * as a from 'a'\nimport a, * as b from 'b'", "1 a, 2 b"},
		{"types", "import type {A} from 'a'\nimport type B from 'b'\nimport type * as C from 'c'\nimport {type D} from 'd'", "1 a type, 2 b type, 3 c type, 4 d"},
		{"names that are words", "import type from 'a'; import type, {x} from 'b'; import from from 'c'; import {from} from 'd'; import as from 'e'", "1 a, 1 b, 1 c, 1 d, 1 e"},
		{"attributes", "import a from 'a' with {type: 'json'}; import b from 'b' assert {type: 'json'}", "1 a, 1 b"},
		{"required", "import a = require('a'); import type b = require('b'); export import c = require('c'); import d = e.f", "1 a require, 1 b type, 1 c require"},
		{"exports", "export * from 'a'; export * as b from 'b'; export * as 'b c' from 'c'; export {d, default as e} from 'd'; export {}; export {x}", "1 a, 1 b, 1 c, 1 d"},
		{"exported types", "export type {A} from 'a'; export type * from 'b'; export type * as C from 'c'; export type D = 1", "1 a type, 1 b type, 1 c type"},
		{"calls", "import('a'); await import(`b`, {with: x}); require('c'); require.resolve('d'); import.meta.resolve('e')", "1 a, 1 b, 1 c require, 1 d require, 1 e"},
		{"calls that tell nothing", "import(a); import('a' + b); import(`a${b}`); require(a); require('a' + b); require.cache['x']; require()", ""},
		{"types of modules", "let a: typeof import('a'), b: import(\"b\").B<string>", "1 a, 1 b"},
		{"addresses", "new URL('./a.png', import.meta.url); new URL('./b', base); new Worker(new URL('./c', import.meta.url))", "1 ./a.png url, 1 ./c url"},
		{"references", "// x\n/// <reference path=\"./a.d.ts\" />\n/// <reference types=\"node\" />\n///<reference path='b.ts'/>\nlet a\n/// <reference path=\"c.ts\" />", "2 ./a.d.ts reference, 4 b.ts reference"},
		{"modules", "declare module 'a' { import b from 'b' }\ndeclare module 'c';\nmodule 'd'", "1 a type, 1 b"},
		{"properties", "a.import('x'); a?.require('x'); ({import: 'x', require: 'y', export: 'z'}); a.new.URL('x')", ""},
		{"comments", "// import 'a'\n/* import 'b'\n */ import /* x */ c /* ' */ from // y\n'c'", "4 c"},
		{"strings", `"import 'a'"; 'it\'s import "b"'; "\\"; import 'c'; 'a\` + "\n" + `b import "d"'`, "1 c"},
		{"escapes", `import '\x2e/a\u002fb\/c'; import 'it\'s'`, "1 ./a/b/c, 1 it's"},
		{"templates", "`import 'a' ${b + `${import('c')} ' ` + {d: '}'}.d} \\` ${'}'} import 'e'`; import 'f'", "1 c, 1 f"},
		{"line numbers", "`\n\n`\n/*\n*/import 'a'\nimport 'b'", "5 a, 6 b"},
		{"Windows' lines", "import 'a'\r\nimport 'b'\r\n// c\r\nimport 'd'", "1 a, 2 b, 4 d"},
	})
}

// TestJSSlashes: a slash divides, or begins a regular expression, in which quotes have no meaning.
func TestJSSlashes(t *testing.T) {
	for _, text := range []string{
		`a = /'/`, `a = b / c / '/'`, `f(/["'` + "`" + `]/g)`, `if (a) /'/.test(b)`, `while(x) /"/.exec(y)`, `(a) / 1; '/'`, `a[0] / 1; '/'`,
		`a++ / 1; '/'`, `a = b! / 1; '/'`, `return /'/`, `typeof /'/`, `x.return / 1; '/'`, `a = {} / 1; '/'`, `{ } /'/.test(a)`,
		`() => { } /'/.test(a)`, "`${a}` / 1; '/'", `/[/'"]/`, `/\/'/`, `a ? /'/ : /"/`, `!/'/.test(a)`, `case /'/:`, `[/'/, /"/]`, `1 / 2; '/'`,
		`0xe / 1; '/'`, `1e+3 / 1; '/'`, `.5 / 1; '/'`, `this / 1; '/'`, `a\u{62} / 1; '/'`, `#a / 1; '/'`, `x = a /b; y = "/"`, `for (const a of /'/) ;`,
		`a =>/'/`, `a && /'/`, `throw /'/`, `a / /'/`, `a /= 1; '/'`, "a\n++\n/'/.exec(b)", `if (a) !/'/.test(b)`, `const {a} = b / 1, c = '/'`,
	} {
		specs, err := extractJS([]byte(text + "\nimport 'found'"))
		if err != nil || len(specs) != 1 || specs[0].text != "found" {
			t.Errorf("%s: %v, %v", text, specs, err)
		}
	}
}

// TestJSElements: text between tags is not code, and angle brackets of TypeScript are not tags.
func TestJSElements(t *testing.T) {
	for _, text := range []string{
		`a = <b>don't import 'x'</b>`, `a = <>it's {b} "</>`, `a = <b c="'" d='"' e={'}'} {...f} g />`, `return <b>{c ? <d>'</d> : "'"}'</b>`,
		`a = <A.B c:d="'"><my-e>'</my-e></A.B>`, `a = <A<B, C<D>> e="'">'</A>`, `a = <A<B> e="'"/>`, `a = <b /* ' */ c // "` + "\n" + `/>`,
		`a = <b c=<d>'</d>>"</b>`, "a = <b>{`${<c>'</c>}`}'</b>", `f(<b>' // "</b>, c)`, `a && <b>'</b>`, `() => <b>/*</b>`, `a = <b>{/* ' */}'</b>`,
		`a = <T,>(b: T) => '<'`, `a = <T extends B>(c: T) => '<'`, `a = <T>(b: T) => '<'`, `a = <any>b; '<'`, `a = <A<B>>c; '<'`, `a = <A[]>b; '<'`,
		`a = <const T>(b: T) => '<'`, `a = <{b: C}>d; '<'`, `f<A>('<')`, `a < b; '<'`, `a<b>c; '<'`, `type A = <T>(b: T) => C; '<'`,
		`interface A { <T>(b: T): C } '<'`, `class A<B extends C = D> { e = <F,>(g: F) => '<' }`, `new A<B>('<')`, `a = <string>b + '</b'`,
		`if (a) { return <b>'</b> } else <c>'</c>`, `a = <b extends="c">'</b>`, `a = <b>c > d ' } </b>`, `async <T>(a: T) => '<'`,
		`a = <B>c; d = "</e>"; '<'`, `export default <b>'</b>`, `const a = <T>(b: T) => c < d / 2; '</T>'`,
	} {
		specs, err := extractJS([]byte(text + "\nimport 'found'"))
		if err != nil || len(specs) != 1 || specs[0].text != "found" {
			t.Errorf("%s: %v, %v", text, specs, err)
		}
	}
}

func TestJSSyntaxErrors(t *testing.T) {
	for _, c := range []struct {
		name, text string
		want       SyntaxError
	}{
		{"string", "import 'a'\nlet b = 'c\nd", SyntaxError{2, "unterminated string"}},
		{"string at the end", "import 'a", SyntaxError{1, "unterminated string"}},
		{"template", "\n\n`a\n${b}\n", SyntaxError{3, "unterminated template literal"}},
		{"hole", "`a${\nb", SyntaxError{1, "unterminated template literal"}},
		{"nested template", "\n`a${`b\n", SyntaxError{2, "unterminated template literal"}},
		{"comment", "a\n/* b\nc", SyntaxError{2, "unterminated comment"}},
		{"attribute", "\nreturn <a b='/>", SyntaxError{2, "unterminated string"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := extractJS([]byte(c.text))
			var got *SyntaxError
			if !errors.As(err, &got) || *got != c.want {
				t.Errorf("got %v, want %v", err, &c.want)
			}
		})
	}
}

func TestJSIsLinear(t *testing.T) {
	for _, piece := range []string{
		"/", "/[", "a/", "<", "<a", "<a ", "<a<", "<a>", "<a>{", "<a b=", "<a b=<", "`${", "{", "(", "[", "}", "import", "import {", "export {", "'\\''", "</a ",
		"<a extends ", "//\n", "/**/", "///<reference path=\n", "\\u{", "1e+", "new URL('", "import('", "declare module '", "a<b<", "=</", "a?.", "!", "++",
	} {
		t.Run(piece, func(t *testing.T) {
			complexitytest.Linear(t, 64_000, func(n int) {
				text := strings.Repeat(piece, n/len(piece))
				_, _ = extractJS([]byte(text))
				_, _ = extractJS([]byte("a = " + text))
				_, _ = extractHTML([]byte(text))
				_, _ = extractAstro([]byte("---\n" + text + "\n---\n"))
			})
		})
	}
}

func FuzzWebImports(f *testing.F) {
	for _, text := range []string{
		"import a, {b} from './a'; export * as c from `d`", "a = <b c='d' {...e}>{`f${g}`}</b>", "/[/]/ / b / /c/", "/// <reference path='a' />\n",
		"<script src=a>import 'b'</script><style>@import 'c'</style>", "---\nimport 'a'\n---\n<a>{b}</a>", "@import (a) url(b) c, 'd'; e: url( 'f' )",
		".a { composes: b from 'c' } @use 'd' as e; // f", `{"a": [1, /* b */ {"c": null,},],}`, "packages:\n  - 'a/*'\n  - b # c",
	} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		for _, name := range []string{"typescript", "vue", "astro", "html", "css"} {
			l := languages[name]
			specs, err := l.extract([]byte(text))
			var fault *SyntaxError
			if err != nil && (!errors.As(err, &fault) || fault.Line < 1 || fault.Line > 1+strings.Count(text, "\n")) {
				t.Errorf("%s: %v", name, err)
			}
			for _, s := range specs {
				if s.text == "" || s.line < 1 || s.line > 1+strings.Count(text, "\n") {
					t.Errorf("%s: %+v", name, s)
				}
			}
			for _, place := range []string{"package.json", "tsconfig.json", "pnpm-workspace.yaml"} {
				files := memory{"a/b.ts": "", place: text, "a/" + place: text, "a/index.ts": ""}
				l.resolve(files, "a/b.ts", append(specs, spec{text: "a"}, spec{text: "#a"}, spec{text: ".."}, spec{text: "b?c"}))
			}
		}
	})
}
