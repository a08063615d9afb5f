package internal_test

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// rule says which of our packages those of one wing may import. A pattern ending
// in /** stands for a package and all beneath it, one ending in /* for each package
// directly beneath it and all beneath that.
type rule struct {
	from string
	may  []string
	why  string
}

// rules are the import directions of docs/architecture.md. The first that fits a
// package is the one that goes for it.
var rules = []rule{
	{"cmd/**", []string{"internal/app"}, "a command only starts app"},
	{"internal/app/**", []string{"internal/**"}, "app wires everything"},
	{"internal/frontends/cli/**", []string{"SELF", "internal/engine/**", "internal/contract/**", "internal/toolsets/**"}, "cli knows engine, contract and toolsets, never another face, a store or app"},
	{"internal/frontends/console/**", []string{"SELF", "internal/engine/**", "internal/contract/**", "internal/toolsets/**"}, "console knows engine, contract and toolsets, never another face, a store or app"},
	{"internal/frontends/*", []string{"SELF", "internal/engine/**", "internal/contract/**", "internal/batchwriter"}, "a face knows engine and contract, never another face, a toolset, a store or app"},
	{"internal/toolsets/*", []string{"SELF", "internal/engine", "internal/contract/**", "internal/search/**", "internal/batchwriter"}, "a toolset knows engine, contract and search, never another toolset, a face, a store or app"},
	{"internal/stores/*", []string{"SELF", "internal/engine/**", "internal/contract/**", "internal/toolsets/**", "internal/search/**", "internal/batchwriter"}, "a store knows the interfaces it serves, never another store, a face or app"},
	{"internal/engine/**", []string{"internal/engine/**", "internal/contract/**", "internal/batchwriter"}, "engine knows contract alone"},
	{"internal/contract/**", []string{"internal/contract/**"}, "contract knows nothing else of ours"},
	{"internal/search/**", []string{"internal/search/**"}, "search knows nothing else of ours"},
	{"internal/batchwriter", nil, "it writes whatever it is given, and knows nothing of ours"},
	{"internal/jsonc", nil, "it parses JSON with comments, and knows nothing of ours"},
	{"internal/filelock", nil, "it locks files, and knows nothing of ours"},
	{"internal/complexitytest", nil, "it measures for tests, and knows nothing of ours"},
}

// leaves know nothing of ours, so that every package may import them.
var leaves = []string{"internal/jsonc", "internal/filelock"}

// misnomers say nothing of what a package gives, or shadow the standard library.
var misnomers = []string{"util", "utils", "common", "models", "helpers", "context"}

const module = "remit/"

// pkg is a package of the house: a folder with Go files in it.
type pkg struct {
	dir     string // from the root of the module
	name    string
	imports []string // ours alone, from the root of the module
	charter bool     // some file says what the package is for
}

// TestHouse checks the whole tree against the design: who may import whom, what
// packages are called, and that each says what it is for.
func TestHouse(t *testing.T) {
	packages := readHouse(t, os.DirFS(".."), "internal", "cmd")
	if len(packages) < 10 {
		t.Fatalf("only %d packages were found: the test looks in the wrong place", len(packages))
	}
	for _, complaint := range inspect(packages) {
		t.Error(complaint)
	}
}

