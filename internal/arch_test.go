package internal_test

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/scanner"
	"go/token"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"
)

// rule says which of our packages the packages of one layer may import. A pattern that ends in
// /** matches a package and all packages beneath it. One that ends in /* matches all packages
// beneath it, but not the package itself.
type rule struct {
	from string
	may  []string
	why  string
}

// rules are the import directions of docs/architecture.md. The first rule that matches a package
// applies to it.
var rules = []rule{
	{"cmd/**", []string{"internal/app"}, "a command only starts app"},
	{"internal/app/**", []string{"internal/**"}, "app wires everything"},
	{
		"internal/frontends/cli/**",
		[]string{"SELF", "internal/engine/**", "internal/contract/**", "internal/toolsets/**"},
		"cli imports engine, contract and toolsets, never another front end, a store or app",
	},
	{
		"internal/frontends/console/**",
		[]string{"SELF", "internal/engine/**", "internal/contract/**", "internal/toolsets/**"},
		"console imports engine, contract and toolsets, never another front end, a store or app",
	},
	{
		"internal/frontends/*",
		[]string{"SELF", "internal/engine/**", "internal/contract/**", "internal/batchwriter"},
		"a front end imports engine and contract, never another front end, a toolset, a store or app",
	},
	{
		"internal/toolsets/*",
		[]string{"SELF", "internal/engine", "internal/engine/audit", "internal/contract/**", "internal/search/**", "internal/batchwriter"},
		"a toolset imports engine, contract and search, never another toolset, a front end, a store or app",
	},
	{
		"internal/stores/*",
		[]string{
			"SELF", "internal/engine/**", "internal/contract/**", "internal/toolsets/**", "internal/search/**",
			"internal/batchwriter",
		},
		"a store imports the interfaces it implements, never another store, a front end or app",
	},
	{
		"internal/engine/**",
		[]string{"internal/engine/**", "internal/contract/**", "internal/batchwriter"},
		"engine imports only contract and batchwriter",
	},
	{"internal/contract/**", []string{"internal/contract/**"}, "contract imports nothing else of ours"},
	{"internal/search/**", []string{"internal/search/**"}, "search imports nothing else of ours"},
	{"internal/batchwriter", nil, "batchwriter imports nothing of ours"},
	{"internal/backup", nil, "backup imports nothing of ours"},
	{"internal/bodies", nil, "bodies imports nothing of ours"},
	{"internal/jsonc", nil, "jsonc imports nothing of ours"},
	{"internal/filelock", nil, "filelock imports nothing of ours"},
	{"internal/visible", nil, "visible imports nothing of ours"},
	{"internal/storageid", nil, "storageid imports nothing of ours but filelock"},
	{"internal/complexitytest", nil, "complexitytest imports nothing of ours"},
}

// leaves import nothing of ours, so every package may import them.
var leaves = []string{"internal/bodies", "internal/jsonc", "internal/filelock", "internal/visible", "internal/storageid"}

// badNames do not say what a package provides, or shadow the standard library.
var badNames = []string{"util", "utils", "common", "models", "helpers", "context"}

const module = "remit/"

// pkg is a package of this module: a folder with Go files.
type pkg struct {
	dir     string // relative to the root of the module
	name    string
	imports []string // only ours, relative to the root of the module
	hasDoc  bool     // some file has a package comment
}

// TestArchitecture checks the whole tree against the design: import directions, package names, and
// that each package has a package comment.
func TestArchitecture(t *testing.T) {
	packages := readPackages(t, os.DirFS(".."), "internal", "cmd")
	if len(packages) < 10 {
		t.Fatalf("only %d packages were found: the test reads the wrong folders", len(packages))
	}
	for _, violation := range inspect(packages) {
		t.Error(violation)
	}
}

