package ignore

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// A Repository holds what git's files say about a folder, the root: the rules from outside of it,
// and the files that are tracked in it. It is immutable and safe for concurrent use; Stale reports
// when it is out of date. The zero Repository has no rules and no tracked files, and is always
// stale.
type Repository struct {
	top      string
	fold     bool
	rules    *Rules
	sources  [][]byte // contents of the files that the rules come from
	tracked  *Tracked
	snapshot *snapshot
}

// Open reads git's rules and index for the folder root. If root is in no repository, or git ignores
// it as a whole, the rules are those of core.excludesFile alone. Files that cannot be read count as
// missing. Open returns an error only if root is not a folder.
//
// env looks up environment variables; pass os.LookupEnv. Open uses git's variables for the location
// of configuration files, but none for the location of the repository, such as GIT_DIR.
func Open(root string, env func(string) (string, bool)) (*Repository, error) {
	root, err := filepath.Abs(root)
	if err != nil {
		return nil, fmt.Errorf("find repository: %w", err)
	}
	if root, err = filepath.EvalSymlinks(root); err != nil {
		return nil, fmt.Errorf("find repository: %w", err)
	}
	if info, err := os.Stat(root); err != nil || !info.IsDir() {
		return nil, fmt.Errorf("find repository: %s is not a folder", root)
	}
	r := &Repository{snapshot: newSnapshot()}
	location := locate(root, r.snapshot)
	c := r.configuration(location, env)
	r.top, r.fold = location.top, c.isTrue("core.ignorecase")
	path := pathTo(location.top, root)
	r.rules = &Rules{fold: r.fold}
	for _, l := range r.layers(location, path, r.snapshot.read(c.excludesFile(location.top, env))) {
		r.rules = r.rules.with(Rules{above: path[len(l.folder):]}, l.content)
		r.sources = append(r.sources, l.content)
	}
	if location.top != "" {
		r.tracked = r.readTracked(location, path, c)
	}
	return r, nil
}

// Top returns the top folder of the repository's working tree, or "" if the root is in none. Its
// path contains no symbolic links.
func (r *Repository) Top() string { return r.top }

// Rules returns the rules that apply in the root before its own .gitignore: add that with Enter("",
// content).
func (r *Repository) Rules() *Rules { return r.rules }

// Tracked returns the files in the index, by their paths from the root.
func (r *Repository) Tracked() *Tracked { return r.tracked }

// Stale reports whether a file that r was read from (configuration, excludes, index, .gitignore
// files above the root) was added, removed or changed. It costs a few lstat calls.
func (r *Repository) Stale() bool { return r.snapshot.stale() }

// Same reports whether both repositories ignore and track the same files. Git often rewrites its
// index without a change that matters here.
func (r *Repository) Same(other *Repository) bool {
	return r.top == other.top && r.fold == other.fold && slices.EqualFunc(r.sources, other.sources, bytes.Equal) && r.tracked.same(other.tracked)
}

// A layer is the content of a file of rules, and the path of its folder from the top, with / at its
// end unless it is "".
type layer struct {
	content []byte
	folder  string
}

// layers returns the files with rules for the root, from the weakest to the strongest: for all
// repositories, for this one, and for the folders from its top down to the root. root is its path
// from the top. If one of them ignores a folder that contains the root, git would list nothing. The
// caller asked for the root nevertheless, so layers then returns only the first.
func (r *Repository) layers(location location, root string, everywhere []byte) []layer {
	all := []layer{{content: everywhere}}
	if location.top == "" {
		return all
	}
	all = append(all, layer{content: r.snapshot.read(filepath.Join(location.common, "info", "exclude"))})
	rules := (&Rules{fold: r.fold}).Enter("", everywhere).Enter("", all[1].content)
	for folder := ""; folder != root; {
		content := r.snapshot.readNoFollow(filepath.Join(location.top, filepath.FromSlash(folder), ".gitignore"))
		all = append(all, layer{content, folder})
		rules = rules.Enter(strings.TrimSuffix(folder, "/"), content)
		next, _, _ := strings.Cut(root[len(folder):], "/")
		if folder += next + "/"; rules.Ignores(strings.TrimSuffix(folder, "/"), true) {
			return all[:1]
		}
	}
	return all
}

// pathTo returns the path from a folder to one below, with / at its end. It returns "" if they are
// the same or there is no such path.
func pathTo(top, folder string) string {
	path, err := filepath.Rel(top, folder)
	if top == "" || err != nil || path == "." {
		return ""
	}
	return filepath.ToSlash(path) + "/"
}

// readTracked reads the index entries below the root, given by its path from the top.
func (r *Repository) readTracked(location location, root string, c *config) *Tracked {
	id := 20
	if strings.EqualFold(c.values["extensions.objectformat"], "sha256") {
		id = 32
	}
	read := func(name string) []byte { return r.snapshot.readIndex(filepath.Join(location.git, name)) }
	return readIndex(read("index"), id, root, r.fold, read)
}
