package imports

import (
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// memory is an in-memory workspace.
type memory map[string]string

var _ Files = memory(nil)

func (m memory) Read(path string) ([]byte, error) {
	if content, ok := m[path]; ok {
		return []byte(content), nil
	}
	return nil, &fs.PathError{Op: "read", Path: path, Err: fs.ErrNotExist}
}

func (m memory) Has(path string) bool {
	_, ok := m[path]
	return ok
}

func (m memory) List(folder string) []string {
	var found []string
	for file := range m {
		rest := file
		if folder != "." {
			var within bool
			if rest, within = strings.CutPrefix(file, folder+"/"); !within {
				continue
			}
		}
		if first, _, deeper := strings.Cut(rest, "/"); deeper {
			rest = first + "/"
		}
		found = append(found, rest)
	}
	slices.Sort(found)
	return slices.Compact(found)
}

func (m memory) Named(name string) []string {
	var found []string
	for file := range m {
		if path.Base(file) == name {
			found = append(found, file)
		}
	}
	slices.Sort(found)
	return found
}

// disk is a workspace in a folder of this machine, for tests against the tools of a language.
type disk string

var _ Files = disk("")

func (d disk) Read(path string) ([]byte, error) {
	return os.ReadFile(filepath.Join(string(d), filepath.FromSlash(path)))
}

func (d disk) Has(path string) bool {
	info, err := os.Stat(filepath.Join(string(d), filepath.FromSlash(path)))
	return err == nil && info.Mode().IsRegular()
}

func (d disk) List(folder string) []string {
	entries, _ := os.ReadDir(filepath.Join(string(d), filepath.FromSlash(folder)))
	var found []string
	for _, e := range entries {
		if e.IsDir() {
			found = append(found, e.Name()+"/")
		} else {
			found = append(found, e.Name())
		}
	}
	slices.Sort(found)
	return found
}

func (d disk) Named(name string) []string {
	var found []string
	_ = fs.WalkDir(os.DirFS(string(d)), ".", func(p string, e fs.DirEntry, err error) error {
		if err == nil && !e.IsDir() && e.Name() == name {
			found = append(found, p)
		}
		return nil
	})
	slices.Sort(found)
	return found
}

// An importing is a file in a workspace, with the expected dependencies in order.
type importing struct {
	name string
	from string
	want []string
}

// check compares the dependencies of files with the expected ones.
func check(t *testing.T, files memory, language string, cases []importing) {
	t.Helper()
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			content, err := files.Read(c.from)
			if err != nil {
				t.Fatal(err)
			}
			got, err := Of(files, c.from, language, content)
			if err != nil {
				t.Fatal(err)
			}
			if len(got)+len(c.want) > 0 && !slices.Equal(got, c.want) {
				t.Errorf("%s depends on (-want +got):\n%s", c.from, cmp.Diff(c.want, got))
			}
		})
	}
}

func TestMemory(t *testing.T) {
	files := memory{"a/b.go": "x", "a/c/d.go": "", "e.go": "", "a-b/d.go": ""}
	for folder, want := range map[string][]string{
		".":     {"a-b/", "a/", "e.go"},
		"a":     {"b.go", "c/"},
		"a/c":   {"d.go"},
		"a/b":   nil,
		"other": nil,
	} {
		if got := files.List(folder); !slices.Equal(got, want) {
			t.Errorf("In(%q) = %q, want %q", folder, got, want)
		}
	}
	if got := files.Named("d.go"); !slices.Equal(got, []string{"a-b/d.go", "a/c/d.go"}) {
		t.Errorf("Named = %q", got)
	}
	if files.Has("a") || !files.Has("a/b.go") {
		t.Error("Has takes a folder for a file, or misses one")
	}
}
