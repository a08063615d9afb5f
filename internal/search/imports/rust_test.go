package imports

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"remit/internal/complexitytest"
)

func TestRustExtract(t *testing.T) {
	for _, c := range []struct {
		name, source string
		want         []spec
	}{
		{"modules", "mod a;\npub(crate) mod b;\nmod r#type;\nmod c { mod d; mod e { mod f; } }\nmod g;", []spec{
			{"a", 1, rustModule},
			{"b", 2, rustModule},
			{"type", 3, rustModule},
			{"c", 4, rustInline},
			{"c::d", 4, rustModule},
			{"c::e", 4, rustInline},
			{"c::e::f", 4, rustModule},
			{"g", 5, rustModule},
		}},
		{"attributes", "#[path = \"x y.rs\"]\n#[cfg(a)] pub mod a;\n#[cfg_attr(windows, path = \"w.rs\")]\nmod b;\n#[doc = \"path\"] mod c;\n#[path = \"no.rs\"] fn f() {}\nmod d;", []spec{
			{"a x y.rs", 2, rustModule}, {"b w.rs", 4, rustModule}, {"b", 4, rustModule}, {"c", 5, rustModule}, {"d", 7, rustModule},
		}},
		{"uses", "use crate::a::b::{c, d::e, f as g, self, h::*};\nuse super::x;\nuse self::y as z;\nuse ::std::io;\npub(in crate::q) use w::v;\nuse {k, l::{m, n}};", []spec{
			{"crate::a::b::c", 1, rustPath},
			{"crate::a::b::d::e", 1, rustPath},
			{"crate::a::b::f", 1, rustPath},
			{"crate::a::b", 1, rustPath},
			{"crate::a::b::h", 1, rustPath},
			{"super::x", 2, rustPath},
			{"self::y", 3, rustPath},
			{"std::io", 4, rustCrate},
			{"w::v", 5, rustUse},
			{"k", 6, rustUse},
			{"l::m", 6, rustUse},
			{"l::n", 6, rustUse},
		}},
		{"lines", "use a::{\n  b,\n  c::{\n    d,\n  },\n};", []spec{{"a::b", 2, rustUse}, {"a::c::d", 4, rustUse}}},
		{"written out", "mod t {\n use super::*;\n use super::super::x;\n use self::y;\n use z::w;\n}", []spec{
			{"t", 1, rustInline}, {"self", 2, rustPath}, {"super::x", 3, rustPath}, {"self::t::y", 4, rustPath}, {"z::w", 5, rustCrate},
		}},
		{"expressions", "fn f(&self) -> crate::a::B { super::c::d(); self.x; crate::e!(); Self::g::<u8>() }", []spec{
			{"crate::a::B", 1, rustPath}, {"super::c::d", 1, rustPath}, {"crate::e", 1, rustPath},
		}},
		{"extern", "extern crate a;\nextern crate b as c;\nextern \"C\" { fn f(); }\ninclude!(\"x.rs\");", []spec{
			{"a", 1, rustUse}, {"b", 2, rustUse}, {"x.rs", 4, rustInclude},
		}},
		{"comments and literals", "/* /* mod a; */ mod b; */ // mod c;\nlet s = \"mod d; \\\" mod e;\"; let r = r#\"mod \" f;\"#;\nlet c = '\"'; let l: &'a str = b'\\''; let u = '\\u{1F600}'; let e = 'é';\nmod g;", []spec{{"g", 4, rustModule}}},
		{"macros", "macro_rules! m { () => { mod a; use crate::b; } }\nquote! { mod c; }\ncfg_if! { if #[cfg(x)] { mod d; } }\nmacro_rules! n (() => { mod e; });\nmod f;", []spec{
			{"d", 3, rustModule}, {"f", 5, rustModule},
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := extractRust([]byte(c.source))
			if err != nil || !slices.Equal(got, c.want) {
				t.Errorf("got %v, %v; want %v", got, err, c.want)
			}
		})
	}
}

func TestRustSyntaxErrors(t *testing.T) {
	for source, line := range map[string]int{
		"mod a;\n/* /* */\n":     2,
		"\n\nlet x = r#\"\n\n\"": 3,
		"let x = \"\n":           1,
	} {
		_, err := extractRust([]byte(source))
		var syntax *SyntaxError
		if !errors.As(err, &syntax) || syntax.Line != line {
			t.Errorf("%q: got %v, want line %d", source, err, line)
		}
	}
}

