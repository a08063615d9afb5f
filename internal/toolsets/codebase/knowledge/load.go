package knowledge

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"sync"
)

// The minimum number of chunks that are added to the catalog at once: small at first, so that
// searches soon have something to search in, then growing, because larger batches are cheaper.
const (
	fewChunks  = 512
	manyChunks = 4096
)

// load adds to the catalog what the store has and the catalog lacks: everything at first, later the
// changes of other processes.
func (x *Index) load() error {
	store, err := x.store(x.ctx)
	if err != nil {
		return err
	}
	if !x.refresher.loaded {
		opened, err := x.openSnapshot(store)
		if err == nil && !opened {
			err = x.countStored(store)
		}
		if err != nil {
			return err
		}
	}
	err = x.loadSince(store, x.since.Load())
	if errors.Is(err, ErrOutdated) {
		err = x.reload(store)
	}
	if err != nil {
		return fmt.Errorf("load chunks: %w", err)
	}
	if !x.refresher.loaded {
		x.refresher.loaded = true
		x.mu.Lock()
		x.status.loaded = true
		x.mu.Unlock()
		x.checkCut()
	}
	return nil
}

// countStored notes how many sources will be loaded.
func (x *Index) countStored(store Store) error {
	n, err := store.Count(x.ctx)
	if err != nil {
		return fmt.Errorf("count sources: %w", err)
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	x.status.stored = n
	return nil
}

// reload starts again with a store that may be a different one. Whatever it lacks is indexed again.
func (x *Index) reload(store Store) error {
	x.commits.Lock()
	x.since.Store(0)
	x.catalog.invalidate(true)
	x.commits.Unlock()
	if err := x.loadSince(store, 0); err != nil {
		return err
	}
	x.catalog.forgetUnkept()
	x.refresher.stamps = nil
	x.resurvey()
	return nil
}

// loadSince loads what changed after a generation.
func (x *Index) loadSince(store Store, since int64) error {
	pathFilter, err := x.pathFilter()
	if err != nil {
		return err
	}
	l := &loading{x: x, store: store, pathFilter: pathFilter, room: make(chan struct{}, loaders)}
	newest, err := store.Load(x.ctx, since, l.add)
	l.flush()
	l.learners.Wait()
	if err := errors.Join(err, l.failed); err != nil || l.waits {
		return err
	}
	if newest <= x.since.Load() { // do not wait for a process that is changing the store right now
		return nil
	}
	x.commits.Lock()
	defer x.commits.Unlock()
	x.since.Store(max(x.since.Load(), newest))
	return nil
}

// loaders is the number of batches added to the catalog concurrently.
const loaders = 2

// A loading is the state of a load from the store into the catalog.
type loading struct {
	x          *Index
	store      Store
	pathFilter *pathFilter
	batch      []Source
	size       int
	given      int  // number of chunks received
	waits      bool // something must be loaded another time

	learners sync.WaitGroup
	room     chan struct{}
	mu       sync.Mutex // guards failed
	failed   error
}

func (l *loading) add(s Source) error {
	switch pending, news := l.x.catalog.awaits(s); {
	case pending: // most likely this process is storing it right now
		l.waits = true
		return nil
	case !news:
		return nil
	}
	s = l.bare(s)
	l.batch = append(l.batch, s)
	l.size += len(s.Chunks)
	l.given += len(s.Chunks)
	if enough := min(max(fewChunks, l.given/4), manyChunks); l.size >= enough || len(l.batch) >= enough {
		l.flush()
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.failed
}

// flush adds the batch to the catalog as soon as a loader is free.
func (l *loading) flush() {
	batch := l.batch
	l.batch, l.size = nil, 0
	if len(batch) == 0 {
		return
	}
	l.room <- struct{}{}
	l.learners.Go(func() {
		defer func() { <-l.room }()
		err := guarded("load", func() error { return l.x.learn(l.x.ctx, l.store, batch) })
		l.mu.Lock()
		defer l.mu.Unlock()
		l.failed = errors.Join(l.failed, err)
	})
}

// expect counts the loaders that are about to add sources to the catalog; more is 1 or -1.
func (c *catalog) expect(sources []Source, more int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, s := range sources {
		c.pending[s.Path] += more
		if c.pending[s.Path] == 0 {
			delete(c.pending, s.Path)
		}
	}
}

// awaits reports whether a source is about to be added to the catalog, and whether it is newer than
// the known one.
func (c *catalog) awaits(s Source) (pending, news bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	o := c.origins[s.Path]
	return c.pending[s.Path] > 0, o == nil || o.generation < s.Generation
}

// learn adds sources of the store to the catalog. It leaves out a source that causes a panic.
func (x *Index) learn(ctx context.Context, store Store, sources []Source) error {
	vectors, err := x.vectors(ctx, store, sources)
	if err != nil {
		return err
	}
	err = oneByOne("load", sources, func(some []Source) error {
		x.catalog.apply(some, vectors)
		return nil
	}, x.logLeftOut)
	if err != nil {
		return err
	}
	x.nudgeRemote()
	return nil
}

// cutVersion must be changed whenever the program cuts files into chunks differently. All files are
// then cut again.
const cutVersion = "3"

// cutMark is the path of the source that records the cutVersion of the stored files.
const cutMark = markPrefix + "cut"

func cutHash() [32]byte { return sha256.Sum256([]byte(cutVersion)) }

// checkCut schedules all files to be cut again if another version cut them.
func (x *Index) checkCut() {
	_, hash, found := x.catalog.known(cutMark)
	sources, _ := x.catalog.counts()
	x.refresher.marked = found && hash == cutHash()
	// This version writes its mark before the first of its chunks.
	x.refresher.recut = sources > 0 && !x.refresher.marked
	if x.refresher.recut {
		x.catalog.invalidate(false)
	}
}

// markCut records that all files are cut by this version, once that is true.
func (x *Index) markCut(ctx context.Context) error {
	c := &x.refresher
	if left, _ := x.queue.progress(); c.marked || c.recut && (!c.surveyed || left > 0) {
		return nil
	}
	mark := Source{Path: cutMark, Hash: cutHash(), Modified: microseconds(x.o.Now())}
	if err := x.commit(ctx, []Source{mark}, nil); err != nil {
		return err
	}
	c.marked = true
	return nil
}
