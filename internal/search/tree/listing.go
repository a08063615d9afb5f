package tree

import (
	"hash/maphash"
	"slices"
	"strings"

	"remit/internal/search/ignore"
)

const (
	git       = ".git"
	gitignore = ".gitignore"
)

// listing holds the entries of a folder, before and after filtering. Its memory is reused for the
// next folder.
type listing struct {
	dirents []byte
	raw     []rawEntry
	text    []byte // the paths of raw, concatenated
	git     bool   // there is a .git
	rules   bool   // there is a .gitignore
	files   []entry
	folders []entry
}

type rawEntry struct {
	end  int
	kind kind
}

// entry is a name to list.
type entry struct {
	path    string
	kind    kind
	tracked bool // an ignored folder with tracked files
}

// list lists a folder and applies the changes. It returns do, extended by the tasks that follow.
func (w *worker) list(f *folder, h handle, do todo) (todo, error) {
	if err := w.readNames(h); err != nil {
		return do, err
	}
	changed, err := w.loadRules(f, h, do)
	if err != nil {
		return do, err
	}
	if changed {
		do |= deep
	}
	w.filter(f, h)
	w.mergeFiles(f)
	w.mergeFolders(f)
	return do, nil
}

// readNames reads the names in a folder, except those that are never listed.
func (w *worker) readNames(h handle) error {
	if w.dirents == nil {
		w.dirents = make([]byte, 64<<10)
	}
	w.raw, w.text, w.git, w.rules = w.raw[:0], w.text[:0], false, false
	return h.entries(w.dirents, func(name []byte, kind kind) {
		switch {
		case string(name) == git:
			w.git = true
			return
		case string(name) == gitignore:
			w.rules = true
		case kind == irregular, kind == directory && excludedFolder(name), excluded(name):
			return
		}
		w.text = append(append(w.text, w.path...), name...)
		w.raw = append(w.raw, rawEntry{len(w.text), kind})
	})
}

// excludedFolder reports whether folders of that name are never listed.
func excludedFolder(name []byte) bool {
	switch string(name) {
	case "node_modules", ".git", "dist", "build", ".next", ".context":
		return true
	}
	return false
}

// excluded reports whether entries of that name are never listed, because they hold secrets.
func excluded(name []byte) bool {
	return len(name) >= 4 && string(name[:4]) == ".env" && (len(name) == 4 || name[4] == '.')
}

// loadRules determines the rules that apply in the folder, and reports whether they may have
// changed.
func (w *worker) loadRules(f *folder, h handle, do todo) (changed bool, err error) {
	changed = do&deep != 0
	if f.repo == nil || w.git != f.git {
		f.git, changed = w.git, true
		if err := w.openRepository(f); err != nil && f.parent == nil {
			return false, err
		}
	}
	var above *ignore.Rules
	if f.repo != nil && f.repo.at == f {
		above = f.repo.Rules()
	} else {
		f.repo, above = f.parent.repo, f.parent.rules
	}
	content := w.readRules(f, h)
	if sum := maphash.Bytes(w.t.seed, content); sum != f.sum {
		f.sum, changed = sum, true
	}
	if changed {
		f.rules = above.Enter(strings.TrimSuffix(string(w.path[f.repo.start:]), "/"), content)
	}
	return changed, nil
}

// openRepository opens the repository whose top is the folder, if there is one. The root always has
// one, because git has rules for files outside of repositories too.
func (w *worker) openRepository(f *folder) error {
	f.repo = nil
	if !f.git && f.parent != nil {
		return nil
	}
	repo, err := ignore.Open(w.t.hostPath(f), w.t.o.Env)
	if err != nil {
		return err
	}
	found := &repository{Repository: repo, at: f, start: len(w.path)}
	found.candidate = f.parent != nil && !isTop(repo, w.t.hostPath(f))
	if !found.candidate {
		f.repo = found
	}
	w.mu.Lock()
	w.t.repos = append(w.t.repos, found)
	w.mu.Unlock()
	return nil
}

// isTop reports whether the folder is the top of the repository. A name .git alone does not make a
// repository.
func isTop(repo *ignore.Repository, folder string) bool {
	if repo.Top() == "" {
		return false
	}
	top, err := identify(repo.Top())
	if err != nil {
		return false
	}
	here, err := identify(folder)
	return err == nil && top == here
}

// maxRules is the maximum size read of a .gitignore.
const maxRules = 16 << 20

// readRules reads the folder's .gitignore. Like git, it does not follow a link of that name.
func (w *worker) readRules(f *folder, h handle) []byte {
	f.ignore = 0
	if !w.rules {
		return nil
	}
	now := w.t.now()
	file, err := h.openFile(gitignore)
	if err != nil {
		return nil
	}
	defer file.close()
	st, err := file.stat()
	if err != nil || st.kind != regular {
		return nil
	}
	f.ignore = st.stamp(now, w.t.tick())
	data := make([]byte, min(st.size, maxRules))
	n, err := fill(file, data)
	if err != nil {
		w.t.o.Log.Debug("cannot read ignore rules", "path", string(w.path), "err", err)
	}
	return data[:n]
}

// filter selects the entries to list.
func (w *worker) filter(f *folder, h handle) {
	w.files, w.folders = w.files[:0], w.folders[:0]
	paths, from, start := string(w.text), 0, len(w.path)
	for _, raw := range w.raw {
		path := paths[from:raw.end]
		from = raw.end
		e := entry{path: path, kind: raw.kind}
		if raw.kind == unknown {
			e.kind = w.kindOf(h, path[start:])
		}
		switch e.kind {
		case directory:
			if w.listsFolder(f, &e) {
				w.folders = append(w.folders, e)
			}
		case regular, symlink:
			if w.listsFile(f, path) {
				w.files = append(w.files, e)
			}
		}
	}
	byName := func(a, b entry) int { return strings.Compare(a.path[start:], b.path[start:]) }
	slices.SortFunc(w.files, byName)
	slices.SortFunc(w.folders, byName)
}

// kindOf returns the kind of an entry if the file system did not return it with the name.
func (w *worker) kindOf(h handle, name string) kind {
	st, err := h.lstat(name)
	if err != nil || st.kind == directory && excludedFolder([]byte(name)) {
		return irregular
	}
	return st.kind
}

// listsFolder reports whether a folder is walked. An ignored folder is walked if it contains
// tracked files.
func (w *worker) listsFolder(f *folder, e *entry) bool {
	if skip := w.t.o.Skip; skip != nil && skip(e.path, true) {
		return false
	}
	path := e.path[f.repo.start:]
	e.tracked = f.tracked || f.rules.Ignores(path, true)
	return !e.tracked || f.repo.Tracked().Beneath(path)
}

// listsFile reports whether a file or link is listed. An ignored one is listed if it is tracked.
func (w *worker) listsFile(f *folder, path string) bool {
	if skip := w.t.o.Skip; skip != nil && skip(path, false) {
		return false
	}
	path = path[f.repo.start:]
	if !f.tracked && !f.rules.Ignores(path, false) {
		return true
	}
	return f.repo.Tracked().Has(path)
}
