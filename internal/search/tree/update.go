package tree

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"time"

	"remit/internal/search/ignore"
)

// Update brings the tree up to date: it reports everything that was done to the files before the
// call. It passes the changes to each in batches, from one goroutine at a time. The first Update
// reports every file as added, while it walks. If ctx ends, what was reported is true, and the next
// Update continues with the rest. One Update runs at a time; others wait.
func (t *Tree) Update(ctx context.Context, each func(Change)) error {
	t.update.Lock()
	defer t.update.Unlock()
	if err := ctx.Err(); err != nil {
		return err
	}
	if t.closed {
		return fs.ErrClosed
	}
	if err := t.detectChanges(); err != nil {
		return err
	}
	t.catchUp(each)
	if len(t.marked) == 0 {
		return nil
	}
	err := (&run{t: t, ctx: ctx, each: each}).runAll()
	t.checkWatch(err == nil)
	return err
}

// Unchanged reports whether it is known without checking files that an Update would report nothing.
// It returns false if files must be checked or an Update is running. Changes that it detects are
// left to the next Update.
func (t *Tree) Unchanged() bool {
	if !t.update.TryLock() {
		return false
	}
	defer t.update.Unlock()
	return t.caughtUp && t.missed.empty() && !t.closed && t.detectChanges() == nil && len(t.marked) == 0
}

// detectChanges marks the folders with tasks.
func (t *shared) detectChanges() error {
	if err := t.checkRoot(); err != nil {
		return err
	}
	t.refreshRepositories()
	t.collectEvents()
	return nil
}

// checkRoot ensures that the open root is the folder at its path.
func (t *shared) checkRoot() error {
	if t.rootHandle == nil {
		return fs.ErrClosed
	}
	id, err := identify(t.o.Root)
	if err != nil {
		return fmt.Errorf("root folder is gone: %w", err)
	}
	if id == t.rootHandle.id {
		return nil
	}
	rootHandle, err := openRoot(t.o.Root)
	if err != nil {
		return fmt.Errorf("root folder was replaced: %w", err)
	}
	t.o.Log.Info("root folder was replaced; listing all of it again")
	t.rootMu.Lock()
	t.rootHandle.close()
	t.rootHandle = rootHandle
	t.rootMu.Unlock()
	t.unwatch()
	t.watchDecided, t.root.repo = false, nil
	t.mark(t.root, list|deep|stat)
	return nil
}

// refreshRepositories reopens repositories whose configuration, rules or index have changed.
func (t *shared) refreshRepositories() {
	t.repos = slices.DeleteFunc(t.repos, (*repository).obsolete)
	for _, old := range t.repos {
		here := t.hostPath(old.at)
		if !old.Stale() && !old.becameRepository(here) {
			continue
		}
		now, err := ignore.Open(here, t.o.Env)
		if err == nil && (old.candidate && !isTop(now, here) || !old.candidate && now.Same(old.Repository)) {
			old.Repository = now
			continue
		}
		old.at.repo = nil // it is opened again when the folder is listed
		old.candidate = false
		t.mark(old.at, list|deep)
	}
}

func (t *shared) hostPath(f *folder) string {
	return filepath.Join(t.o.Root, filepath.FromSlash(string(f.path(nil))))
}

// sweepInterval is how long watches are trusted. They do not report writes to mapped memory, or
// through another hard link of a file.
const sweepInterval = 30 * time.Second

// collectEvents marks what may have changed: from the events of watches, or by marking everything
// to be checked.
func (t *shared) collectEvents() {
	if !t.watchDecided {
		t.watchDecided = true
		t.startWatch()
	}
	now := t.now()
	if t.watch == nil || now.Sub(t.lastSweep) > sweepInterval || now.Before(t.lastSweep) {
		t.lastSweep = now
		t.mark(t.root, check)
	}
	if t.watch == nil {
		return
	}
	whole, err := t.watch.drain(t.handleEvent)
	if err != nil {
		t.o.Log.Warn("cannot watch files any more; every search checks all of them", "err", err)
		t.unwatch()
	}
	if err != nil || !whole {
		t.o.Log.Debug("the event queue overflowed; listing all folders again")
		t.mark(t.root, list|deep|stat)
	}
}

// startWatch starts watching if that is possible.
func (t *shared) startWatch() {
	if t.o.NoWatch {
		return
	}
	watch, err := newWatcher(t.rootHandle, t.limit)
	if err != nil {
		t.o.Log.Info("files are not watched; every search checks all of them", "err", err)
		return
	}
	t.watch = watch
}

// event is a change to a name in a watched folder, or to the folder itself.
type event struct {
	folder   *folder
	name     string // "" means the folder itself
	entries  bool   // the name was added, removed or replaced, not only its content changed
	isFolder bool   // the name is that of a folder
	lost     bool   // the folder is no longer watched
}

// handleEvent marks the tasks that follow from an event.
func (t *shared) handleEvent(e event) {
	f := e.folder
	switch {
	case e.lost:
		t.mark(f, list|deep|stat)
	case e.name == "":
		if f == t.root { // its parent is not watched
			t.mark(f, list|deep|stat)
		}
	case e.isFolder:
		t.mark(f, list)
		if c := f.child(e.name); c != nil {
			t.mark(c, list|deep|stat)
		}
	default:
		do := checkNamed
		if e.entries || e.name == gitignore || e.name == git {
			do |= list
		}
		t.mark(f, do)
		if t.touched[f] == nil {
			t.touched[f] = map[string]struct{}{}
		}
		t.touched[f][e.name] = struct{}{}
	}
}

// mark adds tasks to a folder.
func (t *shared) mark(f *folder, do todo) {
	f.todo |= do
	if !f.queued {
		f.queued = true
		t.marked = append(t.marked, f)
	}
}

// checkWatch stops watching if it failed during the walk. whole says whether all of the tree was
// walked.
func (t *shared) checkWatch(whole bool) {
	if t.watch == nil {
		return
	}
	err := t.watch.failure(whole)
	if err == nil {
		return
	}
	t.unwatch()
	t.o.Log.Info("files are not watched; every search checks all of them", "err", err)
}

func (t *shared) unwatch() {
	if t.watch != nil {
		t.watch.close()
		t.watch = nil
	}
}

// Reasons not to watch.
var (
	errTooMany   = errors.New("too many folders to watch")
	errRemote    = errors.New("some folders are on a remote file system")
	errDuplicate = errors.New("a folder is in the tree twice")
)