// TestHouseComplains: each kind of fault is found, and told in a sentence.
func TestHouseComplains(t *testing.T) {
	for _, tc := range []struct {
		name, dir, imports, want string
	}{
		{"app may", "internal/app", "internal/stores/blob", ""},
		{"cmd may", "cmd/remit", "internal/app", ""},
		{"cmd may not", "cmd/remit", "internal/engine", "cmd/remit imports internal/engine, but a command only starts app"},
		{"a face may", "internal/frontends/mcp", "internal/engine/approval", ""},
		{"a face and its own part", "internal/frontends/mcp", "internal/frontends/mcp/wire", ""},
		{"the part of a face and the face", "internal/frontends/mcp/wire", "internal/frontends/mcp", ""},
		{"a face and another", "internal/frontends/cli", "internal/frontends/mcp", "internal/frontends/cli imports internal/frontends/mcp, but cli knows engine, contract and toolsets, never another face, a store or app"},
		{"cli and a toolset", "internal/frontends/cli/clients", "internal/toolsets/tasks", ""},
		{"console and a toolset", "internal/frontends/console", "internal/toolsets/codebase/knowledge", ""},
		{"a face and a toolset", "internal/frontends/mcp", "internal/toolsets/tasks", "internal/frontends/mcp imports internal/toolsets/tasks, but a face knows engine and contract, never another face, a toolset, a store or app"},
		{"a face and a store", "internal/frontends/console", "internal/stores/blob", "internal/frontends/console imports internal/stores/blob, but console knows engine, contract and toolsets, never another face, a store or app"},
		{"a toolset may", "internal/toolsets/tasks", "internal/search/text", ""},
		{"a toolset and engine", "internal/toolsets/tasks", "internal/engine", ""},
		{"a toolset and a part of engine", "internal/toolsets/tasks", "internal/engine/audit", "internal/toolsets/tasks imports internal/engine/audit, but a toolset knows engine, contract and search, never another toolset, a face, a store or app"},
		{"a toolset and another", "internal/toolsets/tasks", "internal/toolsets/books", "internal/toolsets/tasks imports internal/toolsets/books, but a toolset knows engine, contract and search, never another toolset, a face, a store or app"},
		{"a toolset and one that begins alike", "internal/toolsets/task", "internal/toolsets/tasks", "internal/toolsets/task imports internal/toolsets/tasks, but a toolset knows engine, contract and search, never another toolset, a face, a store or app"},
		{"a store may", "internal/stores/sqlstore", "internal/toolsets/tasks", ""},
		{"a store and the part of a toolset", "internal/stores/sqlstore", "internal/toolsets/codebase/knowledge", ""},
		{"a store and another", "internal/stores/sqlstore", "internal/stores/blob", "internal/stores/sqlstore imports internal/stores/blob, but a store knows the interfaces it serves, never another store, a face or app"},
		{"a store and app", "internal/stores/blob", "internal/app", "internal/stores/blob imports internal/app, but a store knows the interfaces it serves, never another store, a face or app"},
		{"engine may", "internal/engine", "internal/engine/ratelimit", ""},
		{"engine and a store", "internal/engine/audit", "internal/stores/memlog", "internal/engine/audit imports internal/stores/memlog, but engine knows contract alone"},
		{"contract and engine", "internal/contract", "internal/engine", "internal/contract imports internal/engine, but contract knows nothing else of ours"},
		{"search and contract", "internal/search/text", "internal/contract", "internal/search/text imports internal/contract, but search knows nothing else of ours"},
		{"a leaf", "internal/search/text", "internal/jsonc", ""},
		{"a leaf and another package", "internal/jsonc", "internal/contract", "internal/jsonc imports internal/contract, but it parses JSON with comments, and knows nothing of ours"},
		{"a package outside the design", "internal/extra", "internal/contract", "internal/extra has no place in the design: give it a rule, or a place in one of the wings"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got := strings.Join(inspect([]pkg{{tc.dir, path.Base(tc.dir), []string{tc.imports}, true}}), "\n")
			if got != tc.want {
				t.Errorf("got  %s\nwant %s", got, tc.want)
			}
		})
	}
	for _, name := range misnomers {
		want := fmt.Sprintf("internal/engine/x is named %s: name a package by what it gives", name)
		if got := inspect([]pkg{{"internal/engine/x", name, nil, true}}); !slices.Equal(got, []string{want}) {
			t.Errorf("got %q, want %q", got, want)
		}
	}
	want := "internal/engine has no package comment: say in one sentence what it is for"
	if got := inspect([]pkg{{"internal/engine", "engine", nil, false}}); !slices.Equal(got, []string{want}) {
		t.Errorf("got %q, want %q", got, want)
	}
}

