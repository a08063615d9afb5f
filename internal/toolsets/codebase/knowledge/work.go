package knowledge

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"time"

	"remit/internal/search/chunk"
)

// processQueue processes the queue, batch after batch, until the index is closed.
func (x *Index) processQueue() {
	var delay time.Duration
	for x.queue.await(x.ctx, x.queue.some) {
		if !x.mayWork() {
			x.pause(x.limits.others)
			x.skipDone()
			continue
		}
		batch := x.queue.take(other)
		if len(batch) == 0 {
			x.release() // another process has done the rest
			continue
		}
		err := x.process(x.ctx, batch)
		if x.ctx.Err() != nil {
			return
		}
		if err != nil {
			delay = min(max(2*delay, x.limits.retry), 30*time.Second)
			x.noteTrouble(err)
			x.pause(delay)
			continue
		}
		delay = 0
		x.noteTrouble(nil)
		if left, _ := x.queue.progress(); left == 0 {
			x.release()
			x.join() // for a last check, which may complete what waited for the work to end
		}
	}
}

// skipDone loads what another process has done, and removes it from the queue.
func (x *Index) skipDone() {
	r, _ := x.join()
	select {
	case <-r.done:
	case <-x.ctx.Done():
		return
	}
	x.queue.prune(func(j *job) bool {
		known, _, found := x.catalog.known(j.path)
		there := x.catalog.file(j.path) != nil
		return found && there && !j.must && known == j.stamp || !found && !there
	})
}

// process processes a batch of jobs: all of them or, with an error, none. Files that cannot be
// indexed count as done.
func (x *Index) process(ctx context.Context, batch []*job) error {
	var sources []Source
	renewed := map[string]bool{}
	for _, j := range batch {
		if ctx.Err() != nil {
			break
		}
		x.yield()
		s, change := x.prepare(j)
		switch change {
		case nothing:
			continue
		case renewal:
			renewed[s.Path] = true
		}
		sources = append(sources, s)
	}
	err := ctx.Err()
	if err == nil && len(sources) > 0 {
		err = x.attempt(ctx, sources, renewed)
	}
	x.queue.finish(batch, err == nil)
	return err
}

// attempt commits sources. It leaves out a source that causes a panic.
func (x *Index) attempt(ctx context.Context, sources []Source, renewed map[string]bool) error {
	return oneByOne("index", sources, func(some []Source) error { return x.commit(ctx, some, renewed) }, x.logLeftOut)
}

func (x *Index) logLeftOut(s Source, err error) {
	x.o.Log.Error("cannot index a file", "path", s.Path, "error", err)
}

// outcome is the result of preparing a job.
type outcome int

const (
	nothing outcome = iota
	replacement
	renewal // of the stamp only: the content is the same
)

// prepare processes a job as far as it does not need the store.
func (x *Index) prepare(j *job) (Source, outcome) {
	known, hash, found := x.catalog.known(j.path)
	gone := Source{Path: j.path, Gone: true, Modified: microseconds(x.o.Now())}
	content, seen, err := x.read(j.path)
	if err != nil {
		x.logUnread(j.path, err)
		if !found || x.ctx.Err() != nil {
			return Source{}, nothing
		}
		return gone, replacement
	}
	if found && known == seen && !j.must {
		return Source{}, nothing // another process was faster
	}
	sum := sha256.Sum256(content)
	kept := seen.kept(x.o.Now())
	if found && hash == sum && known == kept {
		return Source{}, nothing
	}
	s := Source{Path: j.path, Hash: sum, Size: kept.size, Modified: time.UnixMicro(seen.modified).UTC()}
	s.Chunks = x.cut(j.path, content)
	if found && hash == sum {
		return s, renewal
	}
	return s, replacement
}

