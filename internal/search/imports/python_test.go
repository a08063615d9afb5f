package imports

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"remit/internal/complexitytest"
)

func TestPythonExtract(t *testing.T) {
	for _, c := range []struct {
		name, source string
		want         []spec
	}{
		{"plain", "import a.b as c, d\nimport e . f;import g", []spec{{"a.b", 1, 0}, {"d", 1, 0}, {"e.f", 2, 0}, {"g", 2, 0}}},
		{"from", "from . import x\nfrom .. y import z as w, v\nfrom ...a.b import *", []spec{
			{". x", 1, pythonMember}, {"..y z", 2, pythonMember}, {"..y v", 2, pythonMember}, {"...a.b *", 3, pythonMember},
		}},
		{"parentheses", "from a import (b, # one\n  c as d,\n)\nimport \\\n  e, \\\n  f", []spec{
			{"a b", 1, pythonMember}, {"a c", 2, pythonMember}, {"e", 5, 0}, {"f", 6, 0},
		}},
		{"nested", "def f():\n    import a\nif TYPE_CHECKING: from b import c\ntry: import d\nexcept: import e", []spec{
			{"a", 2, 0}, {"b c", 3, pythonMember}, {"d", 4, 0}, {"e", 5, 0},
		}},
		{"strings", "\"\"\"\nimport a\n\"\"\"\nx = 'import b' # import c\ny = r'\\\\'; import d\nz = f'''{x!r:>{w}}\nimport e'''", []spec{{"d", 5, 0}}},
		{"nested f-strings", "f\"{d[\"#\"]}\"\nf\"{x:{\"#\"}} {{\"\nf'\\N{DASH}{'a' 'b'}'\nrf'\\{x}'\nf'{x:\"}'\nimport a", []spec{{"a", 6, 0}}},
		{"not statements", "raise x from y\nyield from z\nx = [\n  y for\n  z in w]\nimporting = 1\na.import_module", nil},
		{"dynamic", "importlib.import_module('a.b')\n__import__(\"c\", 1)\nimport_module('.r', p)\nimport_module(f'{x}')\nimport_module('a' + b)\nimport_module('a-b')", []spec{
			{"a.b", 1, pythonDynamic}, {"c", 2, pythonDynamic},
		}},
		{"lazy", "lazy import a\nlazy from b import c\nlazy = 1\nlazy(1)", []spec{{"a", 1, 0}, {"b c", 2, pythonMember}}},
		{"line ends", "\ufeffimport a\r\nimport b\rimport c", []spec{{"a", 1, 0}, {"b", 2, 0}, {"c", 3, 0}}},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := extractPython([]byte(c.source))
			if err != nil || !slices.Equal(got, c.want) {
				t.Errorf("got %v, %v; want %v", got, err, c.want)
			}
		})
	}
}

func TestPythonSyntaxErrors(t *testing.T) {
	for _, c := range []struct {
		source, why string
		line        int
	}{
		{"import a\nx = '''\nmore\n", "unterminated triple-quoted string literal", 2},
		{"x = 1\nf(\n[1],\n{2\n", "'{' was never closed", 4},
		{"from a import (b,\n c\n", "'(' was never closed", 1},
		{"\nf'{x", "f-string: expecting '}'", 2},
		{"f'{" + strings.Repeat("f'{", 1000), "f-string: expressions nested too deeply", 1},
	} {
		_, err := extractPython([]byte(c.source))
		var syntax *SyntaxError
		if !errors.As(err, &syntax) || syntax.Line != c.line || syntax.Reason != c.why {
			t.Errorf("%.40q: got %v, want line %d: %s", c.source, err, c.line, c.why)
		}
	}
}

func TestPythonResolve(t *testing.T) {
	files := memory{
		"pyproject.toml":              "[tool.setuptools.packages.find]\nwhere = [\"lib\"]\n",
		"lib/app/__init__.py":         "from . import core, version\nfrom .core import *\nfrom .. import app",
		"lib/app/core.py":             "import app.util.text, os\nfrom app import util, VERSION\nfrom app.util import text as t, NAME\nfrom .util import text\nfrom ..... import x\nimport sys",
		"lib/app/core.pyi":            "",
		"lib/app/sys.py":              "",
		"lib/app/typed.pyi":           "",
		"lib/app/util/__init__.py":    "import app.typed\nfrom ..space import deep",
		"lib/app/util/text.py":        "from app.core import x\nimport app.none\nimport app.core.x",
		"lib/app/space/deep/m.py":     "from app.space.deep import m, other\nfrom app.space import deep",
		"lib/app/space/deep/other.py": "import importlib\nimportlib.import_module('app.util.text')",
		"tests/test_core.py":          "import helper\nfrom app import core\nfrom tests.helper import x\nimport unittest, app",
		"tests/helper.py":             "import conftest",
		"tests/app/data.py":           "",
		"conftest.py":                 "",
		"src/inner.py":                "import inner, top",
		"top.py":                      "from inner import x",
		"main":                        "import top",
	}
	check(t, files, "python", []importing{
		{"package", "lib/app/__init__.py", []string{"lib/app/core.py", "lib/app/core.pyi"}},
		{"absolute and relative", "lib/app/core.py", []string{"lib/app/util/text.py", "lib/app/util/__init__.py", "lib/app/__init__.py"}},
		{"stub alone, namespace alone", "lib/app/util/__init__.py", []string{"lib/app/typed.pyi"}},
		{"none such", "lib/app/util/text.py", []string{"lib/app/core.py", "lib/app/core.pyi"}},
		{"namespace", "lib/app/space/deep/m.py", []string{"lib/app/space/deep/other.py"}},
		{"dynamic", "lib/app/space/deep/other.py", []string{"lib/app/util/text.py"}},
		{"script and project", "tests/test_core.py", []string{"tests/helper.py", "lib/app/core.py", "lib/app/core.pyi", "lib/app/__init__.py"}},
		{"above", "tests/helper.py", []string{"conftest.py"}},
		{"src", "top.py", []string{"src/inner.py"}},
		{"from src", "src/inner.py", []string{"top.py"}},
	})
}