// TestViolations checks that every kind of violation is found and described in a sentence.
func TestViolations(t *testing.T) {
	for _, tc := range []struct {
		name, dir, imports, want string
	}{
		{"app allowed", "internal/app", "internal/stores/blob", ""},
		{"cmd allowed", "cmd/remit", "internal/app", ""},
		{"cmd forbidden", "cmd/remit", "internal/engine", "cmd/remit imports internal/engine, but a command only starts app"},
		{"front end allowed", "internal/frontends/mcp", "internal/engine/approval", ""},
		{"front end and its own part", "internal/frontends/mcp", "internal/frontends/mcp/wire", ""},
		{"part of a front end and the front end", "internal/frontends/mcp/wire", "internal/frontends/mcp", ""},
		{
			"front end and another", "internal/frontends/cli", "internal/frontends/mcp",
			"internal/frontends/cli imports internal/frontends/mcp, " +
				"but cli imports engine, contract and toolsets, never another front end, a store or app",
		},
		{"cli and a toolset", "internal/frontends/cli/clients", "internal/toolsets/tasks", ""},
		{"console and a toolset", "internal/frontends/console", "internal/toolsets/codebase/knowledge", ""},
		{
			"front end and a toolset", "internal/frontends/mcp", "internal/toolsets/tasks",
			"internal/frontends/mcp imports internal/toolsets/tasks, " +
				"but a front end imports engine and contract, never another front end, a toolset, a store or app",
		},
		{
			"front end and a store", "internal/frontends/console", "internal/stores/blob",
			"internal/frontends/console imports internal/stores/blob, " +
				"but console imports engine, contract and toolsets, never another front end, a store or app",
		},
		{"toolset allowed", "internal/toolsets/tasks", "internal/search/text", ""},
		{"a toolset and engine", "internal/toolsets/tasks", "internal/engine", ""},
		{
			"a toolset and a part of engine", "internal/toolsets/tasks", "internal/engine/approval",
			"internal/toolsets/tasks imports internal/engine/approval, " +
				"but a toolset imports engine, contract and search, never another toolset, a front end, a store or app",
		},
		{
			"a toolset and another", "internal/toolsets/tasks", "internal/toolsets/books",
			"internal/toolsets/tasks imports internal/toolsets/books, " +
				"but a toolset imports engine, contract and search, never another toolset, a front end, a store or app",
		},
		{
			"a toolset and one that begins alike", "internal/toolsets/task", "internal/toolsets/tasks",
			"internal/toolsets/task imports internal/toolsets/tasks, " +
				"but a toolset imports engine, contract and search, never another toolset, a front end, a store or app",
		},
		{"store allowed", "internal/stores/sqlstore", "internal/toolsets/tasks", ""},
		{"a store and the part of a toolset", "internal/stores/sqlstore", "internal/toolsets/codebase/knowledge", ""},
		{
			"a store and another", "internal/stores/sqlstore", "internal/stores/blob",
			"internal/stores/sqlstore imports internal/stores/blob, " +
				"but a store imports the interfaces it implements, never another store, a front end or app",
		},
		{
			"a store and app", "internal/stores/blob", "internal/app",
			"internal/stores/blob imports internal/app, " +
				"but a store imports the interfaces it implements, never another store, a front end or app",
		},
		{"engine allowed", "internal/engine", "internal/engine/ratelimit", ""},
		{
			"engine and a store", "internal/engine/audit", "internal/stores/memlog",
			"internal/engine/audit imports internal/stores/memlog, " +
				"but engine imports only contract and batchwriter",
		},
		{
			"contract and engine", "internal/contract", "internal/engine",
			"internal/contract imports internal/engine, " +
				"but contract imports nothing else of ours",
		},
		{
			"search and contract", "internal/search/text", "internal/contract",
			"internal/search/text imports internal/contract, " +
				"but search imports nothing else of ours",
		},
		{"a leaf", "internal/search/text", "internal/jsonc", ""},
		{
			"a leaf and another package", "internal/jsonc", "internal/contract",
			"internal/jsonc imports internal/contract, " +
				"but jsonc imports nothing of ours",
		},
		{
			"a package outside the design", "internal/extra", "internal/contract",
			"internal/extra is in no layer of the design: add a rule for it, or move it into a layer",
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got := strings.Join(inspect([]pkg{{tc.dir, path.Base(tc.dir), []string{tc.imports}, true}}), "\n")
			if got != tc.want {
				t.Errorf("got  %s\nwant %s", got, tc.want)
			}
		})
	}
	for _, name := range badNames {
		want := fmt.Sprintf("internal/engine/x is named %s: name a package by what it provides", name)
		if got := inspect([]pkg{{"internal/engine/x", name, nil, true}}); !slices.Equal(got, []string{want}) {
			t.Errorf("got %q, want %q", got, want)
		}
	}
	want := "internal/engine has no package comment: say what the package does"
	if got := inspect([]pkg{{"internal/engine", "engine", nil, false}}); !slices.Equal(got, []string{want}) {
		t.Errorf("got %q, want %q", got, want)
	}
}

