package outline_test

import (
	"os"
	"strings"
	"testing"

	"remit/internal/complexitytest"
	"remit/internal/search/outline"
)

func TestLanguage(t *testing.T) {
	for _, tc := range []struct{ path, content, want string }{
		{"src/server/auth/AuthService.ts", "", "typescript"},
		{"a.tsx", "", "typescript"},
		{"a.mts", "", "typescript"},
		{"a.d.ts", "", "typescript"},
		{"de.ts", "<?xml version=\"1.0\"?>\n<!DOCTYPE TS>", "xml"},
		{"a.jsx", "", "javascript"},
		{"a.CJS", "", "javascript"},
		{"main.go", "", "go"},
		{"go.mod", "module x", "gomod"},
		{"go.sum", "", "text"},
		{"a.py", "", "python"},
		{"a.rs", "", "rust"},
		{"A.java", "", "java"},
		{"build.gradle.kts", "", "kotlin"},
		{"build.gradle", "", "groovy"},
		{"a.cs", "", "csharp"},
		{"a.cc", "", "cpp"},
		{"a.c", "class x", "c"},
		{"a.h", "", "c"},
		{"a.h", "int class_of(int a);\n/* namespace */", "c"},
		{"a.h", "#ifdef __cplusplus\nextern \"C\" {\n#endif\nint a(void);\n", "c"},
		{"a.h", "\nclass A {\n};", "cpp"},
		{"a.h", "namespace a {", "cpp"},
		{"a.h", "template <class T> int x;", "cpp"},
		{"a.h", "void f(std::string s);", "cpp"},
		{"a.h", "// -*- C++ -*-\n", "cpp"},
		{"a.m", "#import <A/A.h>\n", "objectivec"},
		{"a.m", "% solve\nfunction x = f(y)\n", "matlab"},
		{"a.pl", "use strict;\n", "perl"},
		{"a.pl", ":- module(a, []).\n", "prolog"},
		{"a.php", "", "php"},
		{"Gemfile", "", "ruby"},
		{"Rakefile", "", "ruby"},
		{"a.css", "", "css"},
		{"a.scss", "", "scss"},
		{"a.less", "", "less"},
		{"README.md", "", "markdown"},
		{"README", "", "text"},
		{"package.json", "", "json"},
		{"tsconfig.json", "", "json"},
		{".eslintrc", "", "json"},
		{"a.yml", "", "yaml"},
		{"Cargo.lock", "", "toml"},
		{"index.html", "", "html"},
		{"App.vue", "", "vue"},
		{"App.svelte", "", "svelte"},
		{"a.astro", "", "astro"},
		{"run.bash", "", "shell"},
		{".bashrc", "", "shell"},
		{"a.sql", "", "sql"},
		{"Dockerfile", "", "dockerfile"},
		{"Dockerfile.dev", "", "dockerfile"},
		{"web.dockerfile", "", "dockerfile"},
		{"Makefile", "", "makefile"},
		{"Makefile.am", "", "makefile"},
		{"makefile.py", "", "python"},
		{"Dockerfile.md", "", "markdown"},
		{"CMakeLists.txt", "", "cmake"},
		{"a.swift", "", "swift"},
		{"a.proto", "", "protobuf"},
		{"a.graphql", "", "graphql"},
		{"a.R", "", "r"},
		{"a.ex", "", "elixir"},
		{"a.hs", "", "haskell"},
		{"a.unknown", "", "text"},
		{"noextension", "", "text"},
		{"", "", "text"},
		{".gitignore", "", "text"},
		{".env.local", "", "dotenv"},
		{"bin/run", "#!/bin/sh\n", "shell"},
		{"bin/run", "#!/usr/bin/env python3.11\n", "python"},
		{"bin/run", "#!/usr/bin/env -S A=1 node --flag\n", "javascript"},
		{"bin/run", "#! /usr/bin/perl -w\n", "perl"},
		{"bin/run", "#!/usr/bin/env\n", "text"},
		{"bin/run", "#!", "text"},
		{"bin/run", "# vim: set ft=ruby:\n", "ruby"},
		{"bin/run", "a\nb\nc\nd\ne\nf\n// vi: sw=2 filetype=javascript\n", "javascript"},
		{"bin/run", "# -*- mode: python; coding: utf-8 -*-\n", "python"},
		{"bin/run", "# -*- coding: utf-8 -*-\n", "text"},
		{"bin/run", "<?php echo 1;", "php"},
		{"feed", "\ufeff<?xml version='1.0'?>", "xml"},
		{"page", "<!DOCTYPE html>", "html"},
		{"BUILD", "", "starlark"},
		{"build", "#!/bin/bash\n", "shell"},
		{"config.in", "#!/bin/bash\n", "shell"},
	} {
		if got := outline.Language(tc.path, []byte(tc.content)); got != tc.want {
			t.Errorf("%s with %q is %s, want %s", tc.path, tc.content, got, tc.want)
		}
	}
}

