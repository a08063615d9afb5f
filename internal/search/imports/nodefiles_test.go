package imports

import (
	"strings"
	"testing"
)

func TestNodeRelative(t *testing.T) {
	files := memory{
		"src/main.ts": `import './plain'; import './view'; import './both'; import './both.js'; import './deep'; import './deep/'; import '.'; import '..';
			import './data.json'; import './logo.svg?url'; import './part.vue'; import './part'; import './styles.css'; import './gone'; import '../../out';
			import './plain'; import './main'; import '../node_modules/x/y.js'; import './m.mjs'; import './c.cjs'; import './typed'; import './j.js'`,
		"src/plain.ts": "", "src/view.tsx": "", "src/both.ts": "", "src/both.js": "", "src/deep/index.ts": "", "src/deep.test.ts": "",
		"src/index.tsx": "", "index.js": "", "src/data.json": "{}", "src/logo.svg": "", "src/part.vue": "", "src/styles.css": "", "node_modules/x/y.js": "",
		"src/m.mts": "", "src/c.cts": "", "src/typed.d.ts": "", "src/j.d.ts": "", "src.ts": "",
		"src/old.js":   "require('./both'); require('./both.js'); require('./plain.js'); require.resolve('./deep')",
		"src/types.ts": "import type {A} from './shape'; import {B} from './shape'; import type {C} from './shape.js'",
		"src/shape.js": "", "src/shape.d.ts": "",
		"src/query.ts": "import a from './x#y'; import b from './z?a#b'; import c from '#'", "src/x#y.ts": "", "src/z.ts": "",
	}
	check(t, files, "typescript", []importing{
		{"TypeScript", "src/main.ts", []string{
			"src/plain.ts", "src/view.tsx", "src/both.ts", "src/deep/index.ts", "src/index.tsx", "index.js", "src/data.json", "src/logo.svg", "src/part.vue",
			"src/styles.css", "src/m.mts", "src/c.cts", "src/typed.d.ts", "src/j.d.ts",
		}},
		{"types", "src/types.ts", []string{"src/shape.d.ts", "src/shape.js"}},
		{"queries", "src/query.ts", []string{"src/x#y.ts", "src/z.ts"}},
	})
	check(t, files, "javascript", []importing{
		{"JavaScript", "src/old.js", []string{"src/both.ts", "src/both.js", "src/plain.ts", "src/deep/index.ts"}},
	})
}

func TestNodePackages(t *testing.T) {
	const many = `import 'one'; import '@s/two'; import '@s/two/sub'; import '@s/two/hidden'; import 'three'; import 'three/lib/x'; import 'three/y';
		import 'absent'; import 'react'; import 'fs'; import '@s'; import 'one/'; import './';`
	packages := memory{
		"packages/one/package.json": `{"name": "one", "main": "dist/index.js", "types": "dist/index.d.ts"}`, "packages/one/src/index.ts": "",
		"packages/two/package.json": `{"name": "@s/two", "exports": {".": {"require": "./c.js", "import": "./m.js"}, "./sub": [{"browser": "./b.js"}, "./sub.ts"], "./hidden": null}}`,
		"packages/two/c.js":         "", "packages/two/m.js": "", "packages/two/sub.ts": "", "packages/two/b.js": "", "packages/two/hidden.ts": "",
		"packages/three/package.json": `{"main": "./lib", "name": "three"}`, "packages/three/lib/index.js": "", "packages/three/lib/x.js": "", "packages/three/src/y.ts": "",
		"packages/three/self.js":                         "require('three')",
		"packages/three/node_modules/react/package.json": `{"name": "react"}`, "packages/three/node_modules/react/index.js": "",
		"packages/two/node_modules/one/package.json": `{"name": "one"}`,
		"other/package.json":                         `{"name": "absent"}`, "other/index.js": "",
		"app/main.ts": many, "app/common.js": "require('@s/two')", "app/index.ts": "",
	}
	want := []string{"packages/one/src/index.ts", "packages/two/m.js", "packages/two/sub.ts", "packages/three/lib/index.js", "packages/three/lib/x.js", "packages/three/src/y.ts", "app/index.ts"}
	for name, roots := range map[string]memory{
		"npm":   {"package.json": `{"workspaces": ["./packages/*/", "app"]}`},
		"yarn":  {"package.json": `{"workspaces": {"packages": ["packages/*", "other", "!other"]}}`},
		"pnpm":  {"pnpm-workspace.yaml": "# all\npackages:\n  # these\n  - 'packages/*' # every\n  - \"!**/test\"\n  - app\ncatalog:\n  - other\n"},
		"flow":  {"pnpm-workspace.yaml": "packages: ['packages/**', app] # all\n"},
		"lerna": {"lerna.json": `{"version": "1"}`},
	} {
		files := memory{}
		for _, part := range []memory{packages, roots} {
			for file, content := range part {
				files[file] = content
			}
		}
		check(t, files, "typescript", []importing{{name, "app/main.ts", want}, {name + ", required", "app/common.js", []string{"packages/two/c.js"}}})
	}
	check(t, packages, "typescript", []importing{
		{"no workspace", "app/main.ts", []string{"app/index.ts"}},
		{"itself without exports", "packages/three/self.js", nil},
	})
}

