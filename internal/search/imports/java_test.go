package imports

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
)

// texts formats imports, one per line: line, kind and text.
func texts(specs []spec) string {
	var b strings.Builder
	for _, s := range specs {
		fmt.Fprintf(&b, "%d %d %s\n", s.line, s.kind, s.text)
	}
	return b.String()
}

// extracts compares the result of an extractor with the expected one.
func extracts(t *testing.T, extract func([]byte) ([]spec, error), content string, want ...string) {
	t.Helper()
	specs, err := extract([]byte(content))
	if err != nil {
		t.Fatalf("%v in %q", err, content)
	}
	if got := strings.Fields(strings.ReplaceAll(texts(specs), " ", "|")); !slices.Equal(got, want) {
		t.Errorf("found %q, want %q in\n%s", got, want, content)
	}
}

// refuses checks the line in the error of an extractor.
func refuses(t *testing.T, extract func([]byte) ([]spec, error), content string, line int) {
	t.Helper()
	_, err := extract([]byte(content))
	var syntax *SyntaxError
	if !errors.As(err, &syntax) || syntax.Line != line {
		t.Errorf("error %v, want one at line %d in %q", err, line, content)
	}
}

// fuzzes fuzzes an extractor: it may return an error, but returned lines must exist and be in
// order, and no text may be empty, since that would mean a folder.
func fuzzes(f *testing.F, name string, seeds ...string) {
	for _, seed := range seeds {
		f.Add([]byte(seed))
	}
	l, ok := languages[name]
	if !ok {
		f.Fatalf("no language %q", name)
	}
	files := memory{"a/b/from": "", "a/x.h": "", "lib/x.rb": "", "composer.json": `{"autoload":{"psr-4":{"A\\":"a/"}}}`}
	f.Fuzz(func(t *testing.T, content []byte) {
		specs, err := l.extract(content)
		lines := strings.Count(string(content), "\n") + 1
		last := 1
		for _, s := range specs {
			if s.line < last || s.line > lines {
				t.Fatalf("import %q at line %d after %d of %d", s.text, s.line, last, lines)
			}
			last = s.line
		}
		var syntax *SyntaxError
		if err != nil && (!errors.As(err, &syntax) || syntax.Line < 1 || syntax.Line > lines) {
			t.Fatalf("error %v in %d lines", err, lines)
		}
		for _, file := range l.resolve(files, "a/b/from", specs) {
			if !files.Has(file) {
				t.Fatalf("found %q, which is not there", file)
			}
		}
	})
}

func TestJavaExtract(t *testing.T) {
	extracts(t, extractJava, `/*
 * import not.This;
 */
@Generated("import not.This;")
package com.acme.app; // the package

import java.util.List;
import static com.acme.Util.helper;
import static com.acme.Util.*;
import com . acme
	. Split;
import com.acme.model.*;
import module java.base;
;
@interface Not { }
import too.Late;
`, "5|2|com.acme.app", "7|0|java.util.List", "8|0|com.acme.Util.helper", "9|1|com.acme.Util", "10|0|com.acme.Split",
		"12|1|com.acme.model")
	extracts(t, extractJava, "class A { String s = \"/*\"; }")
	extracts(t, extractJava, "")
	extracts(t, extractJava, "\ufeffimport a.B;", "1|0|a.B")
	refuses(t, extractJava, "import a.B;\n/* open\nimport a.C;", 2)
}

func TestJavaFiles(t *testing.T) {
	files := memory{
		"core/pom.xml": "", "web/pom.xml": "", "pom.xml": "",
		"core/src/main/java/com/acme/core/Store.java":   "",
		"core/src/main/java/com/acme/core/Outer.java":   "",
		"core/src/test/java/com/acme/core/Fixture.java": "",
		"core/src/test/java/com/acme/core/Store.java":   "",
		"core/src/main/java/com/acme/model/A.java":      "",
		"core/src/main/java/com/acme/model/B.java":      "",
		"core/src/main/java/com/acme/model/deep/C.java": "",
		"core/src/main/java/com/acme/model/notes.txt":   "",
		"web/src/main/java/com/acme/web/Util.java":      "",
		"web/src/main/kotlin/com/acme/web/Both.kt":      "",
		"web/src/test/java/com/acme/web/Shared.java":    "",
		"core/src/main/java/com/acme/web/Shared.java":   "",
		"shop/cart/src/main/java/x/Cart.java":           "package x; import com.dup.Item; import com.dup.Only;",
		"shop/model/src/main/java/com/dup/Item.java":    "", "area/src/main/java/com/dup/Item.java": "",
		"area/src/main/java/com/dup/Only.java": "", "area/src/generated/java/com/dup/Only.java": "",
		"other/java/List.java":                             "",
		"web/src/main/java/com/acme/web/Page.java":         javaPage,
		"web/src/test/java/com/acme/web/PageTest.java":     "package com.acme.web;\nimport com.acme.web.Shared;\nimport com.acme.core.Fixture;\n",
		"flat/Main.java":                                   "import com.acme.core.Store;\nimport java.util.*;",
		"web/src/main/java/com/acme/web/PageStars.java":    "package com.acme.web; import com.acme.model.*; import com.acme.core.Outer.*;",
		"web/src/main/java/com/acme/web/inner/Inside.java": "package com.acme.web.inner; import com.acme.web.Page;",
	}
	check(t, files, "java", []importing{
		{"page", "web/src/main/java/com/acme/web/Page.java", []string{
			"core/src/main/java/com/acme/core/Store.java", "core/src/main/java/com/acme/core/Outer.java",
			"web/src/main/java/com/acme/web/Util.java", "web/src/main/kotlin/com/acme/web/Both.kt",
			"core/src/main/java/com/acme/web/Shared.java",
		}},
		{"test", "web/src/test/java/com/acme/web/PageTest.java", []string{
			"web/src/test/java/com/acme/web/Shared.java", "core/src/test/java/com/acme/core/Fixture.java",
		}},
		{"no package", "flat/Main.java", []string{"core/src/main/java/com/acme/core/Store.java"}},
		{"stars", "web/src/main/java/com/acme/web/PageStars.java", []string{
			"core/src/main/java/com/acme/model/A.java", "core/src/main/java/com/acme/model/B.java",
			"core/src/main/java/com/acme/core/Outer.java",
		}},
		{"nearest of several", "shop/cart/src/main/java/x/Cart.java", []string{
			"shop/model/src/main/java/com/dup/Item.java", "area/src/main/java/com/dup/Only.java",
		}},
		{"deeper", "web/src/main/java/com/acme/web/inner/Inside.java", []string{"web/src/main/java/com/acme/web/Page.java"}},
	})
}

const javaPage = `package com.acme.web;

import java.util.List;
import com.acme.core.Store;
import com.acme.core.Outer.Inner;
import static com.acme.web.Util.helper;
import com.acme.web.Both;
import com.acme.web.Shared;
import com.acme.web.Missing;
`

func FuzzJava(f *testing.F) { fuzzes(f, "java", javaPage, "/*", `@A("""`) }