func TestRustResolve(t *testing.T) {
	files := memory{
		"Cargo.toml":           "[package]\nname = \"my-app\"\nedition = \"2021\"\n",
		"src/lib.rs":           "pub mod a;\nmod b;\npub mod inline { pub mod deep; pub struct S; }\n#[path = \"odd/place.rs\"] mod odd;\n#[cfg(unix)] mod none;",
		"src/main.rs":          "mod cli;\nuse my_app::a::Thing;\nuse cli::run;\nfn main() { crate::cli::run() }",
		"src/cli.rs":           "use crate::main2;\nuse super::x;\nuse my_app::b::c::f;",
		"src/a.rs":             "mod one;\nmod two;\nuse crate::b::{c, d::{E, F}};\nuse self::one::X;\nuse two::Y;\nuse std::io;",
		"src/a/one.rs":         "use super::two::Z;\nuse super::super::b;\n#[cfg(test)]\nmod tests { use super::*; use super::super::two; use crate::inline::deep::Q; }",
		"src/a/two/mod.rs":     "mod three;\nuse super::one;\nuse crate::inline::S;",
		"src/a/two/three.rs":   "use super::super::one::X;\nuse crate::odd::beside::B;",
		"src/b/mod.rs":         "pub mod c;\npub mod d;",
		"src/b/c.rs":           "use crate::Root;",
		"src/b/mod/c.rs":       "",
		"src/b/d.rs":           "include!(\"made.rs\");",
		"src/b/made.rs":        "",
		"src/inline/deep.rs":   "",
		"src/odd/place.rs":     "mod beside;",
		"src/odd/beside.rs":    "use super::place;",
		"src/bin/tool.rs":      "mod helper;\nuse my_app::a;",
		"src/bin/helper.rs":    "",
		"src/bin/big/main.rs":  "mod part;",
		"src/bin/big/part.rs":  "use crate::x;\nuse super::y;",
		"tests/it.rs":          "mod common;\nuse common::setup;",
		"tests/common/mod.rs":  "use crate::x;\nmod more;",
		"tests/common/more.rs": "use super::y;",
		"build.rs":             "mod build_help;",
		"build_help.rs":        "",
	}
	check(t, files, "rust", []importing{
		{"library", "src/lib.rs", []string{"src/a.rs", "src/b/mod.rs", "src/inline/deep.rs", "src/odd/place.rs"}},
		{"program", "src/main.rs", []string{"src/cli.rs", "src/a.rs"}},
		{"module of the program", "src/cli.rs", []string{"src/main.rs", "src/b/c.rs"}},
		{"file with a folder", "src/a.rs", []string{"src/a/one.rs", "src/a/two/mod.rs", "src/b/c.rs", "src/b/d.rs"}},
		{"super", "src/a/one.rs", []string{"src/a/two/mod.rs", "src/b/mod.rs", "src/inline/deep.rs"}},
		{"mod.rs", "src/a/two/mod.rs", []string{"src/a/two/three.rs", "src/a/one.rs", "src/lib.rs"}},
		{"super of super", "src/a/two/three.rs", []string{"src/a/one.rs", "src/odd/beside.rs"}},
		{"root", "src/b/c.rs", []string{"src/lib.rs"}},
		{"include", "src/b/d.rs", []string{"src/b/made.rs"}},
		{"named by an attribute", "src/odd/place.rs", []string{"src/odd/beside.rs"}},
		{"second program", "src/bin/tool.rs", []string{"src/bin/helper.rs", "src/a.rs"}},
		{"program in a folder", "src/bin/big/part.rs", []string{"src/bin/big/main.rs"}},
		{"test", "tests/it.rs", []string{"tests/common/mod.rs"}},
		{"shared by tests", "tests/common/mod.rs", []string{"tests/it.rs", "tests/common/more.rs"}},
		{"in what tests share", "tests/common/more.rs", []string{"tests/common/mod.rs"}},
		{"build script", "build.rs", []string{"build_help.rs"}},
	})
}

