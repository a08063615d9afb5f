package corpus

import (
	"cmp"
	"slices"
	"strings"
	"sync"

	"remit/internal/search/tree"
)

const (
	loaders   = 2  // number of goroutines that read files
	batchSize = 64 // number of files that a loader takes at a time
)

// An ingest reads the changes of one update of the tree. It reads files while others are still
// being found. In the first update it reads none: the first search reads them itself, which is
// faster, and they are loaded into memory afterwards.
type ingest struct {
	corpus *Corpus
	lazy   bool
	reads  bool // at least one file has been read
	// pending and removed are used by the updater alone. pending holds docs to read.
	pending []doc
	removed []doc
	jobs    chan []doc // nil until there is enough work for the loaders
	reading sync.WaitGroup
	loaded  [loaders]loadedDocs // the docs that each loader has read
}

// A loadedDocs list holds docs in the order in which they were read.
type loadedDocs struct {
	mu   sync.Mutex
	docs []doc
}

// update brings the view up to date with the tree.
func (c *Corpus) update() error {
	c.mu.Lock()
	n := &ingest{corpus: c, lazy: !c.view.complete}
	c.ingest = n
	c.mu.Unlock()
	err := c.tree.Update(c.ctx, n.take)
	n.finish()
	c.applying.Lock()
	defer c.applying.Unlock()
	c.mu.Lock()
	c.ingest = nil
	c.mu.Unlock()
	c.apply(n.collect(), err == nil)
	if n.reads {
		for _, l := range c.allocators {
			l.publish()
		}
		c.reading.Unlock()
	}
	return err
}

// take records a change, and passes files to the loaders once there are enough.
func (n *ingest) take(change tree.Change) {
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

// dispatch passes the pending docs to the loaders.
func (n *ingest) dispatch() {
	if n.lazy {
		n.loaded[0].add(n.pending)
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

// begin must be called before the first file is read. It prevents others from reading files for the
// view until the changes are in it.
func (n *ingest) begin() {
	n.reads = true
	n.corpus.reading.Lock()
}

func (p *loadedDocs) add(docs []doc) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.docs = append(p.docs, docs...)
}

// load reads the dispatched batches.
func (n *ingest) load(i int) {
	for batch := range n.jobs {
		for k := range batch {
			n.corpus.load(&batch[k], n.corpus.allocators[i])
		}
		n.loaded[i].add(batch)
	}
}

// finish reads the remaining files.
func (n *ingest) finish() {
	if n.jobs != nil || n.lazy {
		n.dispatch()
	} else if len(n.pending) > 0 {
		n.begin()
		for i := range n.pending {
			n.corpus.load(&n.pending[i], n.corpus.allocators[0])
		}
		n.loaded[0].add(n.pending)
	}
	if n.jobs != nil {
		close(n.jobs)
		n.reading.Wait()
	}
}

// collect returns all changes that were not published before, sorted and unique by path.
func (n *ingest) collect() []doc { return latest(append(n.takeLoaded(), n.removed...)) }

// takeLoaded removes and returns the docs read so far.
func (n *ingest) takeLoaded() []doc {
	var docs []doc
	for i := range n.loaded {
		p := &n.loaded[i]
		p.mu.Lock()
		docs = append(docs, p.docs...)
		p.docs = nil
		p.mu.Unlock()
	}
	return docs
}

// latest returns docs sorted by path, keeping the newest of each path.
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

// A key is the sort key of a doc, with the doc's index.
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

// sortKeys sorts a long list as two halves in parallel, because the first search waits for it.
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
