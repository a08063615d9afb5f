package imports

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// A goListed is a package in the output of `go list -json`.
type goListed struct {
	ImportPath, Dir                              string
	Standard                                     bool
	GoFiles, CgoFiles, TestGoFiles, XTestGoFiles []string
	ImportMap                                    map[string]string
	Module                                       *struct{ Dir string }
}

const goListFields = "ImportPath,Dir,Standard,GoFiles,CgoFiles,TestGoFiles,XTestGoFiles,ImportMap,Module"

// goList runs go list offline in a folder.
func goList(t *testing.T, folder string, args ...string) []goListed {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "go", append([]string{"list", "-e", "-json=" + goListFields}, args...)...)
	cmd.Dir = folder
	cmd.Env = append(os.Environ(), "GOPROXY=off", "GOWORK=", "CGO_ENABLED=1", "GOTOOLCHAIN=local", "GOFLAGS=")
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	output, err := cmd.Output()
	if errors.Is(err, exec.ErrNotFound) {
		t.Skip("there is no go command")
	}
	if err != nil {
		t.Fatalf("go list: %v\n%s", err, &stderr)
	}
	var packages []goListed
	for d := json.NewDecoder(bytes.NewReader(output)); ; {
		var p goListed
		if err := d.Decode(&p); errors.Is(err, io.EOF) {
			return packages
		} else if err != nil {
			t.Fatal(err)
		}
		packages = append(packages, p)
	}
}

// compareWithGoList compares the dependencies of every file of the listed packages with those of go
// list, and returns the number of compared imports. root is the workspace, module the folder of the
// listed module: files of another module may see other packages than if theirs were the main
// module.
func compareWithGoList(t *testing.T, root, module string, packages []goListed) (compared int) {
	t.Helper()
	beneath := map[string][]string{} // files of a package of the workspace, by import path
	for _, p := range packages {
		folder, err := filepath.Rel(root, p.Dir)
		if p.Dir == "" || err != nil || strings.HasPrefix(folder, "..") {
			continue
		}
		sources := slices.Concat(p.GoFiles, p.CgoFiles)
		slices.Sort(sources)
		for _, name := range sources {
			beneath[p.ImportPath] = append(beneath[p.ImportPath], path.Join(filepath.ToSlash(folder), name))
		}
	}
	for _, p := range packages {
		folder, err := filepath.Rel(root, p.Dir)
		inModule := p.Standard || p.Module != nil && filepath.Clean(p.Module.Dir) == filepath.Join(root, module)
		if p.Dir == "" || err != nil || strings.HasPrefix(folder, "..") || !inModule {
			continue
		}
		for _, name := range slices.Concat(p.GoFiles, p.CgoFiles, p.TestGoFiles, p.XTestGoFiles) {
			compared += compareGoFile(t, disk(root), path.Join(filepath.ToSlash(folder), name), beneath, p.ImportMap)
		}
	}
	return compared
}

func compareGoFile(t *testing.T, files disk, file string, beneath map[string][]string, mapped map[string]string) int {
	t.Helper()
	content, err := files.Read(file)
	if err != nil {
		t.Fatal(err)
	}
	got, err := Of(files, file, "go", content)
	if err != nil {
		t.Errorf("%s: %v", file, err)
		return 0
	}
	specs, _ := extractGo(content)
	var want []string
	for _, s := range specs {
		name := s.text
		if to := mapped[name]; to != "" {
			name = to
		}
		want = append(want, beneath[name]...)
	}
	want = slices.DeleteFunc(want, func(f string) bool { return f == file })
	slices.Sort(want)
	want = slices.Compact(want)
	slices.Sort(got)
	if !slices.Equal(got, want) {
		t.Errorf("%s: what go list says, and what was found (-want +got):\n%s", file, cmp.Diff(want, got))
	}
	return len(want)
}

// TestGoOnThisModule compares the resolver with the go command on the module of this test.
func TestGoOnThisModule(t *testing.T) {
	root, err := filepath.Abs("../../..")
	if err != nil {
		t.Fatal(err)
	}
	packages := goList(t, root, "./...") // including every package of the module
	files := compareWithGoList(t, root, ".", packages)
	if files < 100 {
		t.Errorf("only %d imports of files were compared", files)
	}
	t.Logf("%d imports of files are the same", files)
}

// TestGoOnStandardLibrary does the same with Go's own source, which has many vendored packages,
// systems and tags.
func TestGoOnStandardLibrary(t *testing.T) {
	if os.Getenv("REMIT_FULL") != "true" {
		t.Skip("slow: set REMIT_FULL=true")
	}
	output, err := exec.CommandContext(t.Context(), "go", "env", "GOROOT").Output()
	if err != nil {
		t.Skip("there is no go command")
	}
	root := filepath.Join(strings.TrimSpace(string(output)), "src")
	packages := goList(t, root, "-deps", "std", "cmd")
	for i := range packages {
		// Test imports of vendored packages are not listed.
		packages[i].TestGoFiles, packages[i].XTestGoFiles = nil, nil
	}
	t.Logf("%d imports of files compared", compareWithGoList(t, root, "", packages))
}

