package corpus

import (
	"slices"
	"strings"
	"sync/atomic"

	"remit/internal/search/glob"
)

// A view is an immutable snapshot of all docs. It has a reference count, and holds references to
// the arenas of its texts.
type view struct {
	parts    []*part // at least one, in the order of paths
	complete bool    // every file of the tree is in it
	arenas   []*arena
	refs     atomic.Int32
}

// A part holds the docs of a range of paths: a segment, which may have trigrams, and the changes
// since the segment was built.
type part struct {
	low     string // lower bound of the paths of the part
	segment *segment
	index   *trigrams // trigrams of the segment; nil if there are none
	gone    bitset    // docs of the segment that were changed or removed since
	fresh   []doc     // docs that are not in the segment, sorted
	texts   int       // number of docs known to be texts

	freshBytes int64
}

const (
	partBytes = 32 << 20 // approximate size of the texts in one part
	partDocs  = 1 << 16
)

// splitParts splits sorted docs into parts.
func splitParts(docs []doc, low string) []*part {
	var parts []*part
	from, size := 0, int64(0)
	for i := range docs {
		size += int64(docs[i].length)
		if i+1 == len(docs) || size >= partBytes || i+1-from >= partDocs {
			parts = append(parts, newPart(newSegment(docs[from:i+1:i+1]), low))
			if i+1 < len(docs) {
				low = docs[i+1].file.Path
			}
			from, size = i+1, 0
		}
	}
	if len(parts) == 0 {
		return []*part{newPart(newSegment(nil), low)}
	}
	return parts
}

func newPart(s *segment, low string) *part { return &part{low: low, segment: s, texts: s.texts} }

// release drops a reference to the view.
func (v *view) release() {
	if v.refs.Add(-1) == 0 {
		for _, a := range v.arenas {
			a.release()
		}
	}
}

// docs returns the number of docs.
func (v *view) docs() (n int) {
	for _, p := range v.parts {
		n += len(p.segment.docs) - p.gone.count() + len(p.fresh)
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
	if n, ok := find(p.segment.docs, path); ok && !p.gone.has(n) {
		return &p.segment.docs[n]
	}
	return nil
}

// split calls each for every part with the changes in its range. The changes must be sorted by
// path.
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

// with returns the part with the changes applied: sorted docs, unique by path, of which some may be
// removed. It calls lost for each doc that the part no longer has, and for changes that are older
// than what it has.
func (p *part) with(changes []doc, lost func(*doc)) *part {
	next := *p
	next.gone = newBitset(len(p.segment.docs))
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
		} else if i, ok := find(p.segment.docs, change.file.Path); ok && !next.gone.has(i) {
			if newer(&p.segment.docs[i], change, lost) != change {
				continue
			}
			next.gone.add(i)
		}
		if change.kind != removed {
			next.fresh = append(next.fresh, *change)
		}
	}
	next.fresh = append(next.fresh, old...)
	next.recount()
	return &next
}

// newer returns the later read of two docs of the same file, and calls lost for the other.
func newer(a, b *doc, lost func(*doc)) *doc {
	if a.serial > b.serial {
		a, b = b, a
	}
	lost(a)
	return b
}

// recount updates the counts of the part.
func (p *part) recount() {
	p.texts, p.freshBytes = p.segment.texts, 0
	p.gone.each(func(i int) {
		if p.segment.docs[i].kind == textual {
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

// each calls found for every doc, in order, with its index in the segment, or -1.
func (p *part) each(found func(i int, d *doc)) {
	fresh := p.fresh
	for i := range p.segment.docs {
		if p.gone.has(i) {
			continue
		}
		d := &p.segment.docs[i]
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

// merged returns all docs of the part as one slice.
func (p *part) merged() []doc {
	docs := make([]doc, 0, len(p.segment.docs)+len(p.fresh))
	p.each(func(_ int, d *doc) { docs = append(docs, *d) })
	return docs
}

// rebase returns a part with those docs of p that are in the range from low to end, on another
// segment. Docs that the segment lacks or has in an older state become fresh or gone. The segment
// must have been built from an earlier state of p. An empty end means no upper bound.
func (p *part) rebase(s *segment, index *trigrams, low, end string) *part {
	next := &part{low: low, segment: s, index: index, gone: newBitset(len(s.docs))}
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
	next.recount()
	return next
}

// paths returns the paths that match the glob, or all.
func (v *view) paths(only *glob.Pattern) []string {
	all := make([]string, 0, v.docs())
	for _, p := range v.parts {
		var c globMatches
		if only != nil {
			c = p.segment.matchGlob(only)
		}
		p.each(func(i int, d *doc) {
			if only == nil || c.docs.has(i) || i < 0 && only.Match(d.file.Path) {
				all = append(all, d.file.Path)
			}
		})
	}
	return all
}

// bytes returns the size of the known texts that match the glob.
func (v *view) bytes(only *glob.Pattern) (size int64) {
	for _, p := range v.parts {
		p.each(func(_ int, d *doc) {
			if d.kind == textual && (only == nil || only.Match(d.file.Path)) {
				size += int64(d.length)
			}
		})
	}
	return size
}

// named returns the sorted paths whose last element is name.
func (v *view) named(name string) []string {
	var all []string
	for _, p := range v.parts {
		p.segment.named(name, func(i int) {
			if !p.gone.has(i) {
				all = append(all, p.segment.docs[i].file.Path)
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
