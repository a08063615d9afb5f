package knowledge

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"sync"
	"time"

	"remit/internal/search/offheap"
)

// A SnapshotFile is the file with the latest snapshot of the index, from which a new process
// continues. Its methods are safe for concurrent use.
type SnapshotFile interface {
	// Open opens the file for reading. It returns fs.ErrNotExist if there is none.
	Open() (*os.File, error)

	// Replace replaces the file by what write writes: all or, after an error, nothing. It returns
	// false without calling write if another process is replacing the file, or if there is no place
	// for it.
	Replace(write func(io.Writer) error) (done bool, err error)
}

// snapshotAge is the age from which on a snapshot is replaced after any change. The store knows
// deletions for a day only.
const snapshotAge = time.Hour

// keeper keeps a snapshot of the index up to date in a file.
type keeper struct {
	busy sync.Mutex // held while a snapshot is written

	mu      sync.Mutex // guards the rest
	valid   bool       // there is a snapshot
	changes int        // catalog.changes at the time of the snapshot
	made    time.Time
	memory  []byte // outside of the heap: what the index uses of the snapshot; nil if there is none
}

// openSnapshot fills the empty catalog from the snapshot, and returns whether there was a valid one
// for this store. The changes since then must be loaded afterwards.
func (x *Index) openSnapshot(store Store) (bool, error) {
	if x.o.Snapshots == nil || !x.catalog.empty() {
		return false, nil
	}
	data, outside, err := readSnapshot(x.o.Snapshots)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	defer func() {
		if outside && err != nil {
			offheap.Free(data)
		}
	}()
	var s *snapshot
	if err == nil {
		s, err = parseSnapshot(data)
	}
	if err == nil {
		err = x.checkSnapshot(store, s)
	}
	if err == nil {
		err = x.catalog.restore(s)
	}
	if err != nil {
		x.o.Log.Debug("cannot use the snapshot of the index, loading it from the database", "reason", err)
		return false, x.ctx.Err()
	}
	x.keeper.mu.Lock()
	x.keeper.valid, x.keeper.changes, x.keeper.made = true, 0, s.made
	if outside {
		x.keeper.memory = data
	}
	x.keeper.mu.Unlock()
	x.commits.Lock()
	x.since.Store(s.generation)
	x.commits.Unlock()
	x.nudgeRemote()
	return true, nil
}

// maxSnapshot is the maximum size of a snapshot in bytes.
const maxSnapshot = 2 << 30

// readSnapshot reads the file into memory outside of the heap. The file is not mapped: a mapped
// file that another program shortens would end the process.
func readSnapshot(from SnapshotFile) (data []byte, outside bool, err error) {
	file, err := from.Open()
	if err != nil {
		return nil, false, err
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return nil, false, fmt.Errorf("stat snapshot: %w", err)
	}
	if !info.Mode().IsRegular() || info.Size() == 0 || info.Size() > maxSnapshot {
		return nil, false, errSnapshot
	}
	data, outside = offheap.Alloc(int(info.Size()), true)
	if _, err := io.ReadFull(file, data); err != nil {
		if outside {
			offheap.Free(data)
		}
		return nil, false, fmt.Errorf("read snapshot: %w", err)
	}
	return data, outside, nil
}

// checkSnapshot returns an error unless the snapshot was made from this store with this version and
// model, and everything in it may be searched.
func (x *Index) checkSnapshot(store Store, s *snapshot) error {
	if s.cut != cutVersion || s.model != x.modelID() {
		return errors.New("the snapshot was made by another version or with another model")
	}
	generation, known, err := store.Snapshot(x.ctx, s.id)
	if err != nil {
		return fmt.Errorf("look up snapshot: %w", err)
	}
	if !known || generation != s.generation {
		return errors.New("the snapshot was not made from this database")
	}
	filter, err := x.pathFilter()
	if err != nil {
		return err
	}
	return x.checkHidden(filter, s.origins)
}

// checkHidden returns an error if any source must not be searched. Such a source may be stored with
// chunks but known without, or the other way round, until it is removed from the store.
func (x *Index) checkHidden(filter *pathFilter, origins []*origin) error {
	for _, o := range origins {
		if !o.gone && x.isHidden(filter, o.path) {
			return errors.New("the snapshot has files that must not be searched")
		}
	}
	return nil
}

// modelID returns the id of the built-in model; "" if there is none.
func (x *Index) modelID() string {
	if local := x.local(); local != nil {
		return local.ID()
	}
	return ""
}

// keepSnapshot writes a snapshot if one is due and no work is waiting.
func (x *Index) keepSnapshot(ctx context.Context) {
	if !x.keeper.busy.TryLock() {
		return
	}
	defer x.keeper.busy.Unlock()
	if !x.snapshotDue() {
		return
	}
	err := guarded("write snapshot", func() error { return x.writeSnapshot(ctx) })
	if err != nil && ctx.Err() == nil {
		x.o.Log.Debug("cannot write a snapshot of the index; the next process loads it from the database", "error", err)
	}
}

// snapshotDue reports whether the index differs enough from the snapshot.
func (x *Index) snapshotDue() bool {
	x.mu.Lock()
	complete := x.status.loaded && x.status.settled
	x.mu.Unlock()
	left, _ := x.queue.progress()
	if _, hash, found := x.catalog.known(cutMark); x.o.Snapshots == nil || !complete || left > 0 || !found || hash != cutHash() {
		return false
	}
	chunks, changes := x.catalog.changed()
	k := &x.keeper
	k.mu.Lock()
	defer k.mu.Unlock()
	news := changes - k.changes
	switch {
	case chunks < x.limits.snapshot: // it is loaded soon enough without
		return false
	case !k.valid:
		return true
	}
	return news >= x.limits.snapshot || news > 0 && x.o.Now().Sub(k.made) > snapshotAge
}

// writeSnapshot writes a snapshot.
func (x *Index) writeSnapshot(ctx context.Context) error {
	store, err := x.store(ctx)
	if err != nil {
		return err
	}
	filter := newPathFilter(nil)
	if x.o.Skip != nil {
		skip, err := x.o.Skip()
		if err != nil {
			return fmt.Errorf("read search rules: %w", err)
		}
		filter = newPathFilter(skip)
	}
	_, changes := x.catalog.changed() // those that come meanwhile may be in the snapshot too
	s := x.catalog.capture(x.since.Load())
	s.cut, s.model, s.made = cutVersion, x.modelID(), microseconds(x.o.Now())
	if _, err := rand.Read(s.id[:]); err != nil {
		return fmt.Errorf("make an id: %w", err)
	}
	if s.generation == 0 {
		return nil // it is being loaded again
	}
	if err := x.checkHidden(filter, s.origins); err != nil {
		return err
	}
	done, err := x.o.Snapshots.Replace(func(w io.Writer) error {
		if err := s.write(w); err != nil {
			return err
		}
		if err := ctx.Err(); err != nil {
			return err
		}
		return store.PutSnapshot(ctx, s.id, s.generation)
	})
	if err != nil || !done {
		return err
	}
	x.keeper.mu.Lock()
	defer x.keeper.mu.Unlock()
	x.keeper.valid, x.keeper.changes, x.keeper.made = true, changes, s.made
	return nil
}

// free releases the memory of the snapshot. Nobody may search any more.
func (k *keeper) free() {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.memory != nil {
		offheap.Free(k.memory)
		k.memory = nil
	}
}
