// Package corpus keeps the texts of a tree in memory and searches them.
//
// A Corpus has a view: all its docs, in parts by path (view.go). A part is a shelf of docs with trigrams (trigrams.go), which
// are made in the background (tend.go), and what has changed since. Before a search looks at the view, the tree is brought up
// to date and what was changed is read (intake.go). Texts are outside the heap (arena.go), as many as the budget allows; the
// others are read when they are searched (read.go). A search is cut into units that several workers take in the order of paths
// (plan.go, scan.go) and whose results are given in that order (merge.go). How many lines it found in each doc is kept for a
// while (shelf.go), as the same is often searched for again, to see more of it.
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

// Options say what a corpus may use. The zero value is fine.
type Options struct {
	Budget  int64 // bytes of memory for texts and trigrams; 512 MiB if it is 0
	Workers int   // that search at the same time; as many as Go uses cores if it is 0
	Log     *slog.Logger
}

// ErrClosed is what a search gets after Close.
var ErrClosed = errors.New("the corpus is closed")

// A Corpus is the texts of a tree. It is safe for concurrent use.
type Corpus struct {
	tree    *tree.Tree
	o       Options
	classes func() *classTable

	ctx    context.Context // ends with Close
	cancel context.CancelFunc
	wake   chan struct{}  // tells the updater that somebody waits
	work   sync.WaitGroup // the updater
	care   sync.WaitGroup // the one who tends
	users  sync.WaitGroup // searches

	allocators []*allocator  // one for each loader; used by the updater and its loaders alone
	serial     atomic.Uint32 // the last one of a doc
	textBytes  atomic.Int64  // of arenas for texts
	indexBytes atomic.Int64  // of arenas for trigrams

	applying sync.Mutex // held while what an intake has read is put into the view
	reading  sync.Mutex // held while files are read for the view, until it is known whether they are in it

	mu      sync.Mutex // guards the rest
	view    *view
	arenas  []*arena // of the view, and those being filled
	next    *round   // that searches wait for and that has not begun
	intake  *intake  // of the update that runs
	stuck   int64    // what the last tidying could not give back
	started bool
	tending bool
	closed  bool
}

// A round is one update of the tree, shared by all who came before it began.
type round struct {
	done chan struct{}
	err  error // to be read after done
}

// New returns the corpus of a tree. Nothing is read before the first search. The tree must stay open until Close has returned.
func New(t *tree.Tree, o Options) *Corpus {
	o.Budget = cmp.Or(max(o.Budget, 0), 512<<20)
	o.Workers = cmp.Or(max(o.Workers, 0), runtime.GOMAXPROCS(0))
	o.Log = cmp.Or(o.Log, slog.New(slog.DiscardHandler))
	c := &Corpus{tree: t, o: o, classes: sync.OnceValue(newClassTable), wake: make(chan struct{}, 1)}
	c.ctx, c.cancel = context.WithCancel(context.Background())
	c.view = &view{parts: cut(nil, "")}
	c.view.holds.Store(1)
	for range loaders {
		c.allocators = append(c.allocators, c.newAllocator())
	}
	return c
}

// Files returns the paths of all files that a glob matches, or of all: what git would list, links too, sorted by their
// bytes. It is not complete if the context's deadline came before all files were found.
func (c *Corpus) Files(ctx context.Context, only *glob.Pattern) (paths []string, complete bool, err error) {
	if err := c.enter(); err != nil {
		return nil, false, err
	}
	defer c.users.Done()
	late, err := c.await(ctx, newClock(ctx, time.Now()))
	if err != nil {
		return nil, false, err
	}
	v := c.hold()
	defer v.letGo()
	return v.paths(only), late == "" && v.complete, nil
}

// Named returns the paths whose last element is name, sorted, of the files that are known by now.
func (c *Corpus) Named(name string) []string {
	if c.enter() != nil {
		return nil
	}
	defer c.users.Done()
	v := c.hold()
	defer v.letGo()
	return v.named(name)
}

// Close ends searches that run, waits for them and for whatever works in the background, and gives memory back.
func (c *Corpus) Close() {
	c.mu.Lock()
	again := c.closed
	c.closed = true
	c.mu.Unlock()
	c.cancel()
	c.work.Wait()
	c.care.Wait()
	c.users.Wait()
	if again {
		return
	}
	c.view.letGo()
	for _, a := range c.arenas {
		a.letGo()
	}
	c.arenas = nil
}

// enter must be followed by users.Done if it gives no error.
func (c *Corpus) enter() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return ErrClosed
	}
	c.users.Add(1)
	return nil
}

// bytesOf counts the arenas of a's kind.
func (c *Corpus) bytesOf(a *arena) *atomic.Int64 {
	if a.index {
		return &c.indexBytes
	}
	return &c.textBytes
}

// hold returns the newest view, for a caller who lets it go.
func (c *Corpus) hold() *view {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.view.holds.Add(1)
	return c.view
}

// await waits for an update that begins now or later, so that the view has all that was done to the files before. It
// waits only for a part of the time there is; late then says why the view is not the newest.
func (c *Corpus) await(ctx context.Context, k clock) (late string, err error) {
	if c.isCurrent() {
		return "", nil
	}
	r := c.nextRound()
	var patience <-chan time.Time
	if k.limited {
		timer := time.NewTimer(k.wait)
		defer timer.Stop()
		patience = timer.C
	}
	select {
	case <-r.done:
		if r.err != nil && c.ctx.Err() == nil {
			return "", fmt.Errorf("bring the files up to date: %w", r.err)
		}
		return "", nil
	case <-patience:
		return c.glimpse(), nil
	case <-ctx.Done():
		if errors.Is(ctx.Err(), context.DeadlineExceeded) {
			return c.glimpse(), nil
		}
		return "", ctx.Err()
	case <-c.ctx.Done():
		return "", ErrClosed
	}
}

// isCurrent tells whether the view has all that was done to the files already, which is so most of the time: then nobody has to
// be woken to find out. The tree is asked first, because what an update has learnt and not put into the view yet is seen after.
func (c *Corpus) isCurrent() bool {
	if !c.tree.Quiet() || !c.applying.TryLock() {
		return false
	}
	defer c.applying.Unlock()
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.view.complete && c.intake == nil && !c.closed
}

// nextRound returns a round that has not begun, and sees to it that it does.
func (c *Corpus) nextRound() *round {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.next == nil {
		c.next = &round{done: make(chan struct{})}
	}
	if !c.started && !c.closed {
		c.started = true
		c.work.Go(c.run)
	}
	select {
	case c.wake <- struct{}{}:
	default:
	}
	return c.next
}

// run updates the view whenever somebody waits for it.
func (c *Corpus) run() {
	for {
		select {
		case <-c.wake:
		case <-c.ctx.Done():
			return
		}
		c.mu.Lock()
		r := c.next
		c.next = nil
		c.mu.Unlock()
		if r != nil {
			r.err = c.update()
			close(r.done)
		}
	}
}
