// Package knowledge indexes a project in chunks, and finds them by words and by meaning. It neither
// defines tools nor stores anything itself: a Store does.
//
// A search requests a refresh (refresh.go), which brings the index up to date: with what other
// processes put into the store (load.go) as far as it may be searched (paths.go), the memory files
// (memory.go), sources that were fed (feed.go) and the files of the tree (survey.go). A refresh
// processes small changes itself; the rest waits in a queue (queue.go) for workers that read, cut,
// embed and store it in batches (work.go). The chunks are in the store; what is needed to find them
// is in memory (catalog.go). A search (search.go) ranks chunks (rank.go), reads the best of them
// from the store (show.go) and merges duplicates (rank.go). Vectors of a remote model are computed
// in the background (remote.go).
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

// Embedder computes vectors of texts. Its methods are safe for concurrent use.
type Embedder interface {
	// ID returns the name of the model, its dimension and its version: vectors with equal ids are
	// comparable. It is "" until the dimension is known from the first answer.
	ID() string

	// Dim returns the length of the vectors, or 0 until it is known.
	Dim() int

	// Embed returns a vector for each text. Its error text is shown to callers, so it must be short
	// and without secrets and addresses.
	Embed(ctx context.Context, texts []string) ([][]float32, error)
}

// Memory gives access to the memory files, which may be stored outside the tree.
type Memory interface {
	// Stamps returns the stamps of the files by name. A stamp changes whenever its file does. It is
	// cheap.
	Stamps(ctx context.Context) (map[string]string, error)

	// Read returns the lines of a file to be searched, which are the last ones, and the number of
	// lines before them. That number grows only in large steps, because each step causes the whole
	// file to be stored again.
	Read(ctx context.Context, name string) (content []byte, before int, err error)
}

// Options holds the parameters of New. Open and Tree are required.
type Options struct {
	Open func(ctx context.Context) (Store, error) // called whenever the store is needed
	// Returns a reader of the files that the index closes; called once when needed.
	Tree   func() (*tree.Tree, error)
	Memory Memory // nil means none
	// The folder in which callers see memory files; its files are not indexed as ordinary files.
	MemoryFolder string
	// Opens the built-in model when needed; nil means that only words count.
	Local  func() (Embedder, error)
	Remote Embedder // nil means none
	// Fail a query that the remote model does not embed.
	RemoteOnly bool

	// Skip returns the rule by which the tree and Memory leave things out: whether a file, or a
	// folder with all its contents, must not be searched. It also hides what was stored before the
	// rule existed. It is called until it succeeds; nil means that nothing is left out.
	Skip func() (func(path string, folder bool) bool, error)

	// Boosts returns the importance of files by how they are read, from 0 to 1. Nil means that all
	// are equal.
	Boosts func(ctx context.Context, paths []string) (map[string]float64, error)

	Snapshots SnapshotFile // nil means none

	Now func() time.Time // nil means time.Now
	Log *slog.Logger     // nil logs nothing
	// Number of indexing goroutines; 0 means one less than the number of cores.
	Workers int
}

// limits holds time limits and batch sizes. Tests use others.
type limits struct {
	// The maximum wait of a search: for memory files, and while there is nothing to search in.
	longest time.Duration
	first   time.Duration // the wait of the first search for everything
	fresh   time.Duration // the wait of a search for recent changes
	busy    time.Duration // the same, while there is much to do
	start   time.Duration // the wait of the first search, if the index is large
	loading time.Duration // the wait of a search for the load of the stored index, if that is large
	query   time.Duration // the time for embedding a query remotely
	calm    time.Duration // after a failure of the remote model, the time without queries to it
	retry   time.Duration // after a failure of the store, the first delay
	lease   time.Duration // the duration of the lease for the bulk of the work
	others  time.Duration // the interval of checks for the work of another process
	bulk    int           // the number of files from which on the lease is needed
	large   int           // the number of chunks, or of stored sources, of a large index
	// The number of chunks from which on the index has a snapshot, and the number of changed chunks
	// from which on the snapshot is replaced.
	snapshot int
}

func defaultLimits() limits {
	return limits{
		longest: 4 * time.Second, first: 1500 * time.Millisecond, fresh: 250 * time.Millisecond, busy: 50 * time.Millisecond,
		start: 200 * time.Millisecond, loading: 150 * time.Millisecond, query: 2 * time.Second,
		calm: 5 * time.Second, retry: 500 * time.Millisecond, lease: 4 * time.Second, others: time.Second, bulk: 64, large: 5000, snapshot: 2000,
	}
}