func TestModule(t *testing.T) {
	for path, want := range map[string]string{
		"src/server/auth/AuthService.ts":                  "auth",
		"src/server/users/UserRepository.ts":              "users",
		"src/server/auth/utils/hash.ts":                   "auth",
		"src/server/auth/strategies/oauth/Google.ts":      "oauth",
		"src/server/utils/hash.ts":                        "server",
		"src/server/index.ts":                             "server",
		"src/utils/hash.ts":                               "utils",
		"src/index.ts":                                    "root",
		"main.go":                                         "root",
		"":                                                "root",
		"lib/foo.py":                                      "root",
		"internal/engine/call.go":                         "engine",
		"internal/engine/approval/gate.go":                "approval",
		"internal/app/app.go":                             "app",
		"cmd/remit/main.go":                               "remit",
		"packages/core/src/index.ts":                      "core",
		"packages/core/src/auth/login.ts":                 "auth",
		"apps/web/src/pages/home.tsx":                     "pages",
		"src/auth/__tests__/login.test.ts":                "auth",
		"tests/unit/auth/test_login.py":                   "auth",
		"tests/unit/test_login.py":                        "root",
		"internal/contract/testdata/a.json":               "contract",
		"src/main/java/com/acme/billing/Invoice.java":     "billing",
		"src/test/java/com/acme/billing/InvoiceTest.java": "billing",
		"src/main/java/com/acme/Main.java":                "acme",
		"src/main/resources/application.yml":              "root",
		"src/Acme.Billing/Services/InvoiceService.cs":     "Acme.Billing",
		"app/(shop)/cart/[id]/page.tsx":                   "cart",
		"app/(shop)/[id]/page.tsx":                        "shop",
		"api/v1/users.go":                                 "api",
		"docs/adr/0001-a.md":                              "adr",
		"docs/readme.md":                                  "docs",
		"e2e/serve_test.go":                               "e2e",
		"crates/parser/src/lib.rs":                        "parser",
		"src/components/Button/Button.tsx":                "Button",
		"src/integration/github.ts":                       "integration",
	} {
		if got := outline.Module(path); got != want {
			t.Errorf("%s is of %s, want %s", path, got, want)
		}
	}
}

func TestRole(t *testing.T) {
	for _, tc := range []struct{ path, content, want string }{
		{"src/server/auth/AuthService.ts", "", "core"},
		{"internal/engine/call_test.go", "", "test"},
		{"internal/engine/testing.go", "", "core"},
		{"src/auth.test.ts", "", "test"},
		{"src/auth.spec.tsx", "", "test"},
		{"src/__tests__/auth.ts", "", "test"},
		{"tests/helpers.py", "", "test"},
		{"pkg/test_auth.py", "", "test"},
		{"pkg/conftest.py", "", "test"},
		{"pkg/attest.py", "", "core"},
		{"src/test/java/com/acme/Base.java", "", "test"},
		{"src/main/java/com/acme/LoginTest.java", "", "test"},
		{"src/main/java/com/acme/Latest.java", "", "core"},
		{"Users.Tests/UserServiceTests.cs", "", "test"},
		{"spec/models/user_spec.rb", "", "test"},
		{"spec/models/helper.rb", "", "test"},
		{"specs/001-auth/spec.md", "", "core"},
		{"internal/a/testdata/x.json", "", "test"},
		{"package.json", "", "config"},
		{"tsconfig.build.json", "", "config"},
		{"vite.config.ts", "", "config"},
		{".eslintrc.cjs", "", "config"},
		{".github/workflows/ci.yml", "", "config"},
		{"go.mod", "", "config"},
		{"go.sum", "", "config"},
		{"Dockerfile", "", "config"},
		{"Makefile", "", "config"},
		{"pom.xml", "", "config"},
		{"src/Acme/Acme.csproj", "", "config"},
		{"requirements-dev.txt", "", "config"},
		{"setup.py", "", "config"},
		{"app/settings.py", "", "config"},
		{"src/config.ts", "", "config"},
		{"Gemfile", "", "config"},
		{"build.gradle.kts", "", "config"},
		{"build.rs", "", "config"},
		{".gitignore", "", "config"},
		{"src/configuration/parse.ts", "", "core"},
		{"notes.txt", "", "core"},
		{"README.md", "", "core"},
		{"cmd/remit/main.go", "package main\n\nfunc main() {}\n", "entry"},
		{"tool.go", "// x\npackage main\n\nfunc main() {\n", "entry"},
		{"cmd/remit/flags.go", "package main\n", "core"},
		{"internal/main.go", "package internal\n", "core"},
		{"src/index.ts", "", "entry"},
		{"index.js", "", "entry"},
		{"packages/core/src/index.ts", "", "entry"},
		{"packages/core/index.ts", "", "entry"},
		{"src/server/index.ts", "", "entry"},
		{"src/server/auth/index.ts", "", "core"},
		{"src/App.tsx", "", "entry"},
		{"server.ts", "", "entry"},
		{"main.py", "", "entry"},
		{"src/acme/__main__.py", "", "entry"},
		{"src/acme/app.py", "", "core"},
		{"src/main.rs", "", "entry"},
		{"crates/a/src/lib.rs", "", "entry"},
		{"src/bin/tool.rs", "", "entry"},
		{"src/parse/main.rs", "", "core"},
		{"src/main/java/com/acme/Main.java", "class Main { public static void main(String[] a) {} }", "entry"},
		{"src/Acme/Program.cs", "", "entry"},
		{"src/main.c", "#include <a.h>\nint main(void) {}\n", "entry"},
		{"bin/deploy", "#!/bin/sh\n", "entry"},
		{"scripts/deploy.sh", "#!/bin/sh\n", "core"},
	} {
		language := outline.Language(tc.path, []byte(tc.content))
		if got := outline.Role(tc.path, language, []byte(tc.content)); got != tc.want {
			t.Errorf("%s (%s) is %s, want %s", tc.path, language, got, tc.want)
		}
	}
}

