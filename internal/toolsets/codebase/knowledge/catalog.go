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

// entry is what is known of a piece without reading it. It does not change, but for the last two.
type entry struct {
	origin  *origin
	key     Key
	date    int64 // seconds since 1970
	number  int32
	weight  float32 // of its source
	source  unique.Handle[string]
	kind    unique.Handle[string] // the type of a discovery
	module  unique.Handle[string]
	covered bool        // the remote index has its vector; guarded by the catalog's mu
	retired atomic.Bool // it is not there any more, but a search that began before may find it
}

// there tells whether a piece is still kept, and its source still among the files.
func (e *entry) there() bool { return !e.retired.Load() && !e.origin.absent.Load() }

// origin is what is known of a source. Its path does not change, the rest is guarded by the catalog's mu.
type origin struct {
	path       string
	hash       [32]byte
	size       int64
	modified   int64 // microseconds since 1970
	generation int64
	ids        []hybrid.ID // of its pieces, in order
	gone       bool
	absent     atomic.Bool // it is no longer among the files, whatever is still kept of it
}

// stamp is what tells without reading whether a file has changed.
type stamp struct{ size, modified int64 }

// unsure is the size of a file that may change once more without another time of change. It is always read again.
const unsure = -1

// A catalog is what is in memory: where pieces are and how to find them. Searches wait for nobody who changes it.
type catalog struct {
	local func() *hybrid.Index
	far   atomic.Pointer[hybrid.Index] // with vectors of the remote model
	table table

	// searching is held by those who use numbers of pieces. A number that is free is given to another piece when nobody holds it.
	searching sync.RWMutex

	mu      sync.Mutex // guards the rest, and what origins have
	origins map[string]*origin
	files   map[string]*tree.File // of the tree, by the path of the source
	pending map[string]int        // sources that are being kept, by how many
	free    []hybrid.ID
	resting []hybrid.ID // free, but perhaps in use by a search
	size    hybrid.ID   // numbers that were ever given
	pieces  int
	sources int
	covered int
}

// newCatalog makes a catalog of vectors with dim dimensions. giveWay is called between the steps of longer work.
func newCatalog(dim func() int, giveWay func()) *catalog {
	c := &catalog{origins: map[string]*origin{}, files: map[string]*tree.File{}, pending: map[string]int{}}
	c.local = sync.OnceValue(func() *hybrid.Index {
		local := hybrid.New(dim())
		local.Pause = giveWay
		return local
	})
	return c
}

// stamp notes what a source is like now. mu must be locked.
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

// restamp notes that a source with the same pieces has another stamp.
func (c *catalog) restamp(s Source) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if known := c.origins[s.Path]; known != nil && known.generation < s.Generation {
		c.stamp(known, s)
	}
}

// take gives numbers to new pieces.
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

// known tells what is known of a source that is not gone.
func (c *catalog) known(path string) (s stamp, hash [32]byte, found bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	o := c.origins[path]
	if o == nil || o.gone {
		return stamp{}, hash, false
	}
	return stamp{o.size, o.modified}, o.hash, true
}

// counts tells how many sources and pieces there are.
func (c *catalog) counts() (sources, pieces int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.sources, c.pieces
}

// paths gives the sources that are there.
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

// file returns the file of the tree that a source is.
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

// doubt makes the stamps of all sources void: they are read again, and cut again. With begin, what the store has counts
// whatever its generation.
func (c *catalog) doubt(begin bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, o := range c.origins {
		o.size, o.hash = unsure, [32]byte{}
		if begin {
			o.generation = 0
		}
	}
}

// microseconds are as fine as times of sources are kept.
func microseconds(t time.Time) time.Time { return t.Truncate(time.Microsecond) }

const blockSize = 4096

type block [blockSize]atomic.Pointer[entry]

// A table has the entries by the numbers of pieces. It is read without a lock while it grows; one writer at a time.
type table struct {
	blocks atomic.Pointer[[]*block]
}

// get returns nil for a number that no piece has.
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

// each calls f with all entries that are there.
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
