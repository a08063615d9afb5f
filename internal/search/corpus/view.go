package corpus

import (
	"slices"
	"strings"
	"sync/atomic"

	"remit/internal/search/glob"
)

// A view is all docs at one moment. It never changes. Whoever searches in it holds it, and with it the arenas of its texts.
type view struct {
	parts    []*part // at least one, in the order of paths
	complete bool    // every file of the tree has been looked at
	arenas   []*arena
	holds    atomic.Int32
}

// A part is the docs of a range of paths: a shelf, which may have trigrams, and what has changed since that was filled.
type part struct {
	low   string // the paths of the part are not before this one
	shelf *shelf
	index *trigrams // of the shelf; nil if there are none
	gone  bitset    // docs of the shelf that are not what they were
	fresh []doc     // sorted; what there is besides the shelf
	texts int       // docs known to be texts

	freshBytes int64
}

const (
	partBytes = 32 << 20 // of texts, about, in one part
	partDocs  = 1 << 16
)

// cut makes parts of sorted docs.
func cut(docs []doc, low string) []*part {
	var parts []*part
	from, size := 0, int64(0)
	for i := range docs {
		size += int64(docs[i].length)
		if i+1 == len(docs) || size >= partBytes || i+1-from >= partDocs {
			parts = append(parts, newPart(newShelf(docs[from:i+1:i+1]), low))
			if i+1 < len(docs) {
				low = docs[i+1].file.Path
			}
			from, size = i+1, 0
		}
	}
	if len(parts) == 0 {
		return []*part{newPart(newShelf(nil), low)}
	}
	return parts
}

func newPart(s *shelf, low string) *part { return &part{low: low, shelf: s, texts: s.texts} }

// letGo ends a hold of the view.
func (v *view) letGo() {
	if v.holds.Add(-1) == 0 {
		for _, a := range v.arenas {
			a.letGo()
		}
	}
}

// docs counts the docs.
func (v *view) docs() (n int) {
	for _, p := range v.parts {
		n += len(p.shelf.docs) - p.gone.count() + len(p.fresh)
	}
	return n
}

// find returns the doc of a path, or nil.
func (v *view) find(path string) *doc {
	i, exact := slices.BinarySearchFunc(v.parts, path, func(p *part, path string) int { return strings.Compare(p.low, path) })
	if !exact {
		i--
	}
	p := v.parts[i]
	if n, ok := find(p.fresh, path); ok {
		return &p.fresh[n]
	}
	if n, ok := find(p.shelf.docs, path); ok && !p.gone.has(n) {
		return &p.shelf.docs[n]
	}
	return nil
}

// split gives each part those of the changes, which are sorted by path, that are in its range.
func (v *view) split(changes []doc, each func(i int, changes []doc)) {
	for i := range v.parts {
		n := len(changes)
		if i+1 < len(v.parts) {
			n, _ = find(changes, v.parts[i+1].low)
		}
		if n > 0 {
			each(i, changes[:n])
		}
		changes = changes[n:]
	}
}

// with returns the part after changes: sorted docs, one a path, of which some may be removed. lost is called for each doc
// that the part no longer has, and for changes that are older than what it has.
func (p *part) with(changes []doc, lost func(*doc)) *part {
	next := *p
	next.gone = newBitset(len(p.shelf.docs))
	copy(next.gone, p.gone)
	next.fresh = make([]doc, 0, len(p.fresh)+len(changes))
	old := p.fresh
	for i := range changes {
		change := &changes[i]
		n, ok := find(old, change.file.Path)
		next.fresh = append(next.fresh, old[:n]...)
		old = old[n:]
		if ok {
			change = newer(&old[0], change, lost)
			old = old[1:]
		} else if i, ok := find(p.shelf.docs, change.file.Path); ok && !next.gone.has(i) {
			if newer(&p.shelf.docs[i], change, lost) != change {
				continue
			}
			next.gone.add(i)
		}
		if change.kind != removed {
			next.fresh = append(next.fresh, *change)
		}
	}
	next.fresh = append(next.fresh, old...)
	next.tally()
	return &next
}

// newer returns the one of two docs of the same file that was read later; the other one is lost.
func newer(a, b *doc, lost func(*doc)) *doc {
	if a.serial > b.serial {
		a, b = b, a
	}
	lost(a)
	return b
}

// tally counts what the part has.
func (p *part) tally() {
	p.texts, p.freshBytes = p.shelf.texts, 0
	p.gone.each(func(i int) {
		if p.shelf.docs[i].kind == textual {
			p.texts--
		}
	})
	for i := range p.fresh {
		if p.fresh[i].kind == textual {
			p.texts++
			p.freshBytes += int64(p.fresh[i].length)
		}
	}
}

// each calls found for every doc, in order, with its place on the shelf, or -1.
func (p *part) each(found func(i int, d *doc)) {
	fresh := p.fresh
	for i := range p.shelf.docs {
		if p.gone.has(i) {
			continue
		}
		d := &p.shelf.docs[i]
		for len(fresh) > 0 && fresh[0].file.Path < d.file.Path {
			found(-1, &fresh[0])
			fresh = fresh[1:]
		}
		found(i, d)
	}
	for i := range fresh {
		found(-1, &fresh[i])
	}
}

// merged returns all docs of the part in one slice.
func (p *part) merged() []doc {
	docs := make([]doc, 0, len(p.shelf.docs)+len(p.fresh))
	p.each(func(_ int, d *doc) { docs = append(docs, *d) })
	return docs
}

// over returns a part with the docs of p, from one path to another, on another shelf: what that has not, or has as it no
// longer is, is fresh or gone. The shelf was filled from an earlier state of p. The last part has no end.
func (p *part) over(s *shelf, index *trigrams, low, end string) *part {
	next := &part{low: low, shelf: s, index: index, gone: newBitset(len(s.docs))}
	i := 0
	p.each(func(_ int, d *doc) {
		path := d.file.Path
		if path < low || end != "" && path >= end {
			return
		}
		for ; i < len(s.docs) && s.docs[i].file.Path < path; i++ {
			next.gone.add(i)
		}
		same := i < len(s.docs) && s.docs[i].file.Path == path
		if same && s.docs[i].serial == d.serial {
			i++
			return
		}
		if same {
			next.gone.add(i)
			i++
		}
		next.fresh = append(next.fresh, *d)
	})
	for ; i < len(s.docs); i++ {
		next.gone.add(i)
	}
	next.tally()
	return next
}

// paths returns the paths that a glob matches, or all.
func (v *view) paths(only *glob.Pattern) []string {
	all := make([]string, 0, v.docs())
	for _, p := range v.parts {
		var c chosen
		if only != nil {
			c = p.shelf.choose(only)
		}
		p.each(func(i int, d *doc) {
			if only == nil || c.docs.has(i) || i < 0 && only.Match(d.file.Path) {
				all = append(all, d.file.Path)
			}
		})
	}
	return all
}

// named returns the paths that end with a name, sorted.
func (v *view) named(name string) []string {
	var all []string
	for _, p := range v.parts {
		p.shelf.named(name, func(i int) {
			if !p.gone.has(i) {
				all = append(all, p.shelf.docs[i].file.Path)
			}
		})
		for i := range p.fresh {
			if path := p.fresh[i].file.Path; lastElement(path) == name {
				all = append(all, path)
			}
		}
	}
	slices.SortFunc(all, strings.Compare)
	return all
}
