// Package corpus keeps the texts of a file tree in memory and searches them. It does not watch or
// list files itself: package tree does.
//
// A Corpus has a view: all its docs, in parts by path (view.go). A part consists of a segment of
// docs with trigrams (trigrams.go), which are built in the background (maintain.go), and of the
// changes since. Before a search reads the view, the tree is brought up to date and changed files
// are read (ingest.go). Texts are kept outside the heap (arena.go), as many as the budget allows;
// the others are read when they are searched (read.go). A search is split into units, which several
// workers process in the order of paths (plan.go, scan.go) and whose results are delivered in that
// order (merge.go). The number of lines found in each doc is cached for a while (segment.go),
// because the same search is often repeated to page through its results.
package corpus

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"remit/internal/search/glob"
	"remit/internal/search/tree"
)

// Options limit what a corpus uses. The zero value selects the defaults.
type Options struct {
	Budget  int64 // bytes of memory for texts and trigrams; 0 means 512 MiB
	Workers int   // number of concurrent workers of a search; 0 means GOMAXPROCS
	Log     *slog.Logger
}

// ErrClosed is returned by searches after Close.
var ErrClosed = errors.New("the corpus is closed")

// A Corpus holds the texts of a tree. It is safe for concurrent use.
type Corpus struct {
	tree    *tree.Tree
	o       Options
	classes func() *classTable

	ctx         context.Context // canceled by Close
	cancel      context.CancelFunc
	wake        chan struct{}  // wakes the updater
	work        sync.WaitGroup // the updater
	maintenance sync.WaitGroup // the maintenance goroutine
	users       sync.WaitGroup // searches

	allocators []*allocator  // one per loader; used only by the updater and its loaders
	serial     atomic.Uint32 // the last serial number given to a doc
	textBytes  atomic.Int64  // size of the arenas for texts
	indexBytes atomic.Int64  // size of the arenas for trigrams

	applying sync.Mutex // held while the results of an ingest are put into the view
	// Held while files are read for the view, until their docs are in it or discarded.
	reading sync.Mutex

	mu          sync.Mutex // guards the fields below
	view        *view
	arenas      []*arena // those of the view, and those being filled
	nextRefresh *refresh // the refresh that searches wait for and that has not begun
	ingest      *ingest  // of the running update
	unreclaimed int64    // bytes that the last compaction could not release
	started     bool
	maintaining bool
	closed      bool
}

// A refresh is one update of the tree, shared by all searches that asked before it began.
type refresh struct {
	done chan struct{}
	err  error // valid after done is closed
}

// New returns the corpus of a tree. It reads nothing before the first search. The tree must stay
// open until Close has returned.
func New(t *tree.Tree, o Options) *Corpus {
	o.Budget = cmp.Or(max(o.Budget, 0), 512<<20)
	o.Workers = cmp.Or(max(o.Workers, 0), runtime.GOMAXPROCS(0))
	o.Log = cmp.Or(o.Log, slog.New(slog.DiscardHandler))
	c := &Corpus{tree: t, o: o, classes: sync.OnceValue(newClassTable), wake: make(chan struct{}, 1)}
	c.ctx, c.cancel = context.WithCancel(context.Background())
	c.view = &view{parts: splitParts(nil, "")}
	c.view.refs.Store(1)
	for range loaders {
		c.allocators = append(c.allocators, c.newAllocator())
	}
	return c
}

// Files returns the paths of all files that match the glob, or of all files if it is nil: what git
// would list, including links, sorted by bytes. complete is false if the context's deadline passed
// before all files were found.
func (c *Corpus) Files(ctx context.Context, only *glob.Pattern) (paths []string, complete bool, err error) {
	if err := c.enter(); err != nil {
		return nil, false, err
	}
	defer c.users.Done()
	late, err := c.awaitRefresh(ctx, newTimeBudget(ctx, time.Now()))
	if err != nil {
		return nil, false, err
	}
	v := c.acquireView()
	defer v.release()
	return v.paths(only), late == "" && v.complete, nil
}

// Named returns the sorted paths of the files known so far whose last element is name.
func (c *Corpus) Named(name string) []string {
	if c.enter() != nil {
		return nil
	}
	defer c.users.Done()
	v := c.acquireView()
	defer v.release()
	return v.named(name)
}

// Modified returns when the content of a file was changed last, or the zero time if it is gone.
func (c *Corpus) Modified(path string) time.Time { return c.tree.Modified(path) }

// Close stops running searches, waits for them and for background work, and releases all memory.
func (c *Corpus) Close() {
	c.mu.Lock()
	again := c.closed
	c.closed = true
	c.mu.Unlock()
	c.cancel()
	c.work.Wait()
	c.maintenance.Wait()
	c.users.Wait()
	if again {
		return
	}
	c.view.release()
	for _, a := range c.arenas {
		a.release()
	}
	c.arenas = nil
}

// enter makes Close wait for the caller. If it returns nil, the caller must call users.Done when it
// no longer uses the corpus.
func (c *Corpus) enter() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return ErrClosed
	}
	c.users.Add(1)
	return nil
}

// bytesOf returns the byte counter for the kind of arena that a is.
func (c *Corpus) bytesOf(a *arena) *atomic.Int64 {
	if a.index {
		return &c.indexBytes
	}
	return &c.textBytes
}

// acquireView returns the newest view. The caller must release it.
func (c *Corpus) acquireView() *view {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.view.refs.Add(1)
	return c.view
}

// awaitRefresh waits for an update that begins now or later, so that the view reflects all earlier
// changes to the files. It uses only part of the available time. If that runs out, late says why
// the view is not up to date.
func (c *Corpus) awaitRefresh(ctx context.Context, k timeBudget) (late string, err error) {
	if c.isCurrent() {
		return "", nil
	}
	r := c.requestRefresh()
	var timeout <-chan time.Time
	if k.limited {
		timer := time.NewTimer(k.wait)
		defer timer.Stop()
		timeout = timer.C
	}
	select {
	case <-r.done:
		if r.err != nil && c.ctx.Err() == nil {
			return "", fmt.Errorf("bring the files up to date: %w", r.err)
		}
		return "", nil
	case <-timeout:
		return c.publishPartial(), nil
	case <-ctx.Done():
		if errors.Is(ctx.Err(), context.DeadlineExceeded) {
			return c.publishPartial(), nil
		}
		return "", ctx.Err()
	case <-c.ctx.Done():
		return "", ErrClosed
	}
}

// isCurrent reports whether the view already reflects all changes to the files. That is usually so,
// and then the updater need not be woken. It asks the tree first: changes that an update has
// learned of but not yet put into the view are detected by the checks that follow.
func (c *Corpus) isCurrent() bool {
	if !c.tree.Unchanged() || !c.applying.TryLock() {
		return false
	}
	defer c.applying.Unlock()
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.view.complete && c.ingest == nil && !c.closed
}

// requestRefresh returns a refresh that has not begun, and wakes the updater.
func (c *Corpus) requestRefresh() *refresh {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.nextRefresh == nil {
		c.nextRefresh = &refresh{done: make(chan struct{})}
	}
	if !c.started && !c.closed {
		c.started = true
		c.work.Go(c.run)
	}
	select {
	case c.wake <- struct{}{}:
	default:
	}
	return c.nextRefresh
}

// run updates the view on request.
func (c *Corpus) run() {
	for {
		select {
		case <-c.wake:
		case <-c.ctx.Done():
			return
		}
		c.mu.Lock()
		r := c.nextRefresh
		c.nextRefresh = nil
		c.mu.Unlock()
		if r != nil {
			r.err = c.update()
			close(r.done)
		}
	}
}
