// Package ignore determines which files git would not list: it implements git's ignore rules, and
// reads git's index for files that are tracked in spite of them. It does not walk folders.
//
// Rules have exactly git's meaning (gitignore(5), and where that is silent, what git does): they
// match bytes, `{` has no special meaning, and a rule that git could never match has no effect.
// Matching a path takes at most time proportional to its length times that of the rules.
package ignore

import "strings"

// Rules are the ignore rules that apply in one folder of a tree: its own, and those of the folders
// above. They are immutable and safe for concurrent use. A nil *Rules ignores nothing.
type Rules struct {
	up    *Rules
	list  *list  // nil if there are none here
	fold  bool   // A-Z match a-z, as core.ignoreCase says
	base  int    // offset in a path from the root at which the path from the rules' folder begins
	above string // prefix that turns a path from the root into one from the rules' folder
}

// Enter returns the rules that apply in a folder below, given by its path from the root (with /
// between elements and no / at the end; "" is the root itself). gitignore is the content of its
// .gitignore, or nil if it has none; then Enter returns r itself. Git does not follow a symbolic
// link named .gitignore: pass nil for those. The caller may modify the content afterwards.
//
// Rules do not record ignored folders. A caller that walks a tree must not enter folders for which
// Ignores returns true, because git does not include again what is in an ignored folder.
func (r *Rules) Enter(folder string, gitignore []byte) *Rules {
	base := len(folder)
	if base > 0 {
		base++
	}
	return r.with(Rules{base: base}, gitignore)
}

// with returns r extended by rules that take precedence over it.
func (r *Rules) with(added Rules, content []byte) *Rules {
	if r != nil {
		added.fold = r.fold
	}
	added.above = folded(added.above, added.fold)
	if added.list = newList(string(content), added.fold, added.above); added.list == nil {
		return r
	}
	added.up = r
	return &added
}

// Ignores reports whether the rules ignore an entry directly in their folder, given by its path
// from the root. folder must be false for symbolic links.
func (r *Rules) Ignores(path string, folder bool) bool {
	if r == nil {
		return false
	}
	path = folded(path, r.fold)
	e := newEntry(path, folder)
	for ; r != nil; r = r.up {
		if r.list == nil {
			continue
		}
		if verdict := r.list.last(&e, path[r.base:], r.above); verdict != 0 {
			return verdict > 0
		}
	}
	return false
}

// folded returns s in the form in which it is compared: in lower case if case is ignored.
func folded(s string, fold bool) string {
	if !fold {
		return s
	}
	at := strings.IndexFunc(s, func(r rune) bool { return 'A' <= r && r <= 'Z' })
	if at < 0 {
		return s
	}
	lower := []byte(s)
	for i, c := range lower {
		if 'A' <= c && c <= 'Z' {
			lower[i] = c + 'a' - 'A'
		}
	}
	return string(lower)
}
