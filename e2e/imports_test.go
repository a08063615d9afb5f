package e2e

import (
	"encoding/json"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"
	"testing"

	"remit/internal/search/imports"
)

// resolvers is the folder with what resolves imports, and with packages that have some.
var resolvers = &npmFolder{path: "imports"}

// resolved is what esbuild and TypeScript find in a workspace, as imports/resolve.mjs prints it.
type resolved struct {
	Kept    []string // the files that a repository of the workspace would hold
	Sources []string // those of them that were asked about
	Imports []struct {
		From, Spec string
		Esbuild    string // the file of the workspace that is imported; "" if it is none
		TypeScript string
	}
}

// TestImportsLikeEsbuild: in a workspace of real packages, all that esbuild finds is found, and no
// more than what esbuild or, for types, TypeScript finds.
func TestImportsLikeEsbuild(t *testing.T) {
	t.Parallel()
	resolvers.ready(t)
	root := t.TempDir()
	result := runNode(t, os.Environ(), "node", filepath.Join("imports", "resolve.mjs"), root)
	if result.code != 0 {
		t.Fatalf("resolve.mjs: exit %d\n%s", result.code, result.errOut)
	}
	var want resolved
	if err := json.Unmarshal([]byte(result.out), &want); err != nil {
		t.Fatal(err)
	}
	tally := compareImports(t, root, want)
	t.Logf("%d files, %d imports: of %d that esbuild finds in the workspace %d are found, of %d that TypeScript finds %d; %d false",
		len(want.Sources), len(want.Imports), tally.esbuild, tally.esbuildFound, tally.typeScript, tally.typeScriptFound, tally.wrong)
	if tally.esbuild < 5000 || tally.typeScript < 8000 {
		t.Errorf("the workspace has too few imports to prove anything: %+v", tally)
	}
	if tally.esbuildFound*100 < tally.esbuild*99 || tally.typeScriptFound*100 < tally.typeScript*99 || tally.wrong > 0 {
		t.Errorf("less than 99 in 100 imports are found, or one is false: %+v", tally)
	}
}

// importTally counts imports that lead to a file of the workspace, by who finds them.
type importTally struct{ esbuild, esbuildFound, typeScript, typeScriptFound, wrong int }

func compareImports(t *testing.T, root string, want resolved) (tally importTally) {
	t.Helper()
	files := newKeptFiles(root, want.Kept)
	wanted := map[string][]int{}
	for i, w := range want.Imports {
		wanted[w.From] = append(wanted[w.From], i)
	}
	for _, from := range want.Sources {
		got := importsOf(t, files, from)
		explained := map[string]bool{from: true}
		for _, i := range wanted[from] {
			w := want.Imports[i]
			explained[w.Esbuild], explained[w.TypeScript] = true, true
			found := func(to string) bool { return to == from || slices.Contains(got, to) }
			if w.Esbuild != "" {
				tally.esbuild++
				if found(w.Esbuild) {
					tally.esbuildFound++
				} else {
					t.Logf("%s imports %q: %s is not found", from, w.Spec, w.Esbuild)
				}
			}
			// Where conditions lead esbuild and TypeScript to different files, the one that runs
			// counts.
			if w.TypeScript != "" && (w.Esbuild == "" || w.Esbuild == w.TypeScript) {
				tally.typeScript++
				if found(w.TypeScript) {
					tally.typeScriptFound++
				} else {
					t.Logf("%s imports %q: %s is not found", from, w.Spec, w.TypeScript)
				}
			}
		}
		for _, to := range got {
			if !explained[to] {
				tally.wrong++
				t.Errorf("%s does not import %s", from, to)
			}
		}
	}
	return tally
}

func importsOf(t *testing.T, files keptFiles, from string) []string {
	t.Helper()
	content, err := files.Read(from)
	if err != nil {
		t.Fatal(err)
	}
	language := "typescript"
	if path.Ext(from) == ".css" {
		language = "css"
	}
	got, err := imports.Of(files, from, language, content)
	if err != nil {
		t.Errorf("%s: %v", from, err)
	}
	return got
}

// keptFiles are some of the files beneath a folder; the others might as well not be there.
type keptFiles struct {
	root  string
	kept  map[string]bool
	named map[string][]string
	in    map[string][]string
}

var _ imports.Files = keptFiles{}

func newKeptFiles(root string, kept []string) keptFiles {
	f := keptFiles{root, map[string]bool{}, map[string][]string{}, map[string][]string{}}
	slices.Sort(kept)
	for _, file := range kept {
		f.kept[file] = true
		f.named[path.Base(file)] = append(f.named[path.Base(file)], file)
		for entry, folder := path.Base(file), path.Dir(file); ; entry, folder = path.Base(folder)+"/", path.Dir(folder) {
			if !slices.Contains(f.in[folder], entry) {
				f.in[folder] = append(f.in[folder], entry)
			}
			if folder == "." {
				break
			}
		}
	}
	for _, entries := range f.in {
		slices.Sort(entries)
	}
	return f
}

func (f keptFiles) Has(file string) bool { return f.kept[file] }

func (f keptFiles) List(folder string) []string { return f.in[folder] }

func (f keptFiles) Named(name string) []string { return f.named[name] }

func (f keptFiles) Read(file string) ([]byte, error) {
	if !f.kept[file] {
		return nil, fmt.Errorf("read %s: %w", file, os.ErrNotExist)
	}
	return os.ReadFile(filepath.Join(f.root, filepath.FromSlash(file)))
}
