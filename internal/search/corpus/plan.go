package corpus

import (
	"sync"

	"remit/internal/search/glob"
)

const (
	unitBytes  = 256 << 10 // approximate size of the texts in a unit
	unitDocs   = 512
	onDiskCost = 32 << 10 // assumed size of a doc that must be read from disk
)

// A unit is a run of consecutive docs of a search.
type unit struct {
	number int // counted from 0
	jobs   []job
}

// A job is a doc to search.
type job struct {
	*doc
	from int   // deliver lines after this one; noLines to deliver none
	slot *slot // cache for its count; nil if it is not cached
}

// A plan hands out the docs to search, in the order of paths.
type plan struct {
	texts int // number of files that are known to be texts and may be searched
	query *Query

	mu      sync.Mutex
	cursors []cursor
	units   int        // number of units handed out
	ahead   job        // the next job, if it is known already
	known   unitResult // docs of which only the counts are wanted, and those are cached
	// certain is the minimum number of lines (or files if the query counts files) in the docs
	// handed out so far.
	certain int
}

// newPlan returns a plan that excludes docs that cannot match.
func newPlan(c *Corpus, v *view, q *Query) *plan {
	p := &plan{query: q, cursors: make([]cursor, len(v.parts))}
	d := newTrigramQuery(c.classes(), q.Pattern.RequiredLiterals())
	patterns := v.maxPatterns()
	for i, part := range v.parts {
		k := &p.cursors[i]
		*k = newCursor(part, q)
		p.texts += k.texts
		k.narrow(d)
		many := len(k.some)+len(part.segment.docs)-k.at >= len(part.segment.docs)/16
		k.slots = part.segment.countSlots(q.Pattern.Key(), patterns, many)
	}
	return p
}

// next fills a unit. It returns false if there are no docs left.
func (p *plan) next(u *unit) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	u.jobs = u.jobs[:0]
	for size := 0; size < unitBytes && len(u.jobs) < unitDocs; {
		j := p.nextJob()
		if j.doc == nil {
			break
		}
		size += p.cost(&j)
		u.jobs = append(u.jobs, j)
	}
	u.number = p.units
	if len(u.jobs) == 0 {
		return false
	}
	p.units++
	return true
}

// cost estimates the work of a job in bytes of text.
func (p *plan) cost(j *job) int {
	if _, known := j.slot.known(); known && p.query.CountOnly {
		return 0
	}
	if j.onDisk() {
		return onDiskCost
	}
	return int(j.length)
}

// nextJob returns the next job, or one without a doc if none is left.
func (p *plan) nextJob() job {
	if j := p.ahead; j.doc != nil {
		p.ahead = job{}
		return j
	}
	for len(p.cursors) > 0 {
		j := p.cursors[0].next()
		switch {
		case j.doc == nil:
			p.cursors = p.cursors[1:]
		case !p.skipKnown(&j):
			return j
		}
	}
	return job{}
}

// skipKnown reports whether a doc need not be searched, because the number of matching lines is
// cached and none of them will be delivered.
func (p *plan) skipKnown(j *job) bool {
	count, known := j.slot.known()
	if !known || count == 0 {
		return known
	}
	q := p.query
	count = min(count, q.allowed(textRange{}))
	past := j.from == noLines
	if !past && (q.Limit == 0 || p.certain < q.Limit) {
		if q.CountOnly {
			p.certain++
		} else {
			p.certain += max(0, count-j.from)
		}
		return false
	}
	p.known.matches += count
	p.known.matched++
	if past {
		p.known.skipped += count
	}
	return true
}

// more reports whether another unit follows.
func (p *plan) more() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.ahead.doc == nil {
		p.ahead = p.nextJob()
	}
	return p.ahead.doc != nil
}

// A cursor iterates over the docs of a part.
type cursor struct {
	*part
	query       *Query
	only        *glob.Pattern
	globMatches bitset   // docs of the segment that match only
	texts       int      // number of docs that match only and are known to be texts
	some        []uint32 // docs of the segment to search first, and then
	at          int      // all docs of the segment from this one
	rest        []doc    // the remaining fresh docs
	slots       []slot   // cached counts of the segment; nil if they are not cached
	past        int      // docs of the segment before this one are not after Query.After
}

func newCursor(p *part, q *Query) cursor {
	only := q.Only
	k := cursor{part: p, query: q, only: only, texts: p.texts, rest: p.fresh}
	if q.After.Path != "" {
		k.past, _ = find(p.segment.docs, q.After.Path)
	}
	if only == nil {
		return k
	}
	c := p.segment.matchGlob(only)
	k.globMatches, k.texts = c.docs, c.texts
	p.gone.each(func(i int) {
		if c.docs.has(i) && p.segment.docs[i].kind == textual {
			k.texts--
		}
	})
	for i := range p.fresh {
		if p.fresh[i].kind == textual && only.Match(p.fresh[i].file.Path) {
			k.texts++
		}
	}
	return k
}

// narrow excludes docs that lack the trigrams.
func (k *cursor) narrow(d *trigramQuery) {
	if d == nil || k.index == nil || k.index.covered == 0 {
		return
	}
	if some, ok := k.index.candidates(d); ok {
		k.some, k.at = some, k.index.covered
	}
}

// next returns the next job, or one without a doc.
func (k *cursor) next() job {
	var segmentDoc *doc
	i := k.peek()
	if i < len(k.segment.docs) {
		segmentDoc = &k.segment.docs[i]
	}
	for len(k.rest) > 0 && (segmentDoc == nil || k.rest[0].file.Path < segmentDoc.file.Path) {
		d := &k.rest[0]
		k.rest = k.rest[1:]
		if d.searchable() && (k.only == nil || k.only.Match(d.file.Path)) {
			return job{doc: d, from: k.query.from(d.file.Path)}
		}
	}
	if segmentDoc == nil {
		return job{}
	}
	k.skip()
	return k.segmentJob(i)
}

// segmentJob returns the job of a doc of the segment. It does not use cached counts for a doc on
// disk, because its text may change between searches.
func (k *cursor) segmentJob(i int) job {
	j := job{doc: &k.segment.docs[i]}
	if k.slots != nil && !j.onDisk() {
		j.slot = &k.slots[i]
	}
	switch {
	case i < k.past:
		j.from = noLines
	case i == k.past:
		j.from = k.query.from(j.file.Path)
	}
	return j
}

// peek returns the index of the segment's next doc to search, or the length of the segment.
func (k *cursor) peek() int {
	for {
		i := k.at
		if len(k.some) > 0 {
			i = int(k.some[0])
		}
		if i >= len(k.segment.docs) || k.wants(i) {
			return i
		}
		k.skip()
	}
}

func (k *cursor) skip() {
	if len(k.some) > 0 {
		k.some = k.some[1:]
	} else {
		k.at++
	}
}

func (k *cursor) wants(i int) bool {
	return !k.gone.has(i) && (k.only == nil || k.globMatches.has(i)) && k.segment.docs[i].searchable()
}
