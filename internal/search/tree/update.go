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

// Update brings the tree up to date: whatever was done to the files before it was called is in what it reports. The changes come
// in batches, from one goroutine at a time; the first Update reports every file as added, while it walks. If ctx ends, what was
// reported is true, and the next Update goes on with the rest. One Update runs at a time; others wait.
func (t *Tree) Update(ctx context.Context, each func(Change)) error {
	t.update.Lock()
	defer t.update.Unlock()
	if err := ctx.Err(); err != nil {
		return err
	}
	if t.closed {
		return fs.ErrClosed
	}
	if err := t.learn(); err != nil {
		return err
	}
	t.catchUp(each)
	if len(t.marked) == 0 {
		return nil
	}
	err := (&run{t: t, ctx: ctx, each: each}).all()
	t.judgeWatch(err == nil)
	return err
}

// Quiet tells whether an Update would report nothing, where that is known at once: it is false if files have to be looked at, or
// if an Update runs. What it learns is left for the next Update.
func (t *Tree) Quiet() bool {
	if !t.update.TryLock() {
		return false
	}
	defer t.update.Unlock()
	return t.told && t.missed.empty() && !t.closed && t.learn() == nil && len(t.marked) == 0
}

// learn marks what there is to do.
func (t *shared) learn() error {
	if err := t.settle(); err != nil {
		return err
	}
	t.refresh()
	t.hear()
	return nil
}

// settle sees to it that the open root is the folder at its path.
func (t *shared) settle() error {
	if t.place == nil {
		return fs.ErrClosed
	}
	id, err := identify(t.o.Root)
	if err != nil {
		return fmt.Errorf("root folder is gone: %w", err)
	}
	if id == t.place.id {
		return nil
	}
	place, err := openPlace(t.o.Root)
	if err != nil {
		return fmt.Errorf("root folder was replaced: %w", err)
	}
	t.o.Log.Info("root folder was replaced: all of it is listed again")
	t.home.Lock()
	t.place.close()
	t.place = place
	t.home.Unlock()
	t.unwatch()
	t.decided, t.root.repo = false, nil
	t.mark(t.root, list|deep|stat)
	return nil
}

// refresh reads again what git knows, if the files that hold it have changed.
func (t *shared) refresh() {
	t.repos = slices.DeleteFunc(t.repos, (*repository).over)
	for _, old := range t.repos {
		here := t.hostPath(old.at)
		if !old.Stale() && !old.awakes(here) {
			continue
		}
		now, err := ignore.Open(here, t.o.Env)
		if err == nil && (old.dormant && !begins(now, here) || !old.dormant && now.Same(old.Repository)) {
			old.Repository = now
			continue
		}
		old.at.repo = nil // it is found again when the folder is listed
		old.dormant = false
		t.mark(old.at, list|deep)
	}
}

func (t *shared) hostPath(f *folder) string {
	return filepath.Join(t.o.Root, filepath.FromSlash(string(f.path(nil))))
}

// sweepAfter is how long watches are trusted: they do not tell of writes to mapped memory, nor of those by another name of a file.
const sweepAfter = 30 * time.Second

// hear learns what may have changed: from the watches, or by marking everything to be looked at.
func (t *shared) hear() {
	if !t.decided {
		t.decided = true
		t.decide()
	}
	now := t.now()
	if t.watch == nil || now.Sub(t.swept) > sweepAfter || now.Before(t.swept) {
		t.swept = now
		t.mark(t.root, look)
	}
	if t.watch == nil {
		return
	}
	whole, err := t.watch.drain(t.note)
	if err != nil {
		t.o.Log.Warn("files are not watched any more: every search looks at all of them", "err", err)
		t.unwatch()
	}
	if err != nil || !whole {
		t.o.Log.Debug("the queue of changes ran over: all folders are listed again")
		t.mark(t.root, list|deep|stat)
	}
}

// decide begins to watch, if that can be.
func (t *shared) decide() {
	if t.o.NoWatch {
		return
	}
	watch, err := newWatcher(t.place, t.limit)
	if err != nil {
		t.o.Log.Info("files are not watched: every search looks at all of them", "err", err)
		return
	}
	t.watch = watch
}

// event is what a watch tells of a name in a folder, or of the folder itself.
type event struct {
	folder  *folder
	name    string // "" is the folder itself
	entries bool   // the name came, went or stands for something else, not only for another content
	within  bool   // the name is that of a folder
	lost    bool   // the folder is not watched any more
}

// note marks what an event leaves to do.
func (t *shared) note(e event) {
	f := e.folder
	switch {
	case e.lost:
		t.mark(f, list|deep|stat)
	case e.name == "":
		if f == t.root { // whose parent is not watched
			t.mark(f, list|deep|stat)
		}
	case e.within:
		t.mark(f, list)
		if c := f.child(e.name); c != nil {
			t.mark(c, list|deep|stat)
		}
	default:
		do := named
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

// mark notes that there is something to do in a folder.
func (t *shared) mark(f *folder, do todo) {
	f.todo |= do
	if !f.queued {
		f.queued = true
		t.marked = append(t.marked, f)
	}
}

// judgeWatch stops watching if that has failed while the tree was walked; whole tells whether all of it was.
func (t *shared) judgeWatch(whole bool) {
	if t.watch == nil {
		return
	}
	err := t.watch.failure(whole)
	if err == nil {
		return
	}
	t.unwatch()
	t.o.Log.Info("files are not watched: every search looks at all of them", "err", err)
}

func (t *shared) unwatch() {
	if t.watch != nil {
		t.watch.close()
		t.watch = nil
	}
}

// Reasons for not watching.
var (
	errTooMany = errors.New("there are too many folders to watch")
	errRemote  = errors.New("some are on a file system that others may change")
	errTwice   = errors.New("a folder is in the tree twice")
)
