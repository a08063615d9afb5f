package ignore

import (
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"
)

// open calls Open with the environment of a home folder.
func open(t testing.TB, root, home string) *Repository {
	t.Helper()
	r, err := Open(root, lookup(gitEnv(home)))
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestNoRepository(t *testing.T) {
	home, dir := realDir(t), realDir(t)
	write(t, filepath.Join(home, "xdg/git/ignore"), "*.log\n")
	r := open(t, dir, home)
	if r.Top() != "" || r.Tracked().Has("a") || r.Tracked().Beneath("") || r.Tracked().Len() != 0 {
		t.Errorf("a repository at %q", r.Top())
	}
	if rules := r.Rules().Enter("", []byte("/a\n")); !rules.Ignores("a", false) || !rules.Ignores("b.log", false) || rules.Ignores("b", false) {
		t.Error("rules do not apply without a repository")
	}
	if _, err := Open(filepath.Join(dir, "none"), lookup(nil)); err == nil {
		t.Error("a missing folder was opened")
	}
	write(t, filepath.Join(dir, "file"), "")
	if _, err := Open(filepath.Join(dir, "file"), lookup(nil)); err == nil {
		t.Error("a file was opened")
	}
}

func TestNilRules(t *testing.T) {
	var none *Rules
	if zero := new(Repository); !zero.Stale() || zero.Rules() != nil || zero.Tracked().Has("a") || zero.Top() != "" {
		t.Error("the zero Repository is not empty")
	}
	if none.Ignores("a", false) || none.Enter("", nil) != nil || !none.Enter("a", []byte("/b")).Ignores("a/b", false) {
		t.Error("nil rules ignore something")
	}
}

// TestFolders checks that rules of folders above apply in the root, relative to their own folders.
func TestFolders(t *testing.T) {
	home, top := realDir(t), realDir(t)
	newGit(t, top, "")
	write(t, filepath.Join(top, ".git/info/exclude"), "/in/*/x*\n/in/side/y\n/y\n")
	write(t, filepath.Join(top, ".gitignore"), "/in/side/a\nside/b\nc\n/d\n**/e/f\nin/side/g*\nh*\n")
	write(t, filepath.Join(top, "in/.gitignore"), "/side/i\n!/side/a\n/j\n*.k\nside/?l\n")
	for _, name := range []string{"a", "b", "c", "d", "e/f", "g1", "h1", "i", "j", "o.k", "ml", "x1", "y", "z"} {
		write(t, filepath.Join(top, "in/side", name), "")
	}
	needGit(t)
	compareListing(t, home, filepath.Join(top, "in/side"))
	if got, want := listing(t, filepath.Join(top, "in/side"), gitEnv(home)), []string{"a", "b", "d", "j", "z"}; !slices.Equal(got, want) {
		t.Errorf("%q are listed, want %q", got, want)
	}
}

// TestIgnoredRoot checks that an ignored root is listed, although git would list nothing in it.
func TestIgnoredRoot(t *testing.T) {
	home, top := realDir(t), realDir(t)
	newGit(t, top, "")
	write(t, filepath.Join(home, "xdg/git/ignore"), "*.log\n")
	write(t, filepath.Join(top, ".gitignore"), "/scratch/*\na\n")
	write(t, filepath.Join(top, "scratch/x/.gitignore"), "b\n")
	for _, name := range []string{"a", "b", "c", "d.log"} {
		write(t, filepath.Join(top, "scratch/x", name), "")
	}
	if got := listing(t, filepath.Join(top, "scratch/x"), gitEnv(home)); !slices.Equal(got, []string{".gitignore", "a", "c"}) {
		t.Errorf("%q are listed", got)
	}
}

// TestWorktreesAndSubmodules checks that a .git file that points elsewhere is followed.
func TestWorktreesAndSubmodules(t *testing.T) {
	needGit(t)
	home, dir := realDir(t), realDir(t)
	main, tree := filepath.Join(dir, "main"), filepath.Join(dir, "tree")
	write(t, filepath.Join(home, "config"), "[user]\nname=x\nemail=x@example.org\n[protocol \"file\"]\nallow=always\n[core]\nexcludesFile=\n")
	write(t, filepath.Join(home, "xdg/git/ignore"), "*.txt\n") // not the one that is configured
	write(t, filepath.Join(main, "kept.log"), "")
	git(t, home, main, nil, "init", "-q")
	write(t, filepath.Join(main, ".git/info/exclude"), "*.log\n")
	git(t, home, main, nil, "add", "-f", "kept.log")
	git(t, home, main, nil, "commit", "-q", "-m", "x")
	git(t, home, main, nil, "worktree", "add", "-q", tree)
	git(t, home, main, nil, "submodule", "--quiet", "add", main, "module")
	for _, root := range []string{tree, filepath.Join(main, "module")} {
		write(t, filepath.Join(root, "other.log"), "")
		write(t, filepath.Join(root, "a.txt"), "")
		compareListing(t, home, root)
		if r := open(t, root, home); r.Top() != root || !r.Tracked().Has("kept.log") {
			t.Errorf("the top of %s is %s", root, r.Top())
		}
	}
	if open(t, main, home).Tracked().Has("module") {
		t.Error("a submodule is tracked as a file")
	}
	if open(t, tree, home).Rules().Ignores("a.log", false) != true {
		t.Error("the shared rules of working trees do not apply")
	}
}

// TestInvalidDotGit checks that a .git that is not a repository is ignored.
func TestInvalidDotGit(t *testing.T) {
	home, top := realDir(t), realDir(t)
	newGit(t, top, "")
	for folder, content := range map[string]string{"a/.git": "nothing", "b/.git": "gitdir: nowhere\n", "c/.git/x": "", "d/.git": "gitdir: ../.git\n"} {
		write(t, filepath.Join(top, folder), content)
	}
	for folder, want := range map[string]string{"a": top, "b": top, "c": top, "d": filepath.Join(top, "d")} {
		if r := open(t, filepath.Join(top, folder), home); r.Top() != want {
			t.Errorf("the top of %s is %s", folder, r.Top())
		}
	}
}

// TestLinkedRules checks that a symbolic link named .gitignore is not followed, but links to other
// files are.
func TestLinkedRules(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("creating links needs a privilege")
	}
	home, top := realDir(t), realDir(t)
	newGit(t, top, "")
	write(t, filepath.Join(top, "rules"), "a\n")
	write(t, filepath.Join(top, "in/a"), "")
	for _, link := range []string{".gitignore", ".git/info/exclude"} {
		_ = os.MkdirAll(filepath.Dir(filepath.Join(top, link)), 0o755)
		if err := os.Symlink(filepath.Join(top, "rules"), filepath.Join(top, link)); err != nil {
			t.Fatal(err)
		}
		needGit(t)
		compareListing(t, home, filepath.Join(top, "in"))
		if got := open(t, filepath.Join(top, "in"), home).Rules().Ignores("a", false); got != (link != ".gitignore") {
			t.Errorf("rules behind %s apply: %v", link, got)
		}
	}
}

