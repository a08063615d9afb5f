// Package knowledge keeps what a project knows in pieces, and finds them by words and by meaning.
//
// Whoever searches asks for a round (round.go), which brings the index up to date: what other processes put into the store
// (load.go) as far as it may be searched (paths.go), the memory files (memory.go), what was fed (feed.go) and the files of the tree
// (survey.go). What is little is done in the round; the rest
// waits in a queue (queue.go) for workers, who read, cut, embed and keep it in batches (work.go). What is kept is in the store, what is needed to
// find it in memory (catalog.go). A search (search.go) ranks pieces (rank.go), reads the best of them from the store (show.go) and folds those that
// say the same (rank.go). Vectors of a remote model are made on the side (remote.go).
package knowledge

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"log/slog"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"remit/internal/search/tree"
)

// Embedder makes vectors of texts. Its methods are safe for concurrent use.
type Embedder interface {
	// ID names the model, its dimension and its version: vectors of equal names can be compared. It is "" as long as the
	// dimension is not known, which the first answer tells.
	ID() string

	// Dim is the length of the vectors; 0 as long as it is not known.
	Dim() int

	// Embed gives a vector for each text. What its error says is for callers: short, without secrets and addresses.
	Embed(ctx context.Context, texts []string) ([][]float32, error)
}

// Memory are the memory files, which may be kept elsewhere than among the files.
type Memory interface {
	// Stamps gives the files by name; a stamp changes whenever its file does. It is cheap.
	Stamps(ctx context.Context) (map[string]string, error)

	// Read gives the lines of a file that are searched, which are the last ones, and how many lines stand before them. These grow
	// in large steps alone: with each of them, all that is kept of the file is kept anew.
	Read(ctx context.Context, name string) (content []byte, before int, err error)
}

// Options say what an index is made of. Open and Tree are needed.
type Options struct {
	Open         func(ctx context.Context) (Store, error) // called whenever the store is needed
	Tree         func() (*tree.Tree, error)               // a reader of the files that the index closes; called once it is needed
	Memory       Memory                                   // nil: none
	MemoryFolder string                                   // where callers find memory files among the others, which are not indexed as such
	Local        func() (Embedder, error)                 // the model in the program, opened when needed; nil: words alone count
	Remote       Embedder                                 // nil: none
	RemoteOnly   bool                                     // a query that the remote model does not embed fails

	// Skip gives the rule by which the tree and Memory leave things out: whether a file, or a folder with all that is in it, may not be
	// searched. By it nothing is found of what was kept before the rule was. Called until it succeeds; nil: nothing is left out.
	Skip func() (func(path string, folder bool) bool, error)

	// Boosts gives how much files matter by how they are read, from 0 to 1. Nil: all the same.
	Boosts func(ctx context.Context, paths []string) (map[string]float64, error)

	Now     func() time.Time // nil is time.Now
	Log     *slog.Logger     // nil logs nothing
	Workers int              // that index at the same time; one fewer than there are cores if it is 0
}

// limits are how long things may take, and how much is done at a time. Tests have others.
type limits struct {
	longest time.Duration // that a search waits at all: for memory files, and while there is nothing to answer from
	first   time.Duration // that the first search waits for everything
	fresh   time.Duration // that a search waits for what has changed
	busy    time.Duration // the same, while there is a lot to do
	query   time.Duration // for the remote vector of a query
	calm    time.Duration // after a failure of the remote model, before it is asked for queries again
	retry   time.Duration // after a failure of the store, at first
	lease   time.Duration // of the bulk of the work
	others  time.Duration // between looks at what another process has done
	bulk    int           // files that need the lease
}

func defaultLimits() limits {
	return limits{
		longest: 4 * time.Second, first: 1500 * time.Millisecond, fresh: 250 * time.Millisecond, busy: 50 * time.Millisecond, query: 2 * time.Second,
		calm: 5 * time.Second, retry: 500 * time.Millisecond, lease: 4 * time.Second, others: time.Second, bulk: 64,
	}
}

// ErrClosed is what everybody gets after Close.
var ErrClosed = errors.New("the index is closed")

// ErrEmpty says that nothing is indexed, and that there is nothing to index.
var ErrEmpty = errors.New("nothing is indexed")

// BuildingError says that the first index is being built, and that there is nothing in it yet.
type BuildingError struct{ State State }