func TestNodeExports(t *testing.T) {
	files := memory{
		"package.json": `{"workspaces": ["p/*"]}`,
		"p/a/package.json": `{"name": "a", "imports": {"#x": {"types": "./x.d.ts", "default": "./x.js"}, "#dir/*": "./dir/*.ts", "#dir/secret/*": null, "#b": "b", "#b/*": "b/*", "#loop": "#loop"},
			"exports": {".": "./index.ts", "./deep/*": "./deep/*.ts", "./deep/*.css": "./css/*.css", "./deep/no/*": null, "./deep/too/*": null, "./dee*": "./gone/*.ts",
			"./folder/": "./dir/", "./none": {"import": null, "default": "./none.ts"}}}`,
		"p/a/main.ts": `import '#x'; import '#dir/y'; import '#dir/secret/z'; import '#b'; import '#b/sub'; import '#loop'; import '#gone'; import 'a'; import 'a/deep/one';
			import 'a/deep/one.css'; import 'a/deep/no/two'; import 'a/deep/too/three'; import 'a/none'; import 'a/folder/y.ts'; import 'a/main.ts'`,
		"p/a/types.ts": `import type {X} from '#x'`,
		"p/a/x.d.ts":   "", "p/a/x.js": "", "p/a/dir/y.ts": "", "p/a/dir/secret/z.ts": "", "p/a/index.ts": "", "p/a/deep/one.ts": "", "p/a/css/one.css": "", "p/a/deep/no/two.ts": "", "p/a/deep/too/three.ts": "", "p/a/none.ts": "",
		"p/b/package.json":       `{"name": "b", "exports": {".": {"development": "./source/b.ts", "import": "./dist/entry.js"}, "./sub": "./dist/deep/sub.js", "./loop": "b/loop"}}`,
		"p/b/source/b.ts":        "",
		"p/b/src/deep/sub.ts":    "",
		"p/c/package.json":       `{"name": "c", "dependencies": {"linked": "file:../../elsewhere", "out": "link:../../../x"}}`,
		"p/c/main.ts":            `import 'linked'; import 'out'; import 'b/loop'; import 'c'`,
		"elsewhere/package.json": `{"name": "another"}`, "elsewhere/index.js": "",
	}
	check(t, files, "typescript", []importing{
		{"values", "p/a/main.ts", []string{"p/a/x.js", "p/a/dir/y.ts", "p/b/source/b.ts", "p/b/src/deep/sub.ts", "p/a/index.ts", "p/a/deep/one.ts", "p/a/css/one.css"}},
		{"types", "p/a/types.ts", []string{"p/a/x.d.ts"}},
		{"links", "p/c/main.ts", []string{"elsewhere/index.js"}},
	})
}

