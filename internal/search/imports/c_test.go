package imports

import "testing"

func TestCExtract(t *testing.T) {
	extracts(t, extractC, `#include "a.h"
# include <sys/b.h> // #include "not.h"
  #	include/* x */"c\d.h"
/* #include "not.h"
*/ #include "e.h"
const char *s = "\
#include <not.h>";
// a comment goes on \
#include "not.h"
#include MACRO
#include \
	"f.h"
#define X "#include <not.h>"
int n = 1'000; char c = '"'; /* ' */
#include_next <g.h>
#error don't
#import "h.h"
#
#include "i.h"
#include <j//k.h>
#if __has_include("not.h")
#endif
x #include "not.h"
import "not.h";
`, "1|0|a.h", "2|1|sys/b.h", "3|0|c/d.h", "5|0|e.h", "11|0|f.h", "15|2|g.h", "17|0|h.h", "19|0|i.h", "20|1|j//k.h")
	extracts(t, extractC, "#include \"a.h\"", "1|0|a.h")
	extracts(t, extractC, "#")
	refuses(t, extractC, "#include \"a.h\"\nint x; /* open\n#include \"b.h\"\n", 2)
}

func TestCppExtract(t *testing.T) {
	extracts(t, extractCPP, `module;
#include <vector>
export module acme.core:part;
import std;
import <map>;
import "x.h";
export import acme.util;
import :impl;
auto s = R"x(
#include "not.h"
)" )x"; auto t = u8R"(
import not;
)";
int importer = 1;
import = 3;
import not + 3;
`, "2|1|vector", "3|4|acme.core:part", "4|3|std", "5|1|map", "6|0|x.h", "7|3|acme.util", "8|3|:impl")
	refuses(t, extractCPP, "int x;\nauto s = R\"(\n#include \"a.h\"\n", 2)
}

func TestCFiles(t *testing.T) {
	files := memory{
		"src/main.c": `
#include <stdio.h>
#include <string.h>
#include "util.h"
#include "net/socket.h"
#include <acme/api.h>
#include "../config.h"
#include "../../outside.h"
#include "deep.h"
#include "twice.h"
#include <once.h>
#include <twice.h>
#include <vector>
#include "/etc/passwd"
`,
		"src/util.h": "", "src/string.h": "", "src/net/socket.h": "", "include/acme/api.h": "", "config.h": "",
		"third/party/deep.h": "", "a/twice.h": "", "b/twice.h": "", "z/once.h": "", "outside.h": "", "x/vector": "",
		"b/c/near.c":     "#include \"twice.h\"\n#include \"acme/api.h\"",
		"include/wrap.h": "#include_next <wrap.h>\n#include <errno.h>", "include/errno.h": "",
		"p/q/near.c": "#include \"far.h\"", "p/r/far.h": "", "s/far.h": "",
	}
	check(t, files, "c", []importing{
		{"main", "src/main.c", []string{
			"src/util.h", "src/net/socket.h", "include/acme/api.h", "config.h", "third/party/deep.h", "z/once.h",
		}},
		{"above", "b/c/near.c", []string{"b/twice.h", "include/acme/api.h"}},
		{"nearest", "p/q/near.c", []string{"p/r/far.h"}},
		{"next", "include/wrap.h", []string{"include/errno.h"}},
	})
}

func TestCppModules(t *testing.T) {
	files := memory{
		"src/main.cpp":      "import acme.core;\nimport std;\nimport fake;\n",
		"src/acme.core.ixx": "export module acme.core;\nexport import :shapes;\n",
		"src/shapes.cppm":   "export module acme.core:shapes;\n",
		"src/fake.cppm":     "export module other;\n",
	}
	check(t, files, "cpp", []importing{
		{"whole", "src/main.cpp", []string{"src/acme.core.ixx"}},
		{"part", "src/acme.core.ixx", []string{"src/shapes.cppm"}},
	})
}

func TestCompileCommands(t *testing.T) {
	files := memory{
		"build/compile_commands.json": `[
			{"directory": "/home/me/app/build", "file": "/home/me/app/src/a.c",
			 "command": "cc -I../gen -I\"/home/me/app/with space\" -isystem /usr/include -c ../src/a.c"},
			{"directory": "/home/me/app/build", "file": "../src/b.c", "arguments": ["cc", "-I", "/home/me/app/other", "-c"]}]`,
		"src/a.c":        "#include <gen.h>\n#include <s.h>\n#include <x.h>",
		"src/b.c":        "#include <x.h>",
		"src/c.h":        "#include <gen.h>\n#include <x.h>",
		"gen/gen.h":      "",
		"gen/x.h":        "",
		"other/x.h":      "",
		"old/gen.h":      "",
		"with space/s.h": "",
	}
	check(t, files, "c", []importing{
		{"command", "src/a.c", []string{"gen/gen.h", "with space/s.h", "gen/x.h"}},
		{"arguments", "src/b.c", []string{"other/x.h"}},
		{"header", "src/c.h", []string{"gen/gen.h", "gen/x.h"}},
	})
}

func FuzzC(f *testing.F) {
	fuzzes(f, "c", "#include \"x.h\"\n#include <x.h>\n/*", "#include \\\n\"x.h\"", "'", "# include_next <x.h>")
}

func FuzzCpp(f *testing.F) {
	fuzzes(f, "cpp", "export module a:b;\nimport :c;\nimport <x>;", "R\"a(x)a\"", "R\"(")
}