// TestGoOnWorkspaces compares the resolver with the go command for nested, replaced, used and
// vendored modules.
func TestGoOnWorkspaces(t *testing.T) {
	root, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	files := goWorkspaces()
	for name, content := range files {
		file := filepath.Join(root, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(file), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(content), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	for folder, least := range map[string]int{"used/app": 8, "used/lib": 1, "alone": 5, "vendored": 1, "alone/nested": 0} {
		packages := goList(t, filepath.Join(root, folder), "-deps", "./...")
		if n := compareWithGoList(t, root, folder, packages); n < least {
			t.Errorf("%s: only %d imports of files were compared", folder, n)
		}
	}
}

func goWorkspaces() memory {
	return memory{
		"used/go.work":                    "go 1.21\n\nuse (\n\t./app\n\t./lib // the library\n)\n\nreplace example.com/swapped => ./swapped\n",
		"used/app/go.mod":                 "module example.com/app\n\ngo 1.21\n\nrequire example.com/swapped v1.0.0\n",
		"used/app/main.go":                "package main\n\nimport (\n\t\"fmt\"\n\n\t_ \"example.com/app/inner\"\n\t_ \"example.com/lib\"\n\t_ \"example.com/lib/deep/er\"\n\t_ \"example.com/swapped/part\"\n)\n\nfunc main() { fmt.Println() }\n",
		"used/app/main_test.go":           "package main\n\nimport (\n\t_ \"example.com/lib\"\n\t\"testing\"\n)\n\nfunc TestX(t *testing.T) {}\n",
		"used/app/inner/one.go":           "package inner\n",
		"used/app/inner/export_test.go":   "package inner\n",
		"used/app/inner/x_test.go":        "package inner_test\n\nimport _ \"example.com/app/inner\"\n",
		"used/app/inner/a_linux.go":       "package inner\n",
		"used/app/inner/a_windows.go":     "package inner\n",
		"used/app/inner/a_linux_amd64.go": "package inner\n",
		"used/app/inner/a_plan9_amd64.go": "package inner\n",
		"used/app/inner/a_arm64.go":       "package inner\n",
		"used/app/inner/linux_arm64_x.go": "package inner\n",
		"used/app/inner/a_unix.go":        "package inner\n",
		"used/app/inner/unix.go":          "//go:build unix\n\npackage inner\n",
		"used/app/inner/notunix.go":       "//go:build !unix\n\npackage inner\n",
		"used/app/inner/new.go":           "//go:build go1.18 && (amd64 || arm64)\n\npackage inner\n",
		"used/app/inner/old.go":           "//go:build !go1.18\n\npackage inner\n",
		"used/app/inner/custom.go":        "//go:build custom\n\npackage inner\n",
		"used/app/inner/plus.go":          "// +build linux,!windows darwin\n\npackage inner\n",
		"used/app/inner/plusno.go":        "// Words.\n\n// +build windows\n\n// Package inner.\npackage inner\n",
		"used/app/inner/docs.go":          "package documentation\n",
		"used/app/inner/c.go":             "package inner\n\nimport \"C\"\n",
		"used/app/inner/nocgo.go":         "//go:build !cgo\n\npackage inner\n",
		"used/app/inner/embed.go":         "package inner\n\nimport _ \"embed\"\n\n//go:embed one.go\nvar source string\n",
		"used/lib/go.mod":                 "module example.com/lib\n\ngo 1.21\n",
		"used/lib/lib.go":                 "package lib\n\nimport _ \"example.com/lib/deep/er\"\n",
		"used/lib/deep/er/er.go":          "package er\n",
		"used/swapped/go.mod":             "module example.com/swapped\n\ngo 1.21\n",
		"used/swapped/part/part.go":       "package part\n\nimport _ \"example.com/swapped/other\"\n",
		"used/swapped/other/other.go":     "package other\n",

		"alone/go.mod":                           "module example.com/alone\n\ngo 1.21\n\nrequire (\n\texample.com/alone/nested v0.0.0\n\texample.com/far v1.2.3\n\texample.com/near v1.0.0\n)\n\nreplace example.com/far v1.2.3 => ../far\n\nreplace example.com/near v1.9.9 => ../far\n\nreplace example.com/alone/nested => ./nested\n",
		"alone/a.go":                             "package alone\n\nimport (\n\t_ \"example.com/alone/nested\"\n\t_ \"example.com/alone/nested/sub\"\n\t_ \"example.com/alone/plain\"\n\t_ \"example.com/far\"\n\t_ \"example.com/far/x\"\n\t_ \"example.com/near\"\n)\n",
		"alone/plain/p.go":                       "package plain\n",
		"alone/nested/go.mod":                    "module example.com/alone/nested\n\ngo 1.21\n",
		"alone/nested/n.go":                      "package nested\n\nimport _ \"example.com/alone/plain\"\n",
		"alone/nested/sub/s.go":                  "package sub\n",
		"far/go.mod":                             "module example.com/far\n\ngo 1.21\n",
		"far/f.go":                               "package far\n\nimport _ \"example.com/far/x\"\n",
		"far/x/x.go":                             "package x\n",
		"vendored/go.mod":                        "module example.com/vendored\n\ngo 1.21\n\nrequire example.com/far v1.2.3\n",
		"vendored/v.go":                          "package vendored\n\nimport _ \"example.com/far/x\"\n",
		"vendored/vendor/modules.txt":            "# example.com/far v1.2.3\n## explicit; go 1.21\nexample.com/far/x\nexample.com/far/y\n",
		"vendored/vendor/example.com/far/x/x.go": "package x\n\nimport _ \"example.com/far/y\"\n",
		"vendored/vendor/example.com/far/y/y.go": "package y\n",
	}
}