// TestNodeSources: the entry points of a package are built files, and their sources are found.
func TestNodeSources(t *testing.T) {
	for name, c := range map[string]struct{ manifest, source, config string }{
		"dist":           {`"main": "dist/index.js"`, "src/index.ts", ""},
		"formats":        {`"exports": {"import": "./dist/esm/index.mjs"}`, "src/index.ts", ""},
		"deeper":         {`"exports": "./build/modern/api/main.js"`, "src/api/main.tsx", ""},
		"no folder":      {`"main": "./entry.cjs"`, "src/entry.ts", ""},
		"sources beside": {`"main": "lib/a.js"`, "a.ts", ""},
		"in the output":  {`"main": "dist/src/a.js"`, "src/a.ts", ""},
		"declarations":   {`"types": "./dist/types/a.d.ts"`, "src/a.ts", ""},
		"a bundle":       {`"main": "dist/p.umd.min.js"`, "src/index.ts", ""},
		"its own name":   {`"module": "dist/p.esm.js"`, "src/p.ts", ""},
		"a source":       {`"main": "dist/x.js", "source": "code/x.ts"`, "code/x.ts", ""},
		"outDir":         {`"main": "made/a/b.js"`, "code/a/b.ts", `{"compilerOptions": {"outDir": "made", "rootDir": "code"}}`},
		"outDir alone":   {`"main": "made/b.js"`, "src/b.ts", `{"compilerOptions": {"outDir": "./made"}}`},
		"extended":       {`"main": "made/b.js"`, "code/b.ts", `{"extends": "../../base"}`},
		"styles":         {`"exports": {"style": "./dist/all.css", "default": "./dist/all.css"}`, "src/all.scss", ""},
	} {
		files := memory{
			"package.json": `{"workspaces": ["w/*"]}`, "main.ts": "import 'p'", "w/p/package.json": `{"name": "p", ` + c.manifest + `}`, "w/p/" + c.source: "", "w/p/bin.js": "",
			"base.json": `{"compilerOptions": {"outDir": "${configDir}/made", "rootDir": "${configDir}/code"}}`,
		}
		if c.config != "" {
			files["w/p/tsconfig.json"] = c.config
		}
		check(t, files, "typescript", []importing{{name, "main.ts", []string{"w/p/" + c.source}}})
	}
	files := memory{"package.json": "{}", "bin/run.js": "require('../dist/cli.js'); require('../other/cli.js')", "src/cli.ts": "", "src/other/x.ts": ""}
	check(t, files, "javascript", []importing{{"by path", "bin/run.js", []string{"src/cli.ts"}}})
}

// reads records the files that are read.
type reads struct {
	memory
	read map[string]bool
}

func (r reads) Read(path string) ([]byte, error) {
	r.read[path] = true
	return r.memory.Read(path)
}

// TestNodeMembers: a package is found whatever its folder is called, and quickly if the names are
// equal.
func TestNodeMembers(t *testing.T) {
	files := memory{
		"package.json":          `{"workspaces": ["p/*"]}`,
		"p/one/package.json":    `{"name": "@s/one"}`,
		"p/one/index.ts":        "",
		"p/s-two/package.json":  `{"name": "@s/two"}`,
		"p/s-two/index.ts":      "",
		"p/three/package.json":  `{"name": "@s/other"}`,
		"p/three/index.ts":      "",
		"q/three/package.json":  `{"name": "@s/three"}`,
		"q/three/index.ts":      "",
		"p/unread/package.json": `{"name": "unread"}`,
	}
	for text, want := range map[string]string{"@s/one": "p/one/index.ts", "@s/two": "p/s-two/index.ts", "@s/other": "p/three/index.ts", "@s/three": "", "fs": ""} {
		noted := reads{files, map[string]bool{}}
		got, err := Of(noted, "main.ts", "typescript", []byte("import '"+text+"'"))
		if err != nil || strings.Join(got, " ") != want {
			t.Errorf("%s: %q, %v, want %q", text, got, err, want)
		}
		if alike := want == "p/one/index.ts" || want == "p/s-two/index.ts"; alike && noted.read["p/unread/package.json"] {
			t.Errorf("%s: read %v", text, noted.read)
		}
	}
}

// TestHostileWorkspace: a pnpm-workspace.yaml that is invalid, or would cost too much, has no
// members.
func TestHostileWorkspace(t *testing.T) {
	for _, content := range []string{
		"packages: [", "packages:\n  - *a\n", "packages:\n  a: b\n", "packages: " + strings.Repeat("[", 1<<20), "packages: ['packages/*']\n" + strings.Repeat("# a\n", 1<<16),
	} {
		files := memory{
			"app/main.ts": "import 'two'", "pnpm-workspace.yaml": content,
			"packages/two/package.json": `{"name": "two", "main": "a.ts"}`, "packages/two/a.ts": "",
		}
		check(t, files, "typescript", []importing{{content[:11], "app/main.ts", nil}})
	}
}
