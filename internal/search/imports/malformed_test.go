package imports

import (
	"strings"
	"testing"
)

// TestMalformedImports checks that a malformed import is an error in every language whose imports
// are statements, and that valid code that resembles one is not.
func TestMalformedImports(t *testing.T) {
	for language, texts := range map[string]struct{ wrong, right []string }{
		"typescript": {
			[]string{
				"import { a from './b';\n", "import {a} './b'\n", "import a from ;\n", "import a\n", "import from\n", "x;\nimport {a} from b\n",
				"import a, from './b'\n", "import {a,\n", "export * from\n", "export {a} from b\n", "export { a from './b'\n", "import './b\n",
				"import(", "import('./b'", "const a = await import('./b'", "import x from ''\n", "import ''\n", "export * from ''\n", "import('')\n",
			},
			[]string{
				"import './b'\n", "import a, {from, type b as c} from './b' with {type: 'json'}\n", "import type {A} from './b'\n", "import from from './b'\n",
				"import a = require('./b')\n", "import A = B.C;\n", "import * as a from './b'\n", "import('./b')\n", "import.meta.url\n", "import(a)", "import('./b' as any)\n", "import('./b')",
				"class A {\n  import;\n  import() {}\n  export = 1\n}\n", "const a = {\nimport: 1,\nexport: 2 }\n", "export * as a from './b'\n",
				"export {a}\nexport type B = 1\nexport default 1\nexport = a\n", "const a = `\nimport x\n`\n", "/*\nimport x\n*/\n",
				"const a = <p>\nimport x and\n</p>\n", "import {\n  a,\n  b,\n} from './b'\n", "import defer * as a from './b'\n",
			},
		},
		"python": {
			[]string{
				"import\n", "import a.\n", "import a,\n", "import a b\n", "import a as\n", "from import b\n", "from a\n", "from a import\n",
				"from a import b c\n", "from a import (b\n", "from a import b,\nx = 1\n", "from a. import b\n", "from a import (b c)\n", "if x: import\n",
				"from .b import *,a\n", "from .b import a,*\n", "from .b import (*)\n", "from .b import * as a\n",
			},
			[]string{
				"import a.b as c, d\n", "from . import (a as b,\n  c,)\n", "from ..a.b import *\n", "import a; import b\n", "from a import b # c\n",
				"raise X \\\n  from y\n", "def f():\n  yield from x\n", "if x: import a\n", "import a \\\n  as b\n", "'''\nimport\n'''\n", "import a",
			},
		},
		"rust": {
			[]string{"use ;\n", "use a::{b, c;\n", "use a::b\nfn f() {}\n", "use a::{b\n", "mod a\nfn f() {}\n", "use a as ;\n", "mod ;\n", "mod"},
			[]string{
				"use a::{self, b::{c as d, *}, e};\n", "use a::*;\n", "use a as b;\n", "pub(crate) use crate::a;\n", "mod a;\nmod b {}\n", "use ::a::b;\n",
				"fn f() -> impl A + use<'a> {}\n", "use a::b as _;\n", "use r#a::b;\n", "use {a, b};\n",
			},
		},
		"java":   {[]string{"import ;\n", "import a.b\nclass A {}\n", "import a b;\n", "import static ;\n", "package ; import a.b.C;\n"}, []string{"import a.b;\nimport static a.b.*;\n", "package a;\nclass A {}\n"}},
		"kotlin": {[]string{"import \n", "import a.b c\n", "import a.b as\n", "import a.b as\nimport c\n"}, []string{"import a.b as c\nimport d.*\n", "package a.b\nimport c as `in`\n", "package `in`.a\nimport b\n", "import a.`in`.b\n"}},
		"scala":  {[]string{"import \n", "import a.{b, c\n"}, []string{"import a.{b, c => d}\nimport e._\nimport f.given\n", "import a.{given, *}\n", "import a.b.{given C}\n"}},
		"csharp": {[]string{"using ;\n", "using A.B\nusing C;\n", "using A ="}, []string{"using A.B;\nusing static C;\nusing D = E.F<G>;\n", "using (var a = b) {}\n", "using var a = b;\n"}},
		"php": {
			[]string{"<?php use ;\n", "<?php use A\\B\nclass C {}\n", "<?php use A\\{B, C;\n", "<?php require ;\n"},
			[]string{"<?php use A\\{B, C as D};\nuse function E\\f;\nrequire __DIR__ . '/x.php';\n", "<?php $f = function () use ($x) {};\n", "<?php class A { use T; }\n"},
		},
		"ruby": {[]string{"require\n", "require_relative\nx\n", "require()\n"}, []string{"require 'a'\nrequire_relative('b')\n", "x.require\n", "require a\n"}},
		"css":  {[]string{"@import ;\n", "@import foo.css;\n", "@use ;\n", "@import 'a', ;\n"}, []string{"@import 'a', url(b.css) screen;\n", "@import (less) 'c';\n", "@use 'a' as b;\n"}},
		"c":    {[]string{"#include\n", "#include \"a.h\n", "#include <a.h\n", "#include a.h\n", "#include \"\"\n"}, []string{"#include \"a.h\"\n", "# include <a.h> // x\n", "#include MACRO(x)\n", "#include MACRO\n"}},
		"go":   {[]string{"package a\nimport \n", "package a\nimport (\"a\"\n"}, []string{"package a\nimport \"a\"\n"}},
		"html": {[]string{"<script type=module>\nimport {a from './b'\n</script>"}, []string{"<script>var x = {{ y|safe }}; '</script>", "<script type=module>import a from './b'</script>"}},
		"vue":  {[]string{"<script>\nimport {a from './b'\n</script>"}, []string{"<script>\nimport a from './b'\n</script>"}},
	} {
		for _, text := range texts.wrong {
			if specs, err := languages[language].extract([]byte(text)); err == nil {
				t.Errorf("%s %q: %v, want an error", language, text, specs)
			}
		}
		for _, text := range texts.right {
			if _, err := languages[language].extract([]byte(text)); err != nil && strings.Contains(err.Error(), malformed) {
				t.Errorf("%s %q: %v", language, text, err)
			}
		}
	}
}
