package e2e

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// git runs git in a workspace with no configuration but its own.
func (s *space) git(args ...string) string {
	s.t.Helper()
	cmd := exec.Command("git", args...)
	cmd.Dir = s.root
	cmd.Env = append(os.Environ(), s.gitEnvironment()...)
	out, err := cmd.Output()
	if err != nil {
		s.t.Fatalf("git %v: %v", args, err)
	}
	return string(out)
}

func (s *space) gitEnvironment() []string {
	return []string{"GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL=" + filepath.Join(s.root, ".git", "global"), "HOME=" + s.root, "XDG_CONFIG_HOME=" + s.root}
}

// listed is what git lists, without the folders that no search looks into and what nobody may read.
func (s *space) listed() []string {
	s.t.Helper()
	var want []string
	for name := range strings.SplitSeq(s.git("ls-files", "-z", "-co", "--exclude-standard"), "\x00") {
		steps := strings.Split(name, "/")
		hidden := func(step string) bool { return step == ".env" || strings.HasPrefix(step, ".env.") || step == ".remit" }
		if name == "" || slices.ContainsFunc(steps, hidden) {
			continue
		}
		if slices.ContainsFunc(steps[:len(steps)-1], func(step string) bool { return slices.Contains(excluded, step) }) {
			continue
		}
		if _, err := os.Lstat(s.path(name)); err == nil { // git also lists what was deleted and is still in its index
			want = append(want, name)
		}
	}
	slices.Sort(want)
	return slices.Compact(want)
}

// files is what remit lists.
func (s *space) files() []string {
	s.t.Helper()
	cmd := exec.Command(remitBin, "files", "--null", "--root", s.root)
	cmd.Env = append(environment(), s.gitEnvironment()...)
	var complaints bytes.Buffer
	cmd.Stderr = &complaints
	out, err := cmd.Output()
	if err != nil {
		s.t.Fatalf("remit files: %v\n%s", err, &complaints)
	}
	names := strings.Split(strings.TrimSuffix(string(out), "\x00"), "\x00")
	slices.Sort(names)
	return names
}

func (s *space) sameFiles() {
	s.t.Helper()
	got, want := s.files(), s.listed()
	for _, name := range got {
		if _, ok := slices.BinarySearch(want, name); !ok {
			s.t.Errorf("git does not list %q", name)
		}
	}
	for _, name := range want {
		if _, ok := slices.BinarySearch(got, name); !ok {
			s.t.Errorf("git lists %q", name)
		}
	}
	s.t.Logf("%d files are the same", len(got))
}

// TestSameFilesAsGit: in a tree with every kind of rule, remit lists what git lists.
func TestSameFilesAsGit(t *testing.T) {
	t.Parallel()
	s := newSpace(t, map[string]string{
		".gitignore": "*.log\n!keep.log\n/only-here\nfolder/\n**/deep/*.tmp\nsp\\ ace\ntrailing \n#comment\n\\#hash\n\\!bang\n[ab].x\n[!c].y\nfoo/**/bar\nx{1,2}\n*.Z\n!/folder/in\n",
		"a.log":      "", "keep.log": "", "sub/keep.log": "", "sub/b.log": "",
		"only-here": "", "sub/only-here": "",
		"folder/in": "", "sub/folder/in": "", "other/folder": "",
		"p/deep/q.tmp": "", "p/deep/r/q.tmp": "", "deep/q.tmp": "",
		"sp ace": "", "trailing": "", "#hash": "", "!bang": "", "#comment": "",
		"a.x": "", "c.x": "", "c.y": "", "d.y": "",
		"foo/bar": "", "foo/1/bar": "", "foo/1/2/bar": "", "foo/1/2/baz": "",
		"x1": "", "x{1,2}": "", "a.z": "", "a.Z": "",
		"nested/.gitignore": "*\n!.gitignore\n!kept/\n!kept/**\n", "nested/lost": "", "nested/kept/a": "", "nested/kept/b/c": "",
		"again/.gitignore": "!*.log\n", "again/c.log": "",
		"crlf/.gitignore": "win\r\nmac\n", "crlf/win": "", "crlf/mac": "",
		"bom/.gitignore": "\ufefffirst\nsecond\n", "bom/first": "", "bom/second": "",
		"global.ig": "", "excluded-here": "", "tracked/forced.log": "", "tracked/all/x": "",
		".github/workflows/a.yml": "", ".claude/memory/m.jsonl": "", ".hidden": "",
		"src/build/out": "", "build": "", "web/dist/a.js": "", "lib/node_modules/a.js": "", ".env": "", "sub/.env.local": "", ".envrc": "",
		"größe/日本.txt": "", "quo\"te": "", "new\nline": "", "back\\slash": "",
	})
	s.write("invalid-\xff-name", "")
	s.link("link", "keep.log")
	s.link("dangling", "nowhere")
	s.link("loop", ".")
	s.git("init", "-q")
	s.write(".git/global", "[core]\n\texcludesFile = "+s.path(".git/excludes")+"\n")
	s.write(".git/excludes", "global.*\n")
	s.write(".git/info/exclude", "excluded-here\n")
	s.git("add", "-f", "tracked/forced.log")
	s.write("tracked/.gitignore", "all/\n")
	s.git("add", "-f", "tracked/all/x")
	s.sameFiles()
	s.git("add", "-A")
	s.sameFiles()
	s.git("update-index", "--index-version", "4")
	s.sameFiles()
}

// TestSameFilesAsGitHere: remit lists what git lists of this very repository.
func TestSameFilesAsGitHere(t *testing.T) {
	t.Parallel()
	root, err := filepath.Abs("..")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(root, ".git")); err != nil {
		leaveOut(t, t.Name()+": this is no checkout of git")
	}
	s := &space{t: t, root: root}
	s.sameFiles()
}