// ErrClosed is returned by all methods after Close.
var ErrClosed = errors.New("the index is closed")

// ErrEmpty means that nothing is indexed and there is nothing to index.
var ErrEmpty = errors.New("nothing is indexed")

// BuildingError means that the first index is being built and is still empty.
type BuildingError struct{ State State }

func (e *BuildingError) Error() string { return "the index is being built" }

// EmbeddingError means that the remote model gave no vector for a query, with RemoteOnly.
type EmbeddingError struct{ Details string }

func (e *EmbeddingError) Error() string { return "embed query: " + e.Details }

// Index is the index of a project. It is safe for concurrent use.
type Index struct {
	o      Options
	limits limits
	holder string // of the lease

	ctx    context.Context // ends with Close
	cancel context.CancelFunc
	work   sync.WaitGroup // background work
	users  sync.WaitGroup // calls
	wake   chan struct{}  // wakes the goroutine that runs refreshes

	catalog  *catalog
	queue    *queue
	priority priority        // gives searches priority over background work
	local    func() Embedder // nil if there is none
	tree     atomic.Pointer[tree.Tree]
	surveyed atomic.Bool // all files of the tree were examined once
	many     atomic.Bool // so many files are being examined that the lease may be needed
	remote   *remote     // nil if there is none

	commits sync.Mutex // one change of the store at a time
	// The generation up to which the catalog is complete; changed with commits held.
	since atomic.Int64

	refresher refresher // used only by the goroutine that runs refreshes
	keeper    keeper

	mu      sync.Mutex // guards the rest
	started bool
	closed  bool
	next    *refresh // has not begun
	status  status
	fed     map[string]*Source // sources for the next refresh to store, by path

	leasing sync.Mutex // guards leased
	leased  time.Time  // until when this process has the lease
}

// New returns an index. It does nothing before the first Search, Run, Overview or Module.
func New(o Options) *Index {
	if o.Now == nil {
		o.Now = time.Now
	}
	o.Log = cmp.Or(o.Log, slog.New(slog.DiscardHandler))
	o.Workers = cmp.Or(max(o.Workers, 0), max(1, runtime.NumCPU()-1))
	x := &Index{o: o, limits: defaultLimits(), holder: rand.Text(), wake: make(chan struct{}, 1), queue: newQueue(), fed: map[string]*Source{}}
	x.ctx, x.cancel = context.WithCancel(context.Background())
	x.local = sync.OnceValue(x.openLocal)
	x.priority.now = o.Now
	x.catalog = newCatalog(x.dimension, x.yield)
	if o.Remote != nil {
		x.remote = &remote{x: x, model: o.Remote, wake: make(chan struct{}, 1), changed: make(chan struct{})}
	}
	return x
}

// dimension returns the dimension of the built-in model; 0 if there is none.
func (x *Index) dimension() int {
	if local := x.local(); local != nil {
		return local.Dim()
	}
	return 0
}

// openLocal opens the built-in model. Without it only words count.
func (x *Index) openLocal() Embedder {
	if x.o.Local == nil {
		return nil
	}
	local, err := x.o.Local()
	if err != nil {
		x.o.Log.Error("cannot open the built-in model, searching by words alone", "error", err)
		return nil
	}
	return local
}

// enter begins a call, which must end with leave. The returned context also ends when the index is
// closed.
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

// start starts the background work. The caller must hold mu.
func (x *Index) start() {
	if x.started || x.closed {
		return
	}
	x.started = true
	x.work.Go(x.runRefreshes)
	for range x.o.Workers {
		x.work.Go(x.processQueue)
	}
	if x.remote != nil {
		x.work.Go(x.remote.run)
	}
}

// Close cancels calls and background work, and waits for them. Unfinished work is dropped and done
// again by the next process.
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
	x.keeper.free()
	x.release()
	if t := x.tree.Load(); t != nil {
		return t.Close()
	}
	return nil
}

// yield waits a short time for running searches, which have priority. It is called between two
// steps of work.
func (x *Index) yield() { x.priority.yield(x.ctx) }

// pause waits, but not beyond Close. It returns false after Close.
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
