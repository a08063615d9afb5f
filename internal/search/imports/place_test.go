package imports

import (
	"path"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

func TestUpwards(t *testing.T) {
	for folder, want := range map[string][]string{
		"a/b/c": {"a/b/c", "a/b", "a", "."},
		".":     {"."},
		"../a":  {"../a", "..", "."},
		"/a":    {"/a", "/"},
	} {
		if got := slices.Collect(upwards(folder)); !slices.Equal(got, want) {
			t.Errorf("upwards(%q) = %q, want %q", folder, got, want)
		}
	}
}

func TestWithin(t *testing.T) {
	for _, c := range []struct {
		folder, name, want string
		ok                 bool
	}{
		{"a/b", "c", "a/b/c", true},
		{"a/b", "../c", "a/c", true},
		{"a", "..", ".", true},
		{"a", "../..", "..", false},
		{"a", "../../b", "../b", false},
		{".", "..b", "..b", true},
		{".", "/b", "b", false},
		{"a", "/b", "a/b", false},
	} {
		if got, ok := within(c.folder, c.name); got != c.want || ok != c.ok {
			t.Errorf("within(%q, %q) = %q, %v, want %q, %v", c.folder, c.name, got, ok, c.want, c.ok)
		}
	}
}

func TestBeneath(t *testing.T) {
	for _, c := range []struct {
		folder, root, want string
		ok                 bool
	}{
		{"a/b", "a", "b", true},
		{"a", "a", ".", true},
		{"a/b", ".", "a/b", true},
		{"..", ".", "..", false},
		{"ab/c", "a", "ab/c", false},
	} {
		if got, ok := beneath(c.folder, c.root); got != c.want || ok != c.ok {
			t.Errorf("beneath(%q, %q) = %q, %v, want %q, %v", c.folder, c.root, got, ok, c.want, c.ok)
		}
	}
}

// counted counts how often a folder is listed.
type counted struct {
	memory
	listings map[string]int
}

func (c counted) List(folder string) []string {
	c.listings[folder]++
	return c.memory.List(folder)
}

// TestListedFiles: listedFiles returns the same as the files, and lists no folder twice or
// unnecessarily.
func TestListedFiles(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		place := rapid.StringMatching(`[abc](/[abc.]{1,2}){0,3}`)
		files := memory{}
		for _, file := range rapid.SliceOf(place).Draw(t, "files") {
			files[path.Join("top", path.Clean("/"+file))] = ""
		}
		behind := counted{files, map[string]int{}}
		listed := newListedFiles(behind)
		for _, asked := range rapid.SliceOf(place).Draw(t, "asked") {
			asked = path.Join("top", asked)
			if got, want := listed.Has(asked), files.Has(asked); got != want {
				t.Fatalf("Has(%q) = %v, want %v", asked, got, want)
			}
			if got, want := listed.List(asked), files.List(asked); !slices.Equal(got, want) {
				t.Fatalf("In(%q) = %q, want %q", asked, got, want)
			}
		}
		for folder, times := range behind.listings {
			if times > 1 || folder != "." && len(files.List(folder)) == 0 {
				t.Fatalf("%q was listed %d times, and has %q", folder, times, files.List(folder))
			}
		}
	})
}

// TestLimits: only the first imports are resolved if there are too many, and overlong ones never.
func TestLimits(t *testing.T) {
	files := memory{"a.rb": "", "b.rb": "", "c.rb": ""}
	content := []byte("require_relative 'a'\nrequire_relative '" + string(slices.Repeat([]byte("./"), maxImport)) + "c'\n")
	content = append(content, slices.Repeat([]byte("require 'x'\n"), maxImports)...)
	content = append(content, "require_relative 'b'\n"...)
	got, err := Of(files, "x.rb", "ruby", content)
	if err != nil || !slices.Equal(got, []string{"a.rb"}) {
		t.Errorf("%q, %v", got, err)
	}
}
