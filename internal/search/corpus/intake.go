package corpus

import (
	"cmp"
	"slices"
	"strings"
	"sync"

	"remit/internal/search/tree"
)

const (
	loaders   = 2  // that read files at the same time
	batchSize = 64 // files that a loader takes at a time
)

// An intake is what one update of the tree brings. Files are read while others are still being found, but for those of the
// first update: the first search reads them by itself, as that has its answer sooner, and they are kept in memory afterwards.
type intake struct {
	corpus  *Corpus
	lazy    bool
	reads   bool       // files have been read
	pending []doc      // to be read; the updater's alone, as those removed are
	removed []doc      //
	jobs    chan []doc // nil until there is enough to do for loaders
	reading sync.WaitGroup
	piles   [loaders]pile // what each loader has read
}

// A pile is docs in the order in which they were read.
type pile struct {
	mu   sync.Mutex
	docs []doc
}

// update brings the view up to date with the tree.
func (c *Corpus) update() error {
	c.mu.Lock()
	n := &intake{corpus: c, lazy: !c.view.complete}
	c.intake = n
	c.mu.Unlock()
	err := c.tree.Update(c.ctx, n.take)
	n.finish()
	c.applying.Lock()
	defer c.applying.Unlock()
	c.mu.Lock()
	c.intake = nil
	c.mu.Unlock()
	c.apply(n.collect(), err == nil)
	if n.reads {
		for _, l := range c.allocators {
			l.settle()
		}
		c.reading.Unlock()
	}
	return err
}

// take notes what has changed, and gives it to the loaders once it is worth their while.
func (n *intake) take(change tree.Change) {
	for _, f := range change.Removed {
		n.removed = append(n.removed, doc{file: f, kind: removed, serial: n.corpus.serial.Add(1)})
	}
	for _, files := range [][]*tree.File{change.Added, change.Changed} {
		for _, f := range files {
			d := doc{file: f, serial: n.corpus.serial.Add(1)}
			if f.Link {
				d.kind = link
			}
			n.pending = append(n.pending, d)
			if len(n.pending) == batchSize {
				n.dispatch()
			}
		}
	}
}

// dispatch has what is pending read.
func (n *intake) dispatch() {
	if n.lazy {
		n.piles[0].add(n.pending)
		n.pending = n.pending[:0]
		return
	}
	if n.jobs == nil {
		n.begin()
		n.jobs = make(chan []doc, 4*loaders)
		for i := range loaders {
			n.reading.Go(func() { n.load(i) })
		}
	}
	n.jobs <- n.pending
	n.pending = nil
}

// begin must come before the first file is read. Nobody else reads for the view until the changes are in it.
func (n *intake) begin() {
	n.reads = true
	n.corpus.reading.Lock()
}

func (p *pile) add(docs []doc) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.docs = append(p.docs, docs...)
}

// load reads what is dispatched.
func (n *intake) load(i int) {
	for batch := range n.jobs {
		for k := range batch {
			n.corpus.load(&batch[k], n.corpus.allocators[i])
		}
		n.piles[i].add(batch)
	}
}

// finish reads what is left.
func (n *intake) finish() {
	if n.jobs != nil || n.lazy {
		n.dispatch()
	} else if len(n.pending) > 0 {
		n.begin()
		for i := range n.pending {
			n.corpus.load(&n.pending[i], n.corpus.allocators[0])
		}
		n.piles[0].add(n.pending)
	}
	if n.jobs != nil {
		close(n.jobs)
		n.reading.Wait()
	}
}

// collect returns all changes that were not glimpsed before, sorted, one a path.
func (n *intake) collect() []doc { return latest(append(n.taken(), n.removed...)) }

// taken returns what is on the piles, and leaves nothing there.
func (n *intake) taken() []doc {
	var docs []doc
	for i := range n.piles {
		p := &n.piles[i]
		p.mu.Lock()
		docs = append(docs, p.docs...)
		p.docs = nil
		p.mu.Unlock()
	}
	return docs
}

// latest returns docs sorted by path, the youngest one of each.
func latest(docs []doc) []doc {
	keys := make([]key, len(docs))
	for i := range docs {
		keys[i] = key{docs[i].file.Path, docs[i].serial, uint32(i)}
	}
	sorted := make([]doc, 0, len(docs))
	for i, k := range sortKeys(keys) {
		if i > 0 && keys[i-1].path == k.path {
			sorted = sorted[:len(sorted)-1]
		}
		sorted = append(sorted, docs[k.at])
	}
	return sorted
}

// A key is what docs are sorted by, with the place of the doc.
type key struct {
	path   string
	serial uint32
	at     uint32
}

func byKey(a, b key) int {
	if order := strings.Compare(a.path, b.path); order != 0 {
		return order
	}
	return cmp.Compare(a.serial, b.serial)
}

// sortKeys sorts two halves at the same time if there are many, for a first search waits for it.
func sortKeys(keys []key) []key {
	const many = 4096
	if len(keys) < many {
		slices.SortFunc(keys, byKey)
		return keys
	}
	a, b := keys[:len(keys)/2], keys[len(keys)/2:]
	var other sync.WaitGroup
	other.Go(func() { slices.SortFunc(a, byKey) })
	slices.SortFunc(b, byKey)
	other.Wait()
	both := make([]key, 0, len(keys))
	for len(a) > 0 && len(b) > 0 {
		if byKey(a[0], b[0]) < 0 {
			both, a = append(both, a[0]), a[1:]
		} else {
			both, b = append(both, b[0]), b[1:]
		}
	}
	copy(keys, append(append(both, a...), b...))
	return keys
}