// logUnread logs once that a file is left out. It ignores files that were deleted meanwhile.
func (x *Index) logUnread(path string, err error) {
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, errLarge) || x.ctx.Err() != nil {
		return
	}
	x.mu.Lock()
	logged := x.status.logged[path]
	if x.status.logged == nil {
		x.status.logged = map[string]bool{}
	}
	x.status.logged[path] = true
	x.mu.Unlock()
	if !logged {
		x.o.Log.Warn("cannot read a file, leaving it out of the index", "path", path, "error", err)
	}
}

// cut cuts a file into chunks. A file that cannot be cut has none.
func (x *Index) cut(path string, content []byte) (made []Chunk) {
	err := guarded("cut "+path, func() error {
		for i, p := range chunk.Of(path, content) {
			made = append(made, newChunk(path, i, p))
		}
		return nil
	})
	if err != nil {
		x.o.Log.Error("cannot index a file", "path", path, "error", err)
		return nil
	}
	return made
}

// commitTime is the time limit for storing a batch.
const commitTime = time.Minute

// commit embeds sources, stores them and adds them to the catalog. Sources whose path is in renewed
// have the same content as before; they are not embedded again.
func (x *Index) commit(ctx context.Context, sources []Source, renewed map[string]bool) error {
	ctx, cancel := context.WithTimeout(ctx, commitTime)
	defer cancel()
	store, err := x.store(ctx)
	if err != nil {
		return err
	}
	changed := slices.DeleteFunc(slices.Clone(sources), func(s Source) bool { return renewed[s.Path] })
	vectors, err := x.vectors(ctx, store, changed)
	if err != nil {
		return err
	}
	x.catalog.expect(sources, 1)
	defer x.catalog.expect(sources, -1)
	generation, err := x.replace(ctx, store, sources)
	if err != nil {
		return err
	}
	for i := range changed {
		changed[i].Generation = generation
	}
	x.catalog.apply(changed, vectors)
	for _, s := range sources {
		if renewed[s.Path] {
			s.Generation = generation
			x.catalog.restamp(s)
		}
	}
	x.nudgeRemote()
	return nil
}

// replace stores sources.
func (x *Index) replace(ctx context.Context, store Store, sources []Source) (int64, error) {
	x.commits.Lock()
	defer x.commits.Unlock()
	generation, err := store.Replace(ctx, sources)
	if err != nil {
		return 0, fmt.Errorf("store chunks: %w", err)
	}
	// Otherwise another process made a change too, and a load is due.
	x.since.CompareAndSwap(generation-1, generation)
	return generation, nil
}

// mayWork reports whether this process may process the queue: always if it is short, otherwise if
// it has the lease. Duplicate work by two processes is harmless, so a failing store does not
// prevent the attempt.
func (x *Index) mayWork() bool {
	if left, _ := x.queue.progress(); left <= x.limits.bulk && !x.many.Load() {
		return true
	}
	x.leasing.Lock()
	defer x.leasing.Unlock()
	now := x.o.Now()
	if x.leased.Sub(now) > x.limits.lease/2 {
		return true
	}
	until := now.Add(x.limits.lease)
	got, err := x.lease(x.ctx, until, now)
	if err != nil {
		return true // the work itself will fail, and report it
	}
	x.leased = time.Time{}
	if got {
		x.leased = until
	}
	return got
}

func (x *Index) lease(ctx context.Context, until, now time.Time) (bool, error) {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	store, err := x.store(ctx)
	if err != nil {
		return false, err
	}
	return store.Lease(ctx, x.holder, until, now)
}

// release returns the lease, even after Close.
func (x *Index) release() {
	x.leasing.Lock()
	defer x.leasing.Unlock()
	if x.leased.IsZero() {
		return
	}
	x.leased = time.Time{}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(x.ctx), 500*time.Millisecond)
	defer cancel()
	if _, err := x.lease(ctx, time.Time{}, x.o.Now()); err != nil {
		x.o.Log.Debug("the indexing lease could not be returned; it will expire", "error", err)
	}
}
