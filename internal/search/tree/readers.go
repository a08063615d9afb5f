package tree

import (
	"maps"
	"slices"
	"strings"
)

// missed is what updates of other readers found since a reader was told of changes. It has each file once at most, so it never has more
// than the reader knows and the tree has.
type missed struct {
	removed        []*File
	added, changed map[*File]struct{}
}

func (m *missed) empty() bool { return len(m.removed)+len(m.added)+len(m.changed) == 0 }

// note adds a change. A file that came and went since is left out.
func (m *missed) note(c Change) {
	if m.added == nil {
		m.added, m.changed = map[*File]struct{}{}, map[*File]struct{}{}
	}
	for _, f := range c.Removed {
		if _, unknown := m.added[f]; unknown {
			delete(m.added, f)
			continue
		}
		delete(m.changed, f)
		m.removed = append(m.removed, f)
	}
	for _, f := range c.Added {
		m.added[f] = struct{}{}
	}
	for _, f := range c.Changed {
		m.changed[f] = struct{}{}
	}
}

// take returns what was missed, and forgets it.
func (m *missed) take() Change {
	sorted := func(files map[*File]struct{}) []*File {
		return slices.SortedFunc(maps.Keys(files), func(a, b *File) int { return strings.Compare(a.Path, b.Path) })
	}
	c := Change{Added: sorted(m.added), Changed: sorted(m.changed), Removed: m.removed}
	*m = missed{}
	return c
}

// catchUp reports to a reader what others know already: all files at first, and what it missed later.
func (t *Tree) catchUp(each func(Change)) {
	if each == nil {
		each = func(Change) {}
	}
	if t.told {
		if !t.missed.empty() {
			each(t.missed.take())
		}
		return
	}
	t.told = true
	var known Change
	for folders := []*folder{t.root}; len(folders) > 0; {
		f := folders[len(folders)-1]
		folders = append(folders[:len(folders)-1], f.folders...)
		for _, file := range f.files {
			file.stamps[t.slot].Store(0) // a reader that is closed may have left one
		}
		known.Added = append(known.Added, f.files...)
		if len(known.Added) >= batch {
			each(known)
			known = Change{}
		}
	}
	if len(known.Added) > 0 {
		each(known)
	}
}
