package ignore

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// A Repository is what git knows of a folder, the root: the rules that come from outside of it, and the files that are tracked
// in it. It does not change; Stale tells when it is out of date. It is safe for concurrent use. One that is zero knows nothing, and is
// always stale.
type Repository struct {
	top     string
	fold    bool
	rules   *Rules
	sources [][]byte // what the rules were made from
	tracked *Tracked
	seen    *seen
}

// Open reads what git knows of the folder root. If that is in no repository, or git ignores it as a whole, the rules are those of
// core.excludesFile alone. What cannot be read counts as not there; an error says that root itself is no folder.
//
// env is os.LookupEnv, or a test's. Of git's variables those that say where its configuration is are heeded, but none that
// says where the repository is, such as GIT_DIR.
func Open(root string, env func(string) (string, bool)) (*Repository, error) {
	root, err := filepath.Abs(root)
	if err != nil {
		return nil, fmt.Errorf("find repository: %w", err)
	}
	if root, err = filepath.EvalSymlinks(root); err != nil {
		return nil, fmt.Errorf("find repository: %w", err)
	}
	if info, err := os.Stat(root); err != nil || !info.IsDir() {
		return nil, fmt.Errorf("find repository: %s is no folder", root)
	}
	r := &Repository{seen: newSeen()}
	place := locate(root, r.seen)
	c := r.configuration(place, env)
	r.top, r.fold = place.top, c.yes("core.ignorecase")
	path := pathTo(place.top, root)
	r.rules = &Rules{fold: r.fold}
	for _, l := range r.layers(place, path, r.seen.read(c.excludesFile(place.top, env))) {
		r.rules = r.rules.with(Rules{above: path[len(l.folder):]}, l.content)
		r.sources = append(r.sources, l.content)
	}
	if place.top != "" {
		r.tracked = r.readTracked(place, path, c)
	}
	return r, nil
}

// Top is the folder that holds the repository's working tree, "" if the root is in none. No part of it is a symbolic link.
func (r *Repository) Top() string { return r.top }

// Rules are those that hold in the root before its own .gitignore is looked at: enter it with Enter("", content).
func (r *Repository) Rules() *Rules { return r.rules }

// Tracked are the files that the index has, by their paths from the root.
func (r *Repository) Tracked() *Tracked { return r.tracked }

// Stale tells whether a file that r was made from (configuration, excludes, index, .gitignore files above the root) has come, gone
// or changed. It costs a few lstat.
func (r *Repository) Stale() bool { return r.seen.stale() }

// Same tells whether two ignore and track the same. Git writes its index often, and mostly nothing of interest has changed.
func (r *Repository) Same(other *Repository) bool {
	return r.top == other.top && r.fold == other.fold && slices.EqualFunc(r.sources, other.sources, bytes.Equal) && r.tracked.same(other.tracked)
}

// A layer is a file of rules, and the path of its folder from the top, with / at its end if it is not "".
type layer struct {
	content []byte
	folder  string
}

// layers are the files that have rules for a root, by its path from the top, from the weakest to the strongest: for all
// repositories, for this one, and those of the folders from its top down to the root. If one of them ignores a folder that the
// root is in, git would list nothing. Whoever asks for the root nevertheless wants to see it: then only the first of them counts.
func (r *Repository) layers(place place, root string, everywhere []byte) []layer {
	all := []layer{{content: everywhere}}
	if place.top == "" {
		return all
	}
	all = append(all, layer{content: r.seen.read(filepath.Join(place.common, "info", "exclude"))})
	rules := (&Rules{fold: r.fold}).Enter("", everywhere).Enter("", all[1].content)
	for folder := ""; folder != root; {
		content := r.seen.readHere(filepath.Join(place.top, filepath.FromSlash(folder), ".gitignore"))
		all = append(all, layer{content, folder})
		rules = rules.Enter(strings.TrimSuffix(folder, "/"), content)
		next, _, _ := strings.Cut(root[len(folder):], "/")
		if folder += next + "/"; rules.Ignores(strings.TrimSuffix(folder, "/"), true) {
			return all[:1]
		}
	}
	return all
}

// pathTo is the path from a folder to one beneath, with / at its end, "" if they are the same or there is none.
func pathTo(top, folder string) string {
	path, err := filepath.Rel(top, folder)
	if top == "" || err != nil || path == "." {
		return ""
	}
	return filepath.ToSlash(path) + "/"
}

// readTracked reads the index: what is in it beneath the root, by its path from the top.
func (r *Repository) readTracked(place place, root string, c *config) *Tracked {
	id := 20
	if strings.EqualFold(c.values["extensions.objectformat"], "sha256") {
		id = 32
	}
	read := func(name string) []byte { return r.seen.readIndex(filepath.Join(place.git, name)) }
	return readIndex(read("index"), id, root, r.fold, read)
}
