package ignore

import (
	"bytes"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
)

// listing returns the files that a walk with the results of Open lists.
func listing(t testing.TB, root string, environment []string) []string {
	t.Helper()
	repository, err := Open(root, lookup(environment))
	if err != nil {
		t.Fatal(err)
	}
	w := walker{t: t, root: root, tracked: repository.Tracked()}
	w.walk("", repository.Rules(), false)
	slices.Sort(w.found)
	return w.found
}

type walker struct {
	t       testing.TB
	root    string
	tracked *Tracked
	found   []string
}

// walk lists a folder. In an ignored one it lists tracked files only.
func (w *walker) walk(folder string, rules *Rules, ignored bool) {
	if !ignored {
		rules = rules.Enter(folder, gitignore(w.t, filepath.Join(w.root, folder, ".gitignore")))
	}
	entries, err := os.ReadDir(filepath.Join(w.root, folder))
	if err != nil {
		w.t.Fatal(err)
	}
	for _, e := range entries {
		path := strings.TrimPrefix(folder+"/"+e.Name(), "/")
		ignored := ignored || rules.Ignores(path, e.IsDir())
		switch {
		case e.Name() == ".git":
		case e.IsDir() && (!ignored || w.tracked.Beneath(path)):
			w.walk(path, rules, ignored)
		case !e.IsDir() && (!ignored || w.tracked.Has(path)):
			w.found = append(w.found, path)
		}
	}
}

func gitignore(t testing.TB, path string) []byte {
	info, err := os.Lstat(path)
	if err != nil || !info.Mode().IsRegular() {
		return nil
	}
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return content
}

// gitListing returns the files that git lists in a folder.
func gitListing(t testing.TB, home, root string) []string {
	t.Helper()
	out := git(t, home, root, nil, "-c", "core.quotePath=false", "ls-files", "-z", "-co", "--exclude-standard")
	all := strings.FieldsFunc(string(out), func(r rune) bool { return r == 0 })
	slices.Sort(all)
	return slices.Compact(all)
}

func compareListing(t testing.TB, home, root string) (listed int) {
	t.Helper()
	ours, theirs := listing(t, root, gitEnv(home)), gitListing(t, home, root)
	for _, path := range ours {
		if _, ok := slices.BinarySearch(theirs, path); !ok {
			t.Errorf("git ignores %q", path)
		}
	}
	for _, path := range theirs {
		if _, ok := slices.BinarySearch(ours, path); !ok {
			t.Errorf("git lists %q", path)
		}
	}
	return len(ours)
}

// hardTree creates trees that are hard to list.
type hardTree struct {
	t      *testing.T
	random *rand.Rand
	files  []string
	home   string
	top    string
}

// rules returns a file of rules: some random ones, and some that match existing files.
func (n *hardTree) rules() string {
	ends := []string{"\n", "\n", "\n", "\r\n", " \n", "\n\n"}
	var b strings.Builder
	if n.random.IntN(10) == 0 {
		b.WriteString("\xef\xbb\xbf")
	}
	for range n.random.IntN(6) {
		if n.random.IntN(4) == 0 {
			b.WriteString("!")
		}
		if n.random.IntN(3) == 0 {
			b.WriteString(randomParts(n.random, ruleParts, 5))
		} else {
			b.WriteString([]string{"", "/", "**/", "*"}[n.random.IntN(4)] + pathOf(n.random) + []string{"", "/", "*", "/**", "/*"}[n.random.IntN(5)])
		}
		b.WriteString(ends[n.random.IntN(len(ends))])
	}
	return b.String()
}

func (n *hardTree) write(path string) {
	full := filepath.Join(n.top, path)
	if err := os.MkdirAll(filepath.Dir(full), 0o755); err != nil {
		return // one of the folders is a file already
	}
	if os.WriteFile(full, []byte(path), 0o644) == nil {
		n.files = append(n.files, path)
	}
}