func TestPythonProjects(t *testing.T) {
	for name, manifest := range map[string]string{
		"setuptools find":   "[tool.setuptools.packages.find]\nwhere = ['lib']",
		"setuptools dirs":   "[tool.setuptools.package-dir]\n\"\" = \"lib\"",
		"setuptools inline": "[tool.setuptools]\npackage-dir = {a = 'lib/a'}",
		"poetry":            "[tool.poetry]\npackages = [{include = 'a', from = 'lib'}, {include = 'b'}]",
		"hatch":             "[tool.hatch.build.targets.wheel]\npackages = ['lib/a']",
		"pdm":               "[tool.pdm.build]\npackage-dir = 'lib'",
		"uv":                "[tool.uv.build-backend]\nmodule-root = 'lib'",
		"pytest":            "[tool.pytest.ini_options]\npythonpath = ['lib']",
	} {
		files := memory{"p/pyproject.toml": manifest, "p/lib/a/__init__.py": "", "p/x/y/__init__.py": "import a"}
		t.Run(name, func(t *testing.T) {
			check(t, files, "python", []importing{{"", "p/x/y/__init__.py", []string{"p/lib/a/__init__.py"}}})
		})
	}
	for name, files := range map[string]memory{
		"setup.cfg dirs": {"p/setup.cfg": "[metadata]\nname = a\n[options]\npackage_dir =\n    = lib\npackages = find:"},
		"setup.cfg find": {"p/setup.cfg": "[options.packages.find]\nwhere = lib"},
		"setup.py dirs":  {"p/setup.py": "setup(package_dir={'': 'lib'})"},
		"setup.py find":  {"p/setup.py": "setup(packages=find_packages(\"lib\"))"},
		"setup.py where": {"p/setup.py": "setup(packages=find_packages(exclude=[], where='lib'))"},
	} {
		files["p/lib/a/__init__.py"], files["p/x/y/__init__.py"] = "", "import a"
		t.Run(name, func(t *testing.T) {
			check(t, files, "python", []importing{{"", "p/x/y/__init__.py", []string{"p/lib/a/__init__.py"}}})
		})
	}
}

func TestPythonOtherProjects(t *testing.T) {
	files := memory{
		"one/pyproject.toml": "", "one/src/one/__init__.py": "import two.part, three, shared",
		"two/pyproject.toml": "", "two/src/two/part.py": "",
		"three/setup.py": "", "three/three.py": "",
		"three/shared.py": "", "two/shared.py": "",
	}
	check(t, files, "python", []importing{
		{"other projects, if one alone has it", "one/src/one/__init__.py", []string{"two/src/two/part.py", "three/three.py"}},
	})
}

// TestPythonIsLinear uses inputs that would be slow with backtracking.
func TestPythonIsLinear(t *testing.T) {
	for name, piece := range map[string]string{
		"brackets": "(", "quotes": "'", "triple": "'''", "fields": "f'{", "formats": "f'{a:{b:", "dots": "from .", "imports": "import a,",
		"names": "from a import b,", "continued": "\\\n", "words": "import_module('", "braces": "f'{{",
	} {
		t.Run(name, func(t *testing.T) {
			complexitytest.Linear(t, 64_000, func(n int) { _, _ = extractPython([]byte(strings.Repeat(piece, n))) })
		})
	}
	t.Run("long module", func(t *testing.T) {
		complexitytest.Linear(t, 64_000, func(n int) {
			_, _ = extractPython([]byte("from " + strings.Repeat("a", n) + " import " + strings.Repeat("b,", n)))
		})
	})
}

func FuzzPython(f *testing.F) {
	for _, seed := range []string{"from . import (a,\n b)", "f'''{x:{y}}''' ", "x = r'\\", "import a.b\\\n", "\"\"\"", "f\"{d[\"k\"]!r:>{w}}\"\nimport a"} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, content []byte) {
		files := memory{"p/pyproject.toml": string(content), "p/setup.py": string(content), "p/setup.cfg": string(content), "p/a/b.py": ""}
		_, _ = Of(files, "p/a/c.py", "python", content)
	})
}