func inspect(packages []pkg) []string {
	var violations []string
	for _, p := range packages {
		r, ok := ruleFor(p.dir)
		if !ok {
			violations = append(violations, p.dir+" is in no layer of the design: add a rule for it, or move it into a layer")
			continue
		}
		for _, imported := range p.imports {
			if !r.allows(p.dir, imported) {
				violations = append(violations, fmt.Sprintf("%s imports %s, but %s", p.dir, imported, r.why))
			}
		}
		if slices.Contains(badNames, p.name) || slices.Contains(badNames, path.Base(p.dir)) {
			violations = append(violations, fmt.Sprintf("%s is named %s: name a package by what it provides", p.dir, p.name))
		}
		if !p.hasDoc {
			violations = append(violations, p.dir+" has no package comment: say what the package does")
		}
	}
	return violations
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
		if pattern == "SELF" { // the third-level package that from is part of
			pattern = strings.Join(strings.Split(from, "/")[:3], "/") + "/**"
		}
		return matches(pattern, imported)
	})
}

func matches(pattern, dir string) bool {
	if prefix, ok := strings.CutSuffix(pattern, "/**"); ok {
		return dir == prefix || strings.HasPrefix(dir, prefix+"/")
	}
	if prefix, ok := strings.CutSuffix(pattern, "/*"); ok {
		return strings.HasPrefix(dir, prefix+"/")
	}
	return dir == pattern
}

