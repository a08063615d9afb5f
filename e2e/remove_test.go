package e2e

import (
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// filesBelow returns the content of all files below a folder.
func filesBelow(t *testing.T, folder string) map[string]string {
	t.Helper()
	found := map[string]string{}
	err := filepath.WalkDir(folder, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		found[path] = entry.Type().String()
		if entry.Type().IsRegular() {
			found[path] = string(readFile(t, path))
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

// documentedPlaces returns the places that docs/operations.md says to remove.
func documentedPlaces(t *testing.T, root, home string) (places []string) {
	t.Helper()
	_, section, found := strings.Cut(string(readFile(t, "../docs/operations.md")), "\n## Remove\n")
	if !found {
		t.Fatal("docs/operations.md has no section about removing")
	}
	for _, row := range regexp.MustCompile("(?m)^\\| `([^`]+)` \\|").FindAllStringSubmatch(section, -1) {
		places = append(places, strings.NewReplacer("ROOT", root, "~", home).Replace(row[1]))
	}
	return places
}

// TestRemovedWithoutTrace uses most of what stores something, and checks that every file that was
// created is in a place that docs/operations.md names, and that nothing is left after those were
// removed.
func TestRemovedWithoutTrace(t *testing.T) {
	t.Parallel()
	s := newWorkspace(t, map[string]string{"root/main.go": "package main\n\n// main prints a greeting to the person.\nfunc main() { println(\"hello\") }\n", "home/.cursor/mcp.json": "{}\n", "home/.config/other": "x", "tmp/x": "x"})
	base, home := s.root, s.path("home")
	s.root = s.path("root")
	keys := filepath.Join(home, ".config", "remit")
	s.env = []string{"HOME=" + home, "TMPDIR=" + filepath.Join(base, "tmp"), "REMIT_KEYS=" + keys}
	before := filesBelow(t, base)
	run := func(args ...string) {
		t.Helper()
		if got := s.remit(args...); got.code != 0 {
			t.Fatalf("remit %s: exit %d\n%s%s", strings.Join(args, " "), got.code, got.out, got.errOut)
		}
	}
	run("init", "--yes")
	run("install", "cursor", "--user")
	w := s.serve("--toolsets", "learning-os,tasks,books,context", "--approve", "auto", "--audit-keep", "365d")
	for tool, args := range map[string]string{
		"hello": `{}`, "add_task": `{"user_id":"ada","title":"x"}`, "write_memory_entry": entryArgs,
		"grep_codebase": `{"pattern":"main"}`, "context_search": `{"query":"main"}`, "read_file": `{"path":"main.go"}`,
	} {
		w.post("/tools/"+tool, args, nil)
	}
	run("books", "new", "course", "--title", "A course")
	run("search", "print a greeting")
	run("token", "create", "--name", "agent")
	run("status")
	run("doctor")
	w.end()
	run("audit", "verify")
	places := documentedPlaces(t, s.root, home)
	for path := range filesBelow(t, base) {
		known := slices.ContainsFunc(places, func(place string) bool { return path == place || strings.HasPrefix(path, place+"/") })
		if before[path] == "" && !known && !strings.HasPrefix(path, filepath.Join(home, ".cursor")) {
			t.Errorf("docs/operations.md does not say that %s is to be removed", path)
		}
	}
	run("uninstall", "cursor", "--user")
	for _, place := range places {
		if _, err := os.Lstat(place); err != nil {
			t.Errorf("%s was not created", place)
		}
		s.check(os.RemoveAll(place))
	}
	if after := filesBelow(t, base); !maps.Equal(before, after) {
		t.Errorf("left: %v, want %v", slices.Sorted(maps.Keys(after)), slices.Sorted(maps.Keys(before)))
	}
}
