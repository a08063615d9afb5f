package knowledge

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"sync"
)

// At least so many pieces are put into the catalog at once: few at first, so that there is something to answer from, and more and
// more, as that is less work.
const (
	fewPieces  = 512
	manyPieces = 4096
)

// load puts into the catalog what the store has and the catalog has not: everything at first, what others did later.
func (x *Index) load() error {
	store, err := x.store(x.ctx)
	if err != nil {
		return err
	}
	err = x.loadSince(store, x.since.Load())
	if errors.Is(err, ErrOutdated) {
		err = x.reload(store)
	}
	if err != nil {
		return fmt.Errorf("load pieces: %w", err)
	}
	if !x.conductor.loaded {
		x.conductor.loaded = true
		x.mu.Lock()
		x.status.loaded = true
		x.mu.Unlock()
		x.checkCut()
	}
	return nil
}

// reload begins again, with a store that may be another than before. What it does not have is indexed again.
func (x *Index) reload(store Store) error {
	x.commits.Lock()
	x.since.Store(0)
	x.catalog.doubt(true)
	x.commits.Unlock()
	if err := x.loadSince(store, 0); err != nil {
		return err
	}
	x.catalog.forgetUnkept()
	x.conductor.stamps = nil
	x.resurvey()
	return nil
}

// loadSince loads what changed after a generation.
func (x *Index) loadSince(store Store, since int64) error {
	reach, err := x.reach()
	if err != nil {
		return err
	}
	l := &loading{x: x, store: store, reach: reach, room: make(chan struct{}, loaders)}
	newest, err := store.Load(x.ctx, since, l.add)
	l.flush()
	l.learners.Wait()
	if err := errors.Join(err, l.failed); err != nil || l.waits {
		return err
	}
	if newest <= x.since.Load() { // nobody is to wait for who changes the store just now
		return nil
	}
	x.commits.Lock()
	defer x.commits.Unlock()
	x.since.Store(max(x.since.Load(), newest))
	return nil
}

// loaders is how many batches are put into the catalog at the same time.
const loaders = 2

// A loading is sources on their way from the store into the catalog.
type loading struct {
	x     *Index
	store Store
	reach *reach
	batch []Source
	size  int
	given int  // pieces that came
	waits bool // something is to be loaded another time

	learners sync.WaitGroup
	room     chan struct{}
	mu       sync.Mutex // guards failed
	failed   error
}

func (l *loading) add(s Source) error {
	switch pending, news := l.x.catalog.awaits(s); {
	case pending: // most likely it is what this process keeps just now
		l.waits = true
		return nil
	case !news:
		return nil
	}
	s = l.bare(s)
	l.batch = append(l.batch, s)
	l.size += len(s.Pieces)
	l.given += len(s.Pieces)
	if enough := min(max(fewPieces, l.given/4), manyPieces); l.size >= enough || len(l.batch) >= enough {
		l.flush()
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.failed
}

// flush has the batch put into the catalog, as soon as there is somebody to do it.
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

// expect notes that sources are about to be put into the catalog, by one more who does so or one less.
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

// awaits tells whether a source is about to be put into the catalog, and whether it is newer than what is known.
func (c *catalog) awaits(s Source) (pending, news bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	o := c.origins[s.Path]
	return c.pending[s.Path] > 0, o == nil || o.generation < s.Generation
}

// learn puts sources of the store into the catalog. One that makes the program panic is left out.
func (x *Index) learn(ctx context.Context, store Store, sources []Source) error {
	vectors, err := x.vectors(ctx, store, sources)
	if err != nil {
		return err
	}
	err = singly("load", sources, func(some []Source) error {
		x.catalog.apply(some, vectors)
		return nil
	}, x.tellLeftOut)
	if err != nil {
		return err
	}
	x.touch()
	return nil
}

// cutVersion changes whenever files are to be cut anew, because another version of the program cuts them in another way.
const cutVersion = "3"

// cutMark is the source that notes by which version the files were cut.
const cutMark = markPrefix + "cut"

func cutHash() [32]byte { return sha256.Sum256([]byte(cutVersion)) }

// checkCut has all files cut again if they were cut by another version.
func (x *Index) checkCut() {
	_, hash, found := x.catalog.known(cutMark)
	sources, _ := x.catalog.counts()
	x.conductor.marked = found && hash == cutHash()
	x.conductor.recut = sources > 0 && !x.conductor.marked // what this version cuts is marked before there is any of it
	if x.conductor.recut {
		x.catalog.doubt(false)
	}
}

// markCut notes that all files are cut by this version, as soon as that is so.
func (x *Index) markCut(ctx context.Context) error {
	c := &x.conductor
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
