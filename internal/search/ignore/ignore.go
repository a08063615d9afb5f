// Package ignore tells which files git would not list: its ignore rules, and what its index tracks in spite of them.
//
// Rules are git's to the letter (gitignore(5), and where that says nothing, what git does): they work on bytes, `{` means
// nothing, and a rule that git could never match is none. The time that a path takes is never more than its length times
// that of the rules.
package ignore

import "strings"

// Rules are the ignore rules that hold in one folder of a tree: its own, and those of the folders above. They do not change,
// and are safe for concurrent use. A nil *Rules ignores nothing.
type Rules struct {
	up    *Rules
	list  *list  // nil: there are none here
	fold  bool   // A-Z are a-z, as core.ignoreCase says
	base  int    // where the path from the folder of the rules begins in the path from the root
	above string // what stands before the path from the root to make it one from the folder of the rules
}

// Enter gives the rules that hold in a folder beneath, by its path from the root (with / between its elements, no / at the
// end; "" is the root itself), with the content of its .gitignore; nil if it has none, and then r itself is given. Git follows no
// symbolic link that is named .gitignore: pass nil for those. The content may change afterwards.
//
// The rules know no ignored folders: whoever walks does not enter what Ignores tells, since git does not include again what is
// beneath an ignored folder.
func (r *Rules) Enter(folder string, gitignore []byte) *Rules {
	base := len(folder)
	if base > 0 {
		base++
	}
	return r.with(Rules{base: base}, gitignore)
}

// with gives rules that go before those of r.
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

// Ignores tells whether the rules ignore an entry that is directly in their folder, by its path from the root. Symbolic links
// are no folders.
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

// folded is s as it is compared: with letters of the lower case, if case does not count.
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