func TestLineCount(t *testing.T) {
	for content, want := range map[string]int{"": 0, "a": 1, "a\n": 1, "\n": 1, "a\nb": 2, "a\r\nb\r\n": 2, "\n\n": 2} {
		if got := outline.LineCount([]byte(content)); got != want {
			t.Errorf("%q has %d lines, want %d", content, got, want)
		}
	}
}

// outlined lists the languages that have an outline.
const outlined = "go python ruby shell markdown css scss sql javascript vue java csharp dart c cpp rust kotlin swift scala php protobuf graphql"

// TestOutlineIsLinear: the time per repetition of a difficult input does not grow.
func TestOutlineIsLinear(t *testing.T) {
	if os.Getenv("REMIT_FULL") != "true" {
		t.Skip("takes a while; REMIT_FULL=true runs it")
	}
	pieces := []string{
		"<", "a<", "impl <", "impl a<b,", "class a<", "(", "[", "{", "}", "{(", "/", "=/[", "'\\'", "\"\\", "`${", "`", "r#", "r#\"",
		"<<<A\n", "<<A\n", "#if\n", "#else\n", "#", "# ", "$a$", "'", "/*", "*/", "fn a", "fun a(", "function a(", "def a(\n", "class a {",
		"a.", "a::", "a::b(", "create table a.", "@a.", "@", "=>", "=", "a=", "const a=(", "\n", " ", "a\n", "operator", "operator(", "a(){",
		"typedef (*a)", "template<", "export ", "<script>", "---\n", "```\n", "~A(", "enum a{", "end\n", "begin ", "case ", "a:{",
	}
	for _, language := range strings.Fields(outlined) {
		for _, piece := range pieces {
			t.Run(language+" "+piece, func(t *testing.T) {
				complexitytest.Linear(t, 256<<10, func(size int) {
					outline.Outline(language, []byte(strings.Repeat(piece, size/len(piece))))
				})
			})
		}
	}
}

func FuzzOutline(f *testing.F) {
	files, err := os.ReadDir("testdata/outline")
	if err != nil {
		f.Fatal(err)
	}
	languages := strings.Fields(outlined)
	for _, file := range files {
		content, err := os.ReadFile("testdata/outline/" + file.Name())
		if err != nil {
			f.Fatal(err)
		}
		for i, language := range languages {
			if language == outline.Language(file.Name(), content) {
				f.Add(uint8(i), string(content))
			}
		}
	}
	f.Fuzz(func(t *testing.T, which uint8, content string) {
		language := languages[int(which)%len(languages)]
		lines, last := outline.LineCount([]byte(content)), 0
		for _, s := range outline.Outline(language, []byte(content)) {
			if s.Line < 1 || s.Line < last || s.End < s.Line || s.End > lines || s.Kind == "" {
				t.Errorf("%s: %+v among %d lines, after line %d", language, s, lines, last)
			}
			last = s.Line
		}
		outline.Role(content, language, []byte(content))
		outline.Module(content)
		outline.Language(content, []byte(content))
	})
}
