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

// resolvers is the folder with the resolvers of imports, and the packages to resolve.
var resolvers = &npmFolder{path: "imports"}

// resolverOutput is what esbuild and TypeScript resolve in a workspace, as imports/resolve.mjs
// prints it.
type resolverOutput struct {
	Kept    []string // the files that a repository of the workspace would contain
	Sources []string // the source files among them, whose imports were resolved
	Imports []struct {
		From, Spec string
		Esbuild    string // the imported file of the workspace, or ""
		TypeScript string
	}
}

// TestImportsLikeEsbuild checks in a workspace of real packages that at least 99 % of the imports
// that esbuild resolves are found, and none that neither esbuild nor TypeScript, for types,
// resolves.
func TestImportsLikeEsbuild(t *testing.T) {
	t.Parallel()
	resolvers.ready(t)
	root := t.TempDir()
	result := runNode(t, os.Environ(), "node", filepath.Join("imports", "resolve.mjs"), root)
	if result.code != 0 {
		t.Fatalf("resolve.mjs: exit %d\n%s", result.code, result.errOut)
	}
	var want resolverOutput
	if err := json.Unmarshal([]byte(result.out), &want); err != nil {
		t.Fatal(err)
	}
	tally := compareImports(t, root, want)
	t.Logf("%d files, %d imports: of %d that esbuild resolves in the workspace, %d are found; of %d that TypeScript resolves, %d; %d false",
		len(want.Sources), len(want.Imports), tally.esbuild, tally.esbuildFound, tally.typeScript, tally.typeScriptFound, tally.wrong)
	if tally.esbuild < 5000 || tally.typeScript < 8000 {
		t.Errorf("the workspace has too few imports for a comparison: %+v", tally)
	}
	if tally.esbuildFound*100 < tally.esbuild*99 || tally.typeScriptFound*100 < tally.typeScript*99 || tally.wrong > 0 {
		t.Errorf("less than 99 %% of the imports are found, or one is false: %+v", tally)
	}
}

// importTally counts imports of files in the workspace by resolver.
type importTally struct{ esbuild, esbuildFound, typeScript, typeScriptFound, wrong int }

func compareImports(t *testing.T, root string, want resolverOutput) (tally importTally) {
	t.Helper()
	files := newRepoFiles(root, want.Kept)
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
			// If conditions lead esbuild and TypeScript to different files, the file that runs
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

func importsOf(t *testing.T, files repoFiles, from string) []string {
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

// repoFiles are the files that a repository contains. Other files in the folder are ignored.
type repoFiles struct {
	root  string
	kept  map[string]bool
	named map[string][]string
	in    map[string][]string
}

var _ imports.Files = repoFiles{}

func newRepoFiles(root string, kept []string) repoFiles {
	f := repoFiles{root, map[string]bool{}, map[string][]string{}, map[string][]string{}}
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

func (f repoFiles) Has(file string) bool { return f.kept[file] }

func (f repoFiles) List(folder string) []string { return f.in[folder] }

func (f repoFiles) Named(name string) []string { return f.named[name] }

func (f repoFiles) Read(file string) ([]byte, error) {
	if !f.kept[file] {
		return nil, fmt.Errorf("read %s: %w", file, os.ErrNotExist)
	}
	return os.ReadFile(filepath.Join(f.root, filepath.FromSlash(file)))
}