func inspect(packages []pkg) []string {
	var complaints []string
	for _, p := range packages {
		r, placed := ruleFor(p.dir)
		if !placed {
			complaints = append(complaints, p.dir+" has no place in the design: give it a rule, or a place in one of the wings")
			continue
		}
		for _, imported := range p.imports {
			if !r.allows(p.dir, imported) {
				complaints = append(complaints, fmt.Sprintf("%s imports %s, but %s", p.dir, imported, r.why))
			}
		}
		if slices.Contains(misnomers, p.name) || slices.Contains(misnomers, path.Base(p.dir)) {
			complaints = append(complaints, fmt.Sprintf("%s is named %s: name a package by what it gives", p.dir, p.name))
		}
		if !p.charter {
			complaints = append(complaints, p.dir+" has no package comment: say in one sentence what it is for")
		}
	}
	return complaints
}

func ruleFor(dir string) (rule, bool) {
	i := slices.IndexFunc(rules, func(r rule) bool { return matches(r.from, dir) })
	if i < 0 {
		return rule{}, false
	}
	return rules[i], true
}

func (r rule) allows(from, imported string) bool {
	return slices.Contains(leaves, imported) || slices.ContainsFunc(r.may, func(pattern string) bool {
		if pattern == "SELF" { // the package of the wing that from is part of
			pattern = strings.Join(strings.Split(from, "/")[:3], "/") + "/**"
		}
		return matches(pattern, imported)
	})
}

func matches(pattern, dir string) bool {
	if wing, ok := strings.CutSuffix(pattern, "/**"); ok {
		return dir == wing || strings.HasPrefix(dir, wing+"/")
	}
	if wing, ok := strings.CutSuffix(pattern, "/*"); ok {
		return strings.HasPrefix(dir, wing+"/")
	}
	return dir == pattern
}

// readHouse reads the packages beneath some folders: what they import in files
// that are not tests, on whichever system.
func readHouse(t *testing.T, tree fs.FS, wings ...string) []pkg {
	t.Helper()
	byDir := map[string]*pkg{}
	var packages []pkg
	for _, wing := range wings {
		err := fs.WalkDir(tree, wing, func(name string, entry fs.DirEntry, err error) error {
			if err != nil || !isSource(entry) {
				if err == nil && entry.IsDir() && entry.Name() == "testdata" {
					return fs.SkipDir
				}
				return err
			}
			if byDir[path.Dir(name)] == nil {
				byDir[path.Dir(name)] = &pkg{dir: path.Dir(name)}
			}
			return byDir[path.Dir(name)].read(tree, name)
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	for _, p := range byDir {
		packages = append(packages, *p)
	}
	slices.SortFunc(packages, func(a, b pkg) int { return strings.Compare(a.dir, b.dir) })
	return packages
}

func isSource(entry fs.DirEntry) bool {
	return !entry.IsDir() && strings.HasSuffix(entry.Name(), ".go") && !strings.HasSuffix(entry.Name(), "_test.go")
}

func (p *pkg) read(tree fs.FS, name string) error {
	source, err := fs.ReadFile(tree, name)
	if err != nil {
		return err
	}
	file, err := parser.ParseFile(token.NewFileSet(), name, source, parser.ImportsOnly|parser.ParseComments)
	if err != nil {
		return err
	}
	p.name = file.Name.Name
	p.charter = p.charter || isCharter(file)
	for _, spec := range file.Imports {
		imported, err := strconv.Unquote(spec.Path.Value)
		if err != nil {
			return err
		}
		if ours, ok := strings.CutPrefix(imported, module); ok && !slices.Contains(p.imports, ours) {
			p.imports = append(p.imports, ours)
		}
	}
	return nil
}

// isCharter tells whether the file's comment is one about its package.
func isCharter(file *ast.File) bool {
	about := file.Doc.Text()
	if file.Name.Name == "main" {
		return strings.HasPrefix(about, "Command ")
	}
	return strings.HasPrefix(about, "Package "+file.Name.Name+" ")
}
