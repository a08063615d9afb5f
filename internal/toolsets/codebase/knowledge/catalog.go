package knowledge

import (
	"slices"
	"sync"
	"sync/atomic"
	"time"
	"unique"

	"remit/internal/search/hybrid"
	"remit/internal/search/tree"
)

// entry is what is known about a chunk without reading it. Only the last two fields change.
type entry struct {
	origin  *origin
	key     Key
	date    int64 // Unix time in seconds
	number  int32
	weight  float32 // of its source
	source  unique.Handle[string]
	kind    unique.Handle[string] // the type of a discovery
	module  unique.Handle[string]
	covered bool        // the remote index has its vector; guarded by the catalog's mu
	retired atomic.Bool // it was replaced or removed, but a search that began earlier may find it
}

// there reports whether a chunk is still stored and its source still exists.
func (e *entry) there() bool { return !e.retired.Load() && !e.origin.absent.Load() }

// origin is what is known about a source. Its path does not change; the catalog's mu guards the
// rest.
type origin struct {
	path       string
	hash       [32]byte
	size       int64
	modified   int64 // Unix time in microseconds
	generation int64
	ids        []hybrid.ID // of its chunks, in order
	gone       bool
	absent     atomic.Bool // the file no longer exists, even if the store still has it
}

// stamp is the size and modification time of a file, which show that it has changed without reading
// it.
type stamp struct{ size, modified int64 }

// unsure is the size in the stamp of a file that could change again without a new modification
// time. Such a file is always read again.
const unsure = -1

// A catalog is the part of the index in memory: where chunks are and how to find them. Searches do
// not wait for changes.
type catalog struct {
	local       func() *hybrid.Index
	remoteIndex atomic.Pointer[hybrid.Index] // with vectors of the remote model
	table       table

	// searching is held while numbers of chunks are used. A free number is reused only when nobody
	// holds searching.
	searching sync.RWMutex

	mu      sync.Mutex // guards the rest, and the fields of origins
	origins map[string]*origin
	files   map[string]*tree.File // of the tree, by path of the source
	pending map[string]int        // sources being stored, with the number of writers
	free    []hybrid.ID
	resting []hybrid.ID // free, but a search may still use them
	size    hybrid.ID   // numbers ever assigned
	chunks  int
	sources int
	covered int
	changes int // chunks added and removed since the catalog was made
}

// newCatalog returns a catalog of vectors with dim dimensions. It calls yield between the steps of
// longer work.
func newCatalog(dim func() int, yield func()) *catalog {
	c := &catalog{origins: map[string]*origin{}, files: map[string]*tree.File{}, pending: map[string]int{}}
	c.local = sync.OnceValue(func() *hybrid.Index {
		local := hybrid.New(dim())
		local.Pause = yield
		return local
	})
	return c
}

// stamp records the state of a source in its origin, and counts the sources that exist. The caller
// must hold mu.
func (c *catalog) stamp(known *origin, s Source) {
	switch {
	case isMark(known.path) || s.Gone == known.gone:
	case s.Gone:
		c.sources--
	default:
		c.sources++
	}
	known.gone, known.hash, known.size, known.modified, known.generation = s.Gone, s.Hash, s.Size, s.Modified.UnixMicro(), s.Generation
}

// restamp records a new stamp for a source with the same chunks.
func (c *catalog) restamp(s Source) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if known := c.origins[s.Path]; known != nil && known.generation < s.Generation {
		c.stamp(known, s)
	}
}

// take assigns numbers to new chunks.
func (c *catalog) take(n int) []hybrid.ID {
	if n == 0 {
		return nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.resting) > 0 && c.searching.TryLock() {
		for _, id := range c.resting {
			c.table.at(id).Store(nil)
		}
		c.free = append(c.free, c.resting...)
		c.resting = c.resting[:0]
		c.searching.Unlock()
	}
	ids := make([]hybrid.ID, n)
	for i := range ids {
		if last := len(c.free) - 1; last >= 0 {
			ids[i] = c.free[last]
			c.free = c.free[:last]
			continue
		}
		ids[i] = c.size
		c.size++
	}
	c.table.grow(int(c.size))
	return ids
}

// known returns what is known about a source that is not deleted.
func (c *catalog) known(path string) (s stamp, hash [32]byte, found bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	o := c.origins[path]
	if o == nil || o.gone {
		return stamp{}, hash, false
	}
	return stamp{o.size, o.modified}, o.hash, true
}

// has reports whether there is a source that is not deleted.
func (c *catalog) has(path string) bool {
	_, _, found := c.known(path)
	return found
}

// counts returns the number of sources and of chunks.
func (c *catalog) counts() (sources, chunks int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.sources, c.chunks
}

// changed returns the number of chunks, and of those that were ever added or removed.
func (c *catalog) changed() (chunks, changes int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.chunks, c.changes
}

// paths returns the paths of the existing sources.
func (c *catalog) paths() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	paths := make([]string, 0, len(c.origins))
	for path, o := range c.origins {
		if !o.gone {
			paths = append(paths, path)
		}
	}
	return paths
}

// file returns the file of the tree that belongs to a source.
func (c *catalog) file(path string) *tree.File {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.files[path]
}

func (c *catalog) setFile(path string, f *tree.File) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if o := c.origins[path]; o != nil {
		o.absent.Store(f == nil)
	}
	if f == nil {
		delete(c.files, path)
		return
	}
	c.files[path] = f
}

// invalidate makes the stamps of all sources invalid, so that they are read and cut again. With
// begin, the content of the store counts whatever its generation.
func (c *catalog) invalidate(begin bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, o := range c.origins {
		o.size, o.hash = unsure, [32]byte{}
		if begin {
			o.generation = 0
		}
	}
}

// microseconds truncates a time to the precision of the store.
func microseconds(t time.Time) time.Time { return t.Truncate(time.Microsecond) }

const blockSize = 4096

type block [blockSize]atomic.Pointer[entry]

// A table maps numbers of chunks to entries. Reads need no lock while it grows; there may be one
// writer at a time.
type table struct {
	blocks atomic.Pointer[[]*block]
}

// get returns nil for a number that no chunk has.
func (t *table) get(id hybrid.ID) *entry {
	blocks := t.blocks.Load()
	if blocks == nil || int(id/blockSize) >= len(*blocks) {
		return nil
	}
	return (*blocks)[id/blockSize][id%blockSize].Load()
}

func (t *table) at(id hybrid.ID) *atomic.Pointer[entry] {
	return &(*t.blocks.Load())[id/blockSize][id%blockSize]
}

// grow makes room for numbers below size.
func (t *table) grow(size int) {
	var blocks []*block
	if old := t.blocks.Load(); old != nil {
		blocks = *old
	}
	if len(blocks)*blockSize >= size {
		return
	}
	grown := slices.Clone(blocks)
	for len(grown)*blockSize < size {
		grown = append(grown, new(block))
	}
	t.blocks.Store(&grown)
}

// each calls f with all entries.
func (t *table) each(f func(hybrid.ID, *entry)) {
	blocks := t.blocks.Load()
	if blocks == nil {
		return
	}
	for b, block := range *blocks {
		for i := range block {
			if e := block[i].Load(); e != nil && e.there() {
				f(hybrid.ID(b*blockSize+i), e)
			}
		}
	}
}
