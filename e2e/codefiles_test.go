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

// git runs git in a workspace. It ignores configuration outside the workspace.
func (s *workspace) git(args ...string) string {
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

func (s *workspace) gitEnvironment() []string {
	return []string{"GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL=" + filepath.Join(s.root, ".git", "global"), "HOME=" + s.root, "XDG_CONFIG_HOME=" + s.root}
}

// gitFiles returns the files that git lists, without folders that are never searched and files that
// no tool may read.
func (s *workspace) gitFiles() []string {
	s.t.Helper()
	var want []string
	for name := range strings.SplitSeq(s.git("ls-files", "-z", "-co", "--exclude-standard"), "\x00") {
		steps := strings.Split(name, "/")
		hidden := func(step string) bool { return strings.HasPrefix(step, ".env") || step == ".npmrc" || step == ".remit" }
		if name == "" || slices.ContainsFunc(steps, hidden) {
			continue
		}
		if slices.ContainsFunc(steps[:len(steps)-1], func(step string) bool { return slices.Contains(excluded, step) }) {
			continue
		}
		// Git also lists deleted files that are still in its index.
		if _, err := os.Lstat(s.path(name)); err == nil {
			want = append(want, name)
		}
	}
	slices.Sort(want)
	return slices.Compact(want)
}

// remitFiles returns the files that "remit files" lists.
func (s *workspace) remitFiles() []string {
	s.t.Helper()
	cmd := exec.Command(remitBin, "files", "--null", "--root", s.root)
	cmd.Env = append(environment(), s.gitEnvironment()...)
	var unexpectedLog bytes.Buffer
	cmd.Stderr = &unexpectedLog
	out, err := cmd.Output()
	if err != nil {
		s.t.Fatalf("remit files: %v\n%s", err, &unexpectedLog)
	}
	names := strings.Split(strings.TrimSuffix(string(out), "\x00"), "\x00")
	slices.Sort(names)
	return names
}

func (s *workspace) sameFiles() {
	s.t.Helper()
	got, want := s.remitFiles(), s.gitFiles()
	for _, name := range got {
		if _, ok := slices.BinarySearch(want, name); !ok {
			s.t.Errorf("remit lists %q, git does not", name)
		}
	}
	for _, name := range want {
		if _, ok := slices.BinarySearch(got, name); !ok {
			s.t.Errorf("git lists %q, remit does not", name)
		}
	}
	s.t.Logf("%d files are the same", len(got))
}

// TestSameFilesAsGit compares "remit files" with git in a tree with every kind of ignore rule.
func TestSameFilesAsGit(t *testing.T) {
	t.Parallel()
	s := newWorkspace(t, map[string]string{
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

// TestSameFilesAsGitHere compares "remit files" with git in this repository.
func TestSameFilesAsGitHere(t *testing.T) {
	t.Parallel()
	root, err := filepath.Abs("..")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(root, ".git")); err != nil {
		skipOutsideCI(t, t.Name()+": this is not a git checkout")
	}
	s := &workspace{t: t, root: root}
	s.sameFiles()
}