func (e *BuildingError) Error() string { return "the index is being built" }

// EmbeddingError says that the remote model, which alone is wanted, gave no vector for a query.
type EmbeddingError struct{ Details string }

func (e *EmbeddingError) Error() string { return "embed query: " + e.Details }

// Index is what a project knows. It is safe for concurrent use.
type Index struct {
	o      Options
	limits limits
	holder string // of the lease

	ctx    context.Context // ends with Close
	cancel context.CancelFunc
	work   sync.WaitGroup // everything in the background
	users  sync.WaitGroup // calls
	wake   chan struct{}  // tells the conductor that a round is wanted

	catalog  *catalog
	queue    *queue
	courtesy courtesy        // of the work in the background towards searches
	local    func() Embedder // nil if there is none
	tree     atomic.Pointer[tree.Tree]
	many     atomic.Bool // so many files are being looked at that they may become the bulk of the work
	remote   *remote     // nil if there is none

	commits sync.Mutex   // one change of the store at a time
	since   atomic.Int64 // the generation up to which the catalog has everything; changed by who holds commits

	conductor conductor // the conductor's own

	mu      sync.Mutex // guards the rest
	started bool
	closed  bool
	next    *round // that has not begun
	status  status
	fed     map[string]*Source // that the next round keeps, by path

	leasing sync.Mutex // guards leased
	leased  time.Time  // until when the bulk of the work is this process's
}

// New makes an index. Nothing happens before the first Search, Run, Overview or Module.
func New(o Options) *Index {
	if o.Now == nil {
		o.Now = time.Now
	}
	o.Log = cmp.Or(o.Log, slog.New(slog.DiscardHandler))
	o.Workers = cmp.Or(max(o.Workers, 0), max(1, runtime.NumCPU()-1))
	x := &Index{o: o, limits: defaultLimits(), holder: rand.Text(), wake: make(chan struct{}, 1), queue: newQueue(), fed: map[string]*Source{}}
	x.ctx, x.cancel = context.WithCancel(context.Background())
	x.local = sync.OnceValue(x.openLocal)
	x.courtesy.now = o.Now
	x.catalog = newCatalog(x.dimension, x.giveWay)
	if o.Remote != nil {
		x.remote = &remote{x: x, model: o.Remote, wake: make(chan struct{}, 1), changed: make(chan struct{})}
	}
	return x
}

// dimension is that of the model in the program; 0 if there is none.
func (x *Index) dimension() int {
	if local := x.local(); local != nil {
		return local.Dim()
	}
	return 0
}

// openLocal opens the model in the program. Without it words alone count.
func (x *Index) openLocal() Embedder {
	if x.o.Local == nil {
		return nil
	}
	local, err := x.o.Local()
	if err != nil {
		x.o.Log.Error("the model in the program cannot be opened: searches go by words alone", "error", err)
		return nil
	}
	return local
}

// enter begins a call, which must end with leave. The context ends with the index too.
func (x *Index) enter(ctx context.Context) (inner context.Context, leave func(), err error) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.closed {
		return nil, nil, ErrClosed
	}
	x.users.Add(1)
	inner, cancel := context.WithCancel(ctx)
	stop := context.AfterFunc(x.ctx, cancel)
	return inner, func() { stop(); cancel(); x.users.Done() }, nil
}

// start begins the work in the background. mu must be locked.
func (x *Index) start() {
	if x.started || x.closed {
		return
	}
	x.started = true
	x.work.Go(x.conduct)
	for range x.o.Workers {
		x.work.Go(x.toil)
	}
	if x.remote != nil {
		x.work.Go(x.remote.run)
	}
}

// Close ends calls and the work in the background, and waits for them. What is in hand is dropped, and done again another time.
func (x *Index) Close() error {
	x.mu.Lock()
	again := x.closed
	x.closed = true
	x.mu.Unlock()
	x.cancel()
	x.work.Wait()
	x.users.Wait()
	if again {
		return nil
	}
	x.release()
	if t := x.tree.Load(); t != nil {
		return t.Close()
	}
	return nil
}

// giveWay lets searches go first, between two steps of work.
func (x *Index) giveWay() { x.courtesy.giveWay(x.ctx) }

// pause waits, but not beyond Close.
func (x *Index) pause(d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-x.ctx.Done():
		return false
	}
}
