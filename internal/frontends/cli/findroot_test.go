package cli

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// makeTree creates files, and folders for names that end with a slash.
func makeTree(t *testing.T, top string, names ...string) {
	t.Helper()
	for _, name := range names {
		path := filepath.Join(top, filepath.FromSlash(name))
		err := os.MkdirAll(filepath.Dir(path), 0o755)
		if strings.HasSuffix(name, "/") {
			err = os.MkdirAll(path, 0o755)
		} else if err == nil {
			err = os.WriteFile(path, []byte("gitdir: ../elsewhere\n"), 0o644)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

func TestFindRoot(t *testing.T) {
	for _, tc := range []struct {
		name, here, want string
		tree             []string
		found            bool
	}{
		{name: "nothing", here: "a/b", want: "a/b"},
		{name: "configuration", here: "a/b", want: "a", tree: []string{"a/remit.yaml"}, found: true},
		{name: "data", here: "a/b/c", want: "a", tree: []string{"a/.remit/"}, found: true},
		{name: "repository", here: "a/b", want: "a", tree: []string{"a/.git/HEAD"}, found: true},
		{name: "worktree or submodule", here: "a/b/c", want: "a/b", tree: []string{"a/.git/HEAD", "a/b/.git"}, found: true},
		{name: "nearest", here: "a/b/c", want: "a/b", tree: []string{"a/.git/HEAD", "a/remit.yaml", "a/b/.remit/"}, found: true},
		{name: "here", here: "a/b", want: "a/b", tree: []string{"a/remit.yaml", "a/b/remit.yaml"}, found: true},
		{name: "no marks", here: "a/b", want: "a/b", tree: []string{"a/.git/config", "a/.remit"}},
		{name: "in the repository", here: "a/.git/hooks", want: "a", tree: []string{"a/.git/HEAD"}, found: true},
		{name: "home holds projects", here: "home/b/c", want: "home/b/c", tree: []string{"home/.git/HEAD", "home/.remit/", "remit.yaml"}},
		{name: "in a project at home", here: "home/b/c", want: "home/b", tree: []string{"home/.remit/", "home/b/.git/HEAD"}, found: true},
		{name: "at home", here: "home", want: "home", tree: []string{"home/.remit/", "remit.yaml"}, found: true},
		{name: "above home", here: "home", want: "home", tree: []string{"remit.yaml"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			top := realPath(t.TempDir())
			makeTree(t, top, append(tc.tree, tc.here+"/")...)
			root, found, err := findRoot(filepath.Join(top, tc.here), filepath.Join(top, "home"))
			if want := filepath.Join(top, tc.want); err != nil || root != want || found != tc.found {
				t.Errorf("%s, %v, %v; want %s, %v", root, found, err, want, tc.found)
			}
		})
	}
}

// TestFindRootByLink checks that the real folder decides, as in git.
func TestFindRootByLink(t *testing.T) {
	top := realPath(t.TempDir())
	makeTree(t, top, "project/remit.yaml", "project/src/", "other/remit.yaml")
	link := filepath.Join(top, "other", "link")
	if err := os.Symlink(filepath.Join(top, "project", "src"), link); err != nil {
		t.Skip(err)
	}
	if root, found, err := findRoot(link, ""); err != nil || !found || root != filepath.Join(top, "project") {
		t.Errorf("%s, %v, %v", root, found, err)
	}
}

// TestFindRootShared checks that a folder in which everybody can create files is no workspace.
func TestFindRootShared(t *testing.T) {
	top := realPath(t.TempDir())
	makeTree(t, top, "tmp/remit.yaml", "tmp/mine/")
	here := filepath.Join(top, "tmp", "mine")
	if err := os.Chmod(filepath.Dir(here), 0o777|fs.ModeSticky); err != nil {
		t.Fatal(err)
	}
	if root, found, err := findRoot(here, ""); err != nil || found || root != here {
		t.Errorf("%s, %v, %v", root, found, err)
	}
	for folder, want := range map[string]bool{filepath.Dir(here): true, here: false, top: true, filepath.VolumeName(top) + string(filepath.Separator): true} {
		if holdsProjects(folder, top) != want {
			t.Errorf("%s holds projects: %v, want %v", folder, !want, want)
		}
	}
}

// TestFindRootForeign checks that a workspace of another user is refused.
func TestFindRootForeign(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root can give files away")
	}
	t.Setenv("SUDO_UID", "")
	for _, foreign := range []string{"project", "project/remit.yaml"} {
		top := realPath(t.TempDir())
		makeTree(t, top, "project/remit.yaml", "project/src/")
		if err := os.Chown(filepath.Join(top, foreign), 4321, 4321); err != nil {
			t.Fatal(err)
		}
		here := filepath.Join(top, "project", "src")
		if root, _, err := findRoot(here, ""); err == nil || !strings.Contains(err.Error(), "belongs to another user; to use that workspace, add --root "+filepath.Join(top, "project")) {
			t.Errorf("%s of another user: %s, %v", foreign, root, err)
		}
		t.Setenv("SUDO_UID", "4321")
		if root, found, err := findRoot(here, ""); err != nil || !found {
			t.Errorf("%s of the user who ran sudo: %s, %v", foreign, root, err)
		}
		t.Setenv("SUDO_UID", "")
	}
}

// TestClientFolder checks which project a server serves that a client starts elsewhere.
func TestClientFolder(t *testing.T) {
	top := realPath(t.TempDir())
	makeTree(t, top, "home/empty/", "project/.git/HEAD", "project/src/", "other/remit.yaml")
	project := filepath.Join(top, "project")
	for _, tc := range []struct{ name, command, here, variable, value, want string }{
		{"started at home", "stdio", "home", "WORKSPACE_FOLDER_PATHS", project, "project"},
		{"started in no project", "stdio", "home/empty", "CLAUDE_PROJECT_DIR", filepath.Join(project, "src"), "project"},
		{"started in a project", "stdio", "other", "CLAUDE_PROJECT_DIR", project, "other"},
		{"a person's command", "tasks", "home/empty", "CLAUDE_PROJECT_DIR", project, "home/empty"},
		{"several folders", "stdio", "home/empty", "WORKSPACE_FOLDER_PATHS", project + "," + top, "home/empty"},
		{"a relative folder", "stdio", "home/empty", "CLAUDE_PROJECT_DIR", "..", "home/empty"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Chdir(filepath.Join(top, tc.here))
			env := map[string]string{"HOME": filepath.Join(top, "home"), "USERPROFILE": filepath.Join(top, "home"), tc.variable: tc.value}
			r := &resolver{command: tc.command, env: func(name string) (string, bool) { value, ok := env[name]; return value, ok }}
			if root, err := r.findDefault(); err != nil || root != filepath.Join(top, tc.want) {
				t.Errorf("%s, %v", root, err)
			}
		})
	}
}

func TestFromHere(t *testing.T) {
	for _, tc := range [][3]string{
		{"", "a/b.go", "a/b.go"},
		{"a", "a/b.go", "b.go"},
		{"a/c", "b.go", "../../b.go"},
		{"a", "", ""},
	} {
		if got := fromHere(tc[0], tc[1]); got != tc[2] {
			t.Errorf("fromHere(%q, %q) = %q, want %q", tc[0], tc[1], got, tc[2])
		}
	}
}