// TestStale checks that every change is detected, also if it is immediate and keeps the size.
func TestStale(t *testing.T) {
	home, top := realDir(t), realDir(t)
	newGit(t, top, "")
	write(t, filepath.Join(top, ".gitignore"), "a\n")
	root := filepath.Join(top, "in")
	if err := os.Mkdir(root, 0o755); err != nil {
		t.Fatal(err)
	}
	r := open(t, root, home)
	for i, step := range []struct {
		path, content string
		same          bool
	}{
		{filepath.Join(top, ".gitignore"), "b\n", false},
		{filepath.Join(top, ".git/info/exclude"), "a\n", false},
		{filepath.Join(top, ".git/info/exclude"), "b\n", false},
		{filepath.Join(home, "config"), "[core]\nexcludesFile=~/x\n", true},
		{filepath.Join(home, "x"), "c\n", false},
		{filepath.Join(home, "x"), "d\n", false},
		{filepath.Join(home, "config"), "[include]\npath=y\n", false},
		{filepath.Join(home, "y"), "[core]\nignoreCase=yes\n", false},
		{filepath.Join(top, ".git/index"), "nothing", true},
		{filepath.Join(root, ".git"), "gitdir: ../.git", false},
	} {
		if r.Stale() {
			t.Errorf("%d: stale before", i)
		}
		write(t, step.path, step.content)
		if !r.Stale() {
			t.Errorf("%d: %s changed, not detected", i, step.path)
		}
		after := open(t, root, home)
		if after.Same(r) != step.same {
			t.Errorf("%d: the same is %v", i, after.Same(r))
		}
		r = after
	}
	if err := os.Remove(filepath.Join(home, "config")); err != nil || !r.Stale() {
		t.Errorf("a removed file was not detected (%v)", err)
	}
}