func (n *hardTree) make(config string) {
	newGit(n.t, n.top, config)
	write(n.t, filepath.Join(n.home, "config"), "[core]\n\texcludesFile = \"~/global ignore\" ; of all\n")
	write(n.t, filepath.Join(n.home, "global ignore"), n.rules())
	write(n.t, filepath.Join(n.top, ".git/info/exclude"), n.rules())
	folders := []string{""}
	for range 10 + n.random.IntN(30) {
		path := pathOf(n.random)
		n.write(path)
		folders = append(folders, filepath.Dir(path))
	}
	for range 4 { // links come last, so that nothing is written through them
		path := pathOf(n.random)
		folder, err := filepath.EvalSymlinks(filepath.Join(n.top, filepath.Dir(path)))
		if err != nil || strings.HasPrefix(folder, n.home) {
			continue
		}
		if runtime.GOOS != "windows" && os.Symlink(n.home, filepath.Join(n.top, path)) == nil {
			n.files = append(n.files, path)
		}
	}
	for range n.random.IntN(5) {
		path := filepath.Join(n.top, folders[n.random.IntN(len(folders))], ".gitignore")
		_ = os.WriteFile(path, []byte(n.rules()), 0o644) // fails if there is a folder of that name
	}
}

// track makes git track some of the files, whatever the rules.
func (n *hardTree) track() {
	var chosen bytes.Buffer
	for _, path := range n.files {
		if n.random.IntN(3) == 0 {
			chosen.WriteString(":(literal)" + path + "\x00")
		}
	}
	if chosen.Len() > 0 {
		version := []string{"2", "3", "4"}[n.random.IntN(3)]
		git(n.t, n.home, n.top, chosen.Bytes(), "-c", "index.version="+version, "add", "-f", "--pathspec-from-file=-", "--pathspec-file-nul")
	}
}

// realDir returns a temporary folder with no symbolic link in its path.
func realDir(t testing.TB) string {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

// TestAgainstLsFiles compares listings of hard trees with git's, from their top and from a folder.
func TestAgainstLsFiles(t *testing.T) {
	needGit(t)
	count := 40
	if os.Getenv("REMIT_FULL") == "true" {
		count = 1500
	}
	for i := range count {
		n := hardTree{t: t, random: rand.New(rand.NewPCG(5, uint64(i))), home: realDir(t), top: realDir(t)}
		if i%2 == 0 {
			n.make("\tignorecase = false\n")
			n.track()
		} else {
			// Tracks nothing: on this file system git would confuse files whose names differ in
			// case.
			n.make([]string{"\tignorecase = true\n", "\tignorecase\n"}[i/2%2])
		}
		compareListing(t, n.home, n.top)
		if t.Failed() {
			t.Fatalf("tree %d", i)
		}
	}
}

// TestOwnCheckout lists the repository that contains this package, from its top and from a folder.
func TestOwnCheckout(t *testing.T) {
	needGit(t)
	home := realDir(t)
	noFollow, err := Open(".", lookup(gitEnv(home)))
	if err != nil || noFollow.Top() == "" {
		t.Skipf("this is no checkout (%v)", err)
	}
	for _, root := range []string{noFollow.Top(), filepath.Join(noFollow.Top(), "internal", "search")} {
		for try := 0; ; try++ { // others may be writing
			before, theirs, after := listing(t, root, gitEnv(home)), gitListing(t, home, root), listing(t, root, gitEnv(home))
			theirs = slices.DeleteFunc(theirs, func(path string) bool { _, err := os.Lstat(filepath.Join(root, path)); return err != nil })
			if slices.Equal(before, theirs) || slices.Equal(after, theirs) {
				break
			}
			if slices.Equal(before, after) || try == 10 {
				compareListing(t, home, root)
				break
			}
		}
	}
}

// TestGoRoot lists the sources of Go, some of which are ignored but tracked.
func TestGoRoot(t *testing.T) {
	if os.Getenv("REMIT_FULL") != "true" {
		t.Skip("takes long: set REMIT_FULL=true")
	}
	home, top := realDir(t), realDir(t)
	if err := os.CopyFS(top, os.DirFS(runtime.GOROOT())); err != nil { //nolint:staticcheck // the sources that this was built with
		t.Fatal(err)
	}
	git(t, home, top, nil, "init", "-q")
	write(t, filepath.Join(top, ".gitignore"), "*.s\n!/src/runtime/**\n/src/cmd/*/internal/\n/pkg\ntestdata/\n")
	git(t, home, filepath.Join(top, "src"), nil, "add", "-f", "go", "cmd/go")
	for _, root := range []string{"", "src", "src/cmd/compile", "src/runtime"} {
		if compareListing(t, home, filepath.Join(top, root)) == 0 {
			t.Errorf("nothing is listed in %q", root)
		}
	}
}