// readPackages reads the packages beneath the root folders. It ignores test files, and includes the
// files of all operating systems.
func readPackages(t *testing.T, tree fs.FS, roots ...string) []pkg {
	t.Helper()
	byDir := map[string]*pkg{}
	var packages []pkg
	for _, root := range roots {
		err := fs.WalkDir(tree, root, func(name string, entry fs.DirEntry, err error) error {
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
	p.hasDoc = p.hasDoc || hasPackageComment(file)
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

// hasPackageComment reports whether the file has a package comment.
func hasPackageComment(file *ast.File) bool {
	doc := file.Doc.Text()
	if file.Name.Name == "main" {
		return strings.HasPrefix(doc, "Command ")
	}
	return strings.HasPrefix(doc, "Package "+file.Name.Name+" ")
}

// The maximum widths of lines, in columns. A tab counts as 4 columns, and a URL as none.
const (
	maxCommentColumns  = 100
	maxMarkdownColumns = 120
)

// TestLineWidths checks the widths of all comments and of all Markdown that git tracks, except for
// test data.
func TestLineWidths(t *testing.T) {
	if _, err := os.Stat("../.git"); err != nil {
		t.Skip("without a git repository, the files are not known")
	}
	out, err := exec.CommandContext(t.Context(), "git", "-C", "..", "ls-files", "-z", "--", "*.go", "*.md").Output()
	if err != nil {
		t.Fatalf("list the files: %v", err)
	}
	names := strings.Split(strings.TrimRight(string(out), "\x00"), "\x00")
	if len(names) < 100 {
		t.Fatalf("only %d files were found: the test reads the wrong folder", len(names))
	}
	for _, name := range names {
		if strings.Contains(name, "testdata/") {
			continue
		}
		source, err := os.ReadFile(path.Join("..", name))
		if os.IsNotExist(err) { // deleted, but not committed yet
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		wide := wideComments
		if path.Ext(name) == ".md" {
			wide = wideMarkdown
		}
		for _, violation := range wide(source) {
			t.Errorf("%s:%s", name, violation)
		}
	}
}

// TestWideLines checks which lines are too wide.
func TestWideLines(t *testing.T) {
	words := strings.Repeat("word ", 30)
	for _, tc := range []struct {
		name   string
		wide   func([]byte) []string
		source string
		want   string
	}{
		{"comment that fits", wideComments, "package x\n\n//" + strings.Repeat("x", 98) + "\n", ""},
		{"wide comment", wideComments, "package x\n\n//" + strings.Repeat("x", 99) + "\n", "3: the comment has 101 columns, at most 100 are allowed"},
		{"letters of two bytes", wideComments, "package x\n\n//" + strings.Repeat("é", 98) + "\n", ""},
		{"indented", wideComments, "package x\n\nfunc f() {\n\t//" + strings.Repeat("x", 95) + "\n}\n", "4: the comment has 101 columns, at most 100 are allowed"},
		{"block comment", wideComments, "package x\n\n/*\nshort\n" + words + "\n*/\n", "5: the comment has 149 columns, at most 100 are allowed"},
		{"comment after code", wideComments, "package x\n\nvar x = 1 // " + words + "\n", "3: the comment has 162 columns, at most 100 are allowed"},
		{"string that looks like a comment", wideComments, "package x\n\nvar x = `\n// " + words + "\n`\n", ""},
		{"directive", wideComments, "package x\n\n//go:generate " + words + "\n", ""},
		{"linter directive", wideComments, "package x\n\n//nolint:gosec // " + words + "\n", ""},
		{"comment with a URL", wideComments, "package x\n\n// See https://example.com/" + strings.Repeat("x", 99) + ".\n", ""},
		{"text that fits", wideMarkdown, strings.Repeat("x", 120) + "\n", ""},
		{"wide text", wideMarkdown, "# X\n\n" + strings.Repeat("x", 121) + "\n", "3: the line has 121 columns, at most 120 are allowed"},
		{"wide table", wideMarkdown, "|" + words + "|\n", "1: the line has 152 columns, at most 120 are allowed"},
		{"code block", wideMarkdown, "```sh\n" + words + "\n```\n", ""},
		{"code block in a list", wideMarkdown, "- x\n\n  ~~~\n  ```\n  " + words + "\n  ~~~\n", ""},
		{"text after a code block", wideMarkdown, "```sh\n```\n" + words + "\n", "3: the line has 149 columns, at most 120 are allowed"},
		{"link", wideMarkdown, "[Add](https://example.com/" + strings.Repeat("x", 121) + ")\n", ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if got := strings.Join(tc.wide([]byte(tc.source)), "\n"); got != tc.want {
				t.Errorf("got  %s\nwant %s", got, tc.want)
			}
		})
	}
}

// wideComments returns the lines of comments that are too wide. A comment after code is part of its
// line of code, and directives cannot be wrapped.
func wideComments(source []byte) []string {
	var violations []string
	file := token.NewFileSet().AddFile("", -1, len(source))
	lines := strings.Split(string(source), "\n")
	var s scanner.Scanner
	s.Init(file, source, nil, scanner.ScanComments)
	for {
		position, tok, text := s.Scan()
		if tok == token.EOF {
			return violations
		}
		if tok != token.COMMENT || strings.HasPrefix(text, "//go:") || strings.HasPrefix(text, "//nolint") {
			continue
		}
		first := file.Line(position)
		for i := range strings.Count(text, "\n") + 1 {
			if n := columns(lines[first-1+i]); n > maxCommentColumns {
				violations = append(violations, fmt.Sprintf("%d: the comment has %d columns, at most %d are allowed", first+i, n, maxCommentColumns))
			}
		}
	}
}

// wideMarkdown returns the lines that are too wide, except for those in code blocks.
func wideMarkdown(source []byte) []string {
	var violations []string
	fence := "" // of the code block that the line is in
	for i, line := range strings.Split(string(source), "\n") {
		marker := strings.TrimSpace(line)
		switch {
		case fence != "" && marker == fence:
			fence = ""
		case fence != "":
		case strings.HasPrefix(marker, "```"), strings.HasPrefix(marker, "~~~"):
			fence = marker[:3]
		default:
			if n := columns(line); n > maxMarkdownColumns {
				violations = append(violations, fmt.Sprintf("%d: the line has %d columns, at most %d are allowed", i+1, n, maxMarkdownColumns))
			}
		}
	}
	return violations
}

var address = regexp.MustCompile(`[a-z]+://[^\s)>]+`)

// columns returns the width of a line without its URLs, and without white space at its end.
func columns(line string) int {
	line = address.ReplaceAllString(strings.ReplaceAll(line, "\t", "    "), "")
	return utf8.RuneCountInString(strings.TrimRight(line, " "))
}
