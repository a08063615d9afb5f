package tree

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// gitEnv returns the environment of a user without configuration.
func gitEnv() []string {
	return []string{"PATH=" + os.Getenv("PATH"), "HOME=/nonexistent", "GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL=/dev/null"}
}

func runGit(t *testing.T, root string, args ...string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "git", args...)
	cmd.Dir, cmd.Env = root, gitEnv()
	out, err := cmd.Output()
	if err != nil {
		t.Skipf("git %v: %v", args, err)
	}
	return string(out)
}

func lookup(key string) (string, bool) {
	for _, pair := range gitEnv() {
		if k, v, _ := strings.Cut(pair, "="); k == key {
			return v, true
		}
	}
	return "", false
}

// gitLists returns the files that git lists, except those that are missing or in a folder that is
// never listed.
func gitLists(t *testing.T, root string) []string {
	t.Helper()
	var paths []string
	for name := range strings.SplitSeq(runGit(t, root, "ls-files", "-coz", "--exclude-standard"), "\x00") {
		info, err := os.Lstat(filepath.Join(root, name))
		if name == "" || err != nil || !info.Mode().IsRegular() && info.Mode()&os.ModeSymlink == 0 {
			continue
		}
		parts := strings.Split(name, "/")
		last := len(parts) - 1
		if !slices.ContainsFunc(parts[:last], func(p string) bool { return excludedFolder([]byte(p)) || excluded([]byte(p)) }) && !excluded([]byte(parts[last])) {
			paths = append(paths, name)
		}
	}
	slices.Sort(paths)
	return slices.Compact(paths)
}

// TestGitListsTheModule compares the tree with git on this checkout.
func TestGitListsTheModule(t *testing.T) {
	v := openView(t, Options{Root: "../../..", Env: lookup})
	v.noRead = true
	want := gitLists(t, "../../..")
	v.update()
	if diff := cmp.Diff(want, v.paths()); diff != "" && !slices.Equal(want, gitLists(t, "../../..")) {
		t.Skip("the checkout is being changed")
	} else if diff != "" {
		t.Errorf("(-git +tree):\n%s", diff)
	}
}

// TestGitListsNastyTree compares the tree with git while rules, index and files change.
func TestGitListsNastyTree(t *testing.T) {
	modes(t, func(t *testing.T, noWatch bool) {
		root := t.TempDir()
		runGit(t, root, "init", "-q")
		for _, name := range []string{
			"a.log", "keep.log", "src/a.go", "src/a.log", "src/keep/x.log", "src/gen/y", "src/gen/z", "vendor/m/f", "vendor/n/f",
			"deep/1/2/3/4/f", "deep/1/2/3/4/f.tmp", "deep/1/x", "build/out", "tools/build", "node_modules/m/i.js", "sp ace/f ", "sp ace/g",
			"!bang", "#hash", "b[x]", "bx", "ü/ä", "\xff/\xfe.log", ".env", ".env.local", ".hidden/f", "tracked/in/ignored", "tracked/other", "odd.tmp",
		} {
			write(t, root, name, name)
		}
		if err := os.Symlink("src", filepath.Join(root, "link")); err != nil {
			t.Fatal(err)
		}
		v := openView(t, Options{Root: root, NoWatch: noWatch, Env: lookup})
		v.noRead = true
		compare := func(step string) {
			t.Helper()
			v.update()
			if diff := cmp.Diff(gitLists(t, root), v.paths()); diff != "" {
				t.Errorf("%s (-git +tree):\n%s", step, diff)
			}
		}
		compare("no rules")
		write(t, root, gitignore, "*.log\n!keep.log\n/vendor/*\n!/vendor/m/\ntracked/\n\\!bang\n\\#hash\nb[[]x]\nlink/\nsp ace/g\n")
		compare("rules")
		write(t, root, "src/"+gitignore, "gen/*\n!gen/z\n!a.log\n")
		write(t, root, "deep/1/"+gitignore, "**/4/*.tmp\n")
		compare("rules below")
		runGit(t, root, "add", "-f", "tracked/in/ignored", "a.log", "vendor/n")
		compare("tracked in spite of the rules")
		write(t, root, "tracked/in/another", "")
		compare("not tracked beside it")
		write(t, root, ".git/info/exclude", "odd.tmp\n")
		compare("rules of the repository")
		write(t, root, "deep/1/"+gitignore, "x\n")
		os.Remove(filepath.Join(root, "src", gitignore))
		compare("other rules below")
		runGit(t, root, "rm", "-q", "--cached", "a.log", "tracked/in/ignored")
		compare("not tracked any more")
		os.Remove(filepath.Join(root, gitignore))
		os.Symlink("/dev/null", filepath.Join(root, gitignore))
		compare("rules that are a link")
	})
}

// TestRepositories creates a repository within the tree, where the rules of the outer one do not
// apply.
func TestRepositories(t *testing.T) {
	modes(t, func(t *testing.T, noWatch bool) {
		root := t.TempDir()
		write(t, root, gitignore, "*.log\n")
		write(t, root, "nested/a.log", "")
		write(t, root, "nested/sub/b.log", "")
		write(t, root, "nested/sub/b.tmp", "")
		v := openView(t, Options{Root: root, NoWatch: noWatch, Env: lookup})
		v.noRead = true
		expect := func(want ...string) {
			t.Helper()
			v.update()
			if diff := cmp.Diff(append([]string{gitignore}, want...), v.paths()); diff != "" {
				t.Error(diff)
			}
		}
		expect("nested/sub/b.tmp")
		write(t, root, "nested/.git/description", "not a repository yet")
		expect("nested/sub/b.tmp")
		runGit(t, filepath.Join(root, "nested"), "init", "-q")
		expect("nested/a.log", "nested/sub/b.log", "nested/sub/b.tmp")
		write(t, root, "nested/.git/info/exclude", "/sub/*.tmp\n")
		expect("nested/a.log", "nested/sub/b.log")
		runGit(t, filepath.Join(root, "nested"), "add", "-f", "sub/b.tmp")
		expect("nested/a.log", "nested/sub/b.log", "nested/sub/b.tmp")
		os.RemoveAll(filepath.Join(root, "nested/.git"))
		expect("nested/sub/b.tmp")
		runGit(t, root, "init", "-q")
		write(t, root, ".git/info/exclude", "*.tmp\n")
		expect()
	})
}