// TestRacy checks that a file with unchanged times and size is read again while its state is racy,
// and not afterwards.
func TestRacy(t *testing.T) {
	path := filepath.Join(realDir(t), "x")
	changed := time.Now()
	for _, elapsed := range []time.Duration{-time.Hour, 0, time.Second} {
		write(t, path, "a")
		s := newSnapshot()
		s.now = func() time.Time { return changed.Add(elapsed) }
		s.read(path)
		g := &s.files[0]
		if !g.isRacy() || s.stale() {
			t.Errorf("%v later it is racy: %v", elapsed, g.isRacy())
		}
		g.content++
		if !s.stale() {
			t.Error("its content is not compared")
		}
		g.content--
		s.now = func() time.Time { return time.Now().Add(time.Hour) }
		if s.stale() || g.isRacy() {
			t.Error("it stays racy for ever")
		}
		g.content++
		if s.stale() {
			t.Error("it is read although it is not racy")
		}
	}
}

// TestSame checks that repositories that track different files are not the same.
func TestSame(t *testing.T) {
	needGit(t)
	home, top := realDir(t), realDir(t)
	git(t, home, top, nil, "init", "-q")
	write(t, filepath.Join(top, "a"), "")
	write(t, filepath.Join(top, "b"), "")
	none := open(t, top, home)
	git(t, home, top, nil, "add", "a")
	one := open(t, top, home)
	write(t, filepath.Join(top, "a"), "more")
	git(t, home, top, nil, "add", "a")
	again := open(t, top, home)
	git(t, home, top, nil, "add", "b")
	two := open(t, top, home)
	if none.Same(one) || !one.Same(again) || one.Same(two) || !two.Same(two) || !one.Stale() {
		t.Errorf("same: %v %v %v", none.Same(one), one.Same(again), one.Same(two))
	}
}

// TestFilesOfAnotherKind checks that reading does not block on files that are not regular.
func TestFilesOfAnotherKind(t *testing.T) {
	home, top := realDir(t), realDir(t)
	newGit(t, top, "\texcludesFile = "+filepath.ToSlash(os.DevNull)+"\n")
	for _, path := range []string{".git/index/x", ".git/info/exclude/x", ".gitignore/x", "in/x"} {
		write(t, filepath.Join(top, path), "")
	}
	r := open(t, filepath.Join(top, "in"), home)
	if r.Rules().Ignores("x", false) || r.Tracked().Len() > 0 || r.Stale() {
		t.Error("folders were read as files")
	}
}

func TestEnvironment(t *testing.T) {
	home := realDir(t)
	write(t, filepath.Join(home, "system"), "[core]\nexcludesFile = ~/a\nignoreCase = true\n")
	write(t, filepath.Join(home, ".gitconfig"), "[core]\nexcludesFile = ~/b\n")
	write(t, filepath.Join(home, ".config/git/config"), "[core]\nexcludesFile = ~/c\nignoreCase = false\n")
	for _, name := range []string{"a", "b", "c", "xdg/git/ignore", ".config/git/ignore"} {
		write(t, filepath.Join(home, name), strings.ReplaceAll(name, "/", "-"))
	}
	for want, env := range map[string][]string{
		"b":                  {"GIT_CONFIG_SYSTEM=" + filepath.Join(home, "system"), "HOME=" + home},
		"a":                  {"GIT_CONFIG_SYSTEM=" + filepath.Join(home, "system"), "GIT_CONFIG_GLOBAL=", "HOME=" + home},
		".config-git-ignore": {"GIT_CONFIG_NOSYSTEM=yes", "GIT_CONFIG_SYSTEM=" + filepath.Join(home, "system"), "GIT_CONFIG_GLOBAL=", "HOME=" + home},
		"xdg-git-ignore":     {"GIT_CONFIG_NOSYSTEM=1", "XDG_CONFIG_HOME=" + filepath.Join(home, "xdg"), "GIT_CONFIG_GLOBAL=" + filepath.Join(home, "none"), "HOME=" + home},
		"none":               {"GIT_CONFIG_NOSYSTEM=1"},
	} {
		r, err := Open(realDir(t), lookup(env))
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range []string{"a", "b", "xdg-git-ignore", ".config-git-ignore"} {
			if got := r.Rules().Ignores(name, false); got != (name == want) {
				t.Errorf("%q: the rules of %s apply: %v", env, name, got)
			}
		}
		if upper := r.Rules().Ignores(strings.ToUpper(want), false); upper != (want == "a") {
			t.Errorf("%q: case is ignored: %v", env, upper)
		}
	}
}
