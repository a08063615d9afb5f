package workspace_test

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"remit/internal/contract"
)

func TestList(t *testing.T) {
	dir := realTemp(t)
	plant(
		t, dir, "README.md=R", "main.go=M", ".env=S", ".gitignore=G", ".git/config=S", "secrets/s.md=S", "empty/",
		"docs/a.md=A", "docs/Adr/1.md=1", "docs/.ENV=S", "docs/x.KEY=S", "docs/secrets/s.md=S", "docs/größe.md=U",
		".claude/memory/m.md=M", ".claude/settings.json=S", ".remit/remit.db=S", "docs/hidden.md=S",
	)
	root := open(t, dir, filepath.Join(dir, ".remit"), filepath.Join(dir, "docs/hidden.md"))
	allow := listed()
	allow.Allow = append(allow.Allow, ".claude/memory/**", "deep/*/x.md")

	for _, tc := range []struct {
		name, folder, begins string
		policy               *contract.PathPolicy
		want                 []string
	}{
		{"the root", ".", "", anywhere(), []string{".claude/", ".gitignore", "README.md", "docs/", "empty/", "main.go"}},
		{"only what is allowed, and the way to it", ".", "", allow, []string{".claude/", "README.md", "docs/"}},
		{"on the way to what is allowed", ".claude", "", allow, []string{".claude/memory/"}},
		{"where it is allowed", ".claude/memory/", "", allow, []string{".claude/memory/m.md"}},
		{"a folder", "docs", "", anywhere(), []string{"docs/Adr/", "docs/a.md", "docs/größe.md"}},
		{"the folder in other words", ".//docs/.", "", anywhere(), []string{"docs/Adr/", "docs/a.md", "docs/größe.md"}},
		{"what begins so", "docs", "A", anywhere(), []string{"docs/Adr/", "docs/a.md"}},
		{"what begins so, by the letter", "docs", "gr", anywhere(), []string{"docs/größe.md"}},
		{"an empty folder", "empty", "", anywhere(), nil},
		{"nothing begins so", ".", "nothing", anywhere(), nil},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got, err := root.List(tc.folder, tc.begins, tc.policy)
			if diff := cmp.Diff(tc.want, got); diff != "" || err != nil {
				t.Errorf("%v %s", err, diff)
			}
		})
	}
}

// TestListRefuses checks that a folder that policy refuses is denied, whether or not it exists.
func TestListRefuses(t *testing.T) {
	dir := realTemp(t)
	plant(t, dir, "docs/a.md=A", "secrets/s.md=S", "src/main.go=M", ".remit/remit.db=S")
	root := open(t, dir, filepath.Join(dir, ".remit"))

	for _, folder := range []string{"", "/", "/etc", "..", "../x", "docs/..", "docs/../secrets", `docs\..`, "C:", "a\x00", "secrets", "SECRETS", "secrets/none", ".git", ".remit", ".REMIT", ".remit/none"} {
		_, err := root.List(folder, "", anywhere())
		check(t, failure(err), denied(folder))
	}
	for _, folder := range []string{"src", "none", "README.md", "src/docs"} {
		_, err := root.List(folder, "", listed())
		check(t, failure(err), denied(folder))
	}
	_, err := root.List("docs", "", nil)
	check(t, failure(err), denied("docs"))
	for _, folder := range []string{"none", "docs/none", "docs/a.md", "docs/a.md/x"} {
		_, err := root.List(folder, "", anywhere())
		check(t, failure(err), notFound(folder))
	}
}

func TestListOfAVeryLargeFolder(t *testing.T) {
	dir := realTemp(t)
	for i := range 11_000 {
		file, err := os.Create(filepath.Join(dir, string(rune('a'+i%26))+string(rune('a'+i/26%26))+string(rune('a'+i/676))))
		if err != nil {
			t.Fatal(err)
		}
		_ = file.Close()
	}
	got, err := open(t, dir).List(".", "", anywhere())
	if err != nil || len(got) != 10_000 || !slices.IsSorted(got) {
		t.Errorf("%d names, %v", len(got), err)
	}
}