func TestRustWorkspace(t *testing.T) {
	files := memory{
		"Cargo.toml":                  "[workspace]\nmembers = [\"crates/*\"]\n[workspace.dependencies]\nshared-core = { path = \"crates/core\" }\n[patch.crates-io]\npatched = { path = 'third/patched' }\n",
		"crates/app/Cargo.toml":       "[package]\nname = \"app\"\nedition = \"2021\"\n[dependencies]\nshared-core.workspace = true\nserde = \"1\"\npatched = \"0.1\"\nunlisted-path = \"1\"\n[dependencies.other]\npath = \"../renamed\"\npackage = \"real\"\n[dev-dependencies]\nlib-named = { path = \"../libnamed\" }\n[target.'cfg(unix)'.dependencies]\nnix-only = { path = \"../nix\" }",
		"crates/app/src/main.rs":      "use shared_core::model::User;\nuse serde::Serialize;\nuse other::x;\nextern crate patched;\nuse called::deep::y;\nuse nix_only::{a, b};\nuse lib_named::no;\nuse unlisted_path::q;",
		"crates/core/Cargo.toml":      "[package]\nname = \"shared-core\"\n",
		"crates/core/src/lib.rs":      "pub mod model;\nuse model::User;",
		"crates/core/src/model.rs":    "use model2::X;\nmod inner { use model::Y; }\nuse model::Z;",
		"crates/core/src/model2.rs":   "use model::{User, self};",
		"crates/renamed/Cargo.toml":   "[package]\nname = \"real\"\n[lib]\npath = \"lib.rs\"",
		"crates/renamed/lib.rs":       "mod inside;",
		"crates/renamed/inside.rs":    "use crate::x;",
		"third/patched/Cargo.toml":    "[package]\nname = \"patched\"",
		"third/patched/src/lib.rs":    "",
		"crates/libnamed/Cargo.toml":  "[package]\nname = \"lib-named\"\n[lib]\nname = \"called\"",
		"crates/libnamed/src/lib.rs":  "pub mod deep;",
		"crates/libnamed/src/deep.rs": "",
		"crates/nix/Cargo.toml":       "[package]\nname = \"nix-only\"",
		"crates/nix/src/lib.rs":       "",
		"loose/main.rs":               "mod x;",
		"loose/x.rs":                  "mod y;\nuse crate::z;",
		"loose/x/y.rs":                "use super::w;\nuse crate::x::v;",
	}
	check(t, files, "rust", []importing{
		{"dependencies", "crates/app/src/main.rs", []string{
			"crates/core/src/model.rs", "crates/renamed/lib.rs", "third/patched/src/lib.rs", "crates/libnamed/src/deep.rs", "crates/nix/src/lib.rs",
		}},
		{"the first edition begins at the root", "crates/core/src/model2.rs", []string{"crates/core/src/model.rs"}},
		{"also in a module that is written out", "crates/core/src/model.rs", []string{"crates/core/src/model2.rs"}},
		{"library elsewhere", "crates/renamed/inside.rs", []string{"crates/renamed/lib.rs"}},
		{"without Cargo.toml", "loose/x.rs", []string{"loose/x/y.rs", "loose/main.rs"}},
		{"without Cargo.toml, deeper", "loose/x/y.rs", []string{"loose/x.rs"}},
	})
}

func TestRustIsLinear(t *testing.T) {
	for name, piece := range map[string]string{
		"trees": "use a::{", "colons": "use a::", "modules": "mod a {", "hashes": "r#", "quotes": "'", "comments": "/*", "attributes": "#[path=\"x\"",
		"supers": "super::", "braces": "{}", "macros": "quote!{",
	} {
		t.Run(name, func(t *testing.T) {
			complexitytest.Linear(t, 64_000, func(n int) { _, _ = extractRust([]byte(strings.Repeat(piece, n))) })
		})
	}
	t.Run("wide tree", func(t *testing.T) {
		complexitytest.Linear(t, 64_000, func(n int) {
			_, _ = extractRust([]byte("use " + strings.Repeat("a::", n) + "{" + strings.Repeat("b,", n) + "}"))
		})
	})
	t.Run("long name", func(t *testing.T) {
		complexitytest.Linear(t, 64_000, func(n int) {
			_, _ = extractRust([]byte("use " + strings.Repeat("a", n) + "::{" + strings.Repeat("b,", n) + "}"))
		})
	})
}

func FuzzRust(f *testing.F) {
	for _, seed := range []string{"use a::{b::{self, c}, *};", "mod r#x { use super::y; }", "#[path = \"a.rs\"] mod a;", "'a 'b' b'\\'' r##\"\"##", "macro_rules! m {", "[workspace]\n[dependencies]\na={path='.'}"} {
		f.Add([]byte(seed), []byte("[package]\nname='a'"))
	}
	f.Fuzz(func(t *testing.T, content, manifest []byte) {
		files := memory{"Cargo.toml": string(manifest), "src/lib.rs": string(content), "src/a.rs": string(content), "src/a/b/mod.rs": ""}
		_, _ = Of(files, "src/a.rs", "rust", content)
	})
}
