// Package tree knows the files beneath a folder, those that git would list, and keeps up with what is done to them.
package tree

import (
	"cmp"
	"errors"
	"fmt"
	"hash/maphash"
	"io/fs"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// Options say which files a tree has. Root alone is needed.
type Options struct {
	Root    string                              // the folder
	Skip    func(path string, folder bool) bool // what is left out besides; called from many goroutines; nil leaves nothing out
	NoWatch bool                                // every Update looks at all folders and at all files that were read
	Env     func(string) (string, bool)         // where git's configuration is; nil is os.LookupEnv
	Log     *slog.Logger                        // nil logs nothing
}

// File is a file of a tree. Its address is its identity: a file that is removed and comes back is another File.
type File struct {
	Path   string                    // slash-separated, beneath the root, the bytes that the disk has
	Link   bool                      // a symbolic link: listed, as git does, never read
	stamps [maxReaders]atomic.Uint64 // by reader, of the file when that last read it; 0 since it was reported to that reader
}

// Change is what happened to files. Those removed went before those added came: a path can be in both.
//
// A file is reported as changed if it was read, or if reading it failed, after it was reported the last time, and if another
// read may give something else. Whoever never reads a file does not hear of changes to it.
type Change struct{ Added, Changed, Removed []*File }

func (c *Change) size() int { return len(c.Added) + len(c.Changed) + len(c.Removed) }

// ErrIrregular says that something is no regular file and therefore is not read.
var ErrIrregular = errors.New("not a regular file")

// maxReaders is how many readers may share the files of a folder.
const maxReaders = 2

// Tree is a reader of the files beneath a folder. Readers of the same files share the list of them, the walks and the watches, but each
// is told of all files and of every change, as if it were the only one. Its methods are safe for concurrent use.
type Tree struct {
	*shared
	slot   int    // of its stamps
	told   bool   // all files that are known were reported; guarded by update
	missed missed // what updates of other readers found; guarded by update
	closed bool   // changed by who holds update and home
}

// shared is the files beneath a folder, as far as they are known.
type shared struct {
	o   Options
	now func() time.Time

	home  sync.RWMutex // guards place
	place *place       // the open root; nil after the last reader was closed

	update  sync.Mutex // one Update at a time; guards the rest
	readers [maxReaders]*Tree
	root    *folder
	repos   []*repository
	marked  []*folder                       // those with something to do
	touched map[*folder]map[string]struct{} // names that may stand for something else than when they were read
	watch   *watcher                        // nil if the tree is swept
	limit   int                             // so many folders are watched at most
	decided bool                            // whether to watch
	swept   time.Time                       // when everything was looked at last
	long    atomic.Int64                    // bytes of very long paths
	seed    maphash.Seed
	distant atomic.Bool // a part of the tree is on another machine
}

// Open prepares the tree of the folder Root. Nothing is listed yet.
func Open(o Options) (*Tree, error) {
	if o.Env == nil {
		o.Env = os.LookupEnv
	}
	o.Log = cmp.Or(o.Log, slog.New(slog.DiscardHandler))
	base, err := filepath.Abs(o.Root)
	if err != nil {
		return nil, fmt.Errorf("find root folder: %w", err)
	}
	o.Root = base
	place, err := openPlace(base)
	if err != nil {
		return nil, fmt.Errorf("open root folder: %w", err)
	}
	files := &shared{
		o: o, now: time.Now, place: place, root: &folder{}, limit: mostWatches,
		touched: map[*folder]map[string]struct{}{}, seed: maphash.MakeSeed(),
	}
	files.mark(files.root, list|deep)
	return files.join(0), nil
}

func (s *shared) join(slot int) *Tree {
	t := &Tree{shared: s, slot: slot}
	s.readers[slot] = t
	return t
}

// Join returns another reader of the same files. Its first Update reports every file as added, as far as they are known without a walk.
func (t *Tree) Join() (*Tree, error) {
	t.update.Lock()
	defer t.update.Unlock()
	if t.place == nil {
		return nil, fs.ErrClosed
	}
	for slot, reader := range t.readers {
		if reader == nil {
			return t.join(slot), nil
		}
	}
	return nil, errors.New("the files have as many readers as they can have")
}

// mostWatches is how many folders are watched: the kernel keeps about a kilobyte for each, and other programs need some too.
const mostWatches = 100_000

// Close waits for an Update that runs. Afterwards Update and Read fail with fs.ErrClosed. The last of the readers to be closed lets go
// of what they share.
func (t *Tree) Close() error {
	t.update.Lock()
	defer t.update.Unlock()
	t.home.Lock()
	defer t.home.Unlock()
	if t.closed {
		return fs.ErrClosed
	}
	t.closed, t.missed = true, missed{}
	t.readers[t.slot] = nil
	if t.readers != [maxReaders]*Tree{} {
		return nil
	}
	t.unwatch()
	t.place.close()
	t.place = nil
	return nil
}

// missed is what updates of other readers found since a reader was told of changes. It has each file once at most, so it never has more
// than the reader knows and the tree has.
type missed struct {
	removed        []*File
	added, changed map[*File]struct{}
}

func (m *missed) empty() bool { return len(m.removed)+len(m.added)+len(m.changed) == 0 }

// note adds a change. A file that came and went since is left out.
func (m *missed) note(c Change) {
	if m.added == nil {
		m.added, m.changed = map[*File]struct{}{}, map[*File]struct{}{}
	}
	for _, f := range c.Removed {
		if _, unknown := m.added[f]; unknown {
			delete(m.added, f)
			continue
		}
		delete(m.changed, f)
		m.removed = append(m.removed, f)
	}
	for _, f := range c.Added {
		m.added[f] = struct{}{}
	}
	for _, f := range c.Changed {
		m.changed[f] = struct{}{}
	}
}

// take returns what was missed, and forgets it.
func (m *missed) take() Change {
	sorted := func(files map[*File]struct{}) []*File {
		return slices.SortedFunc(maps.Keys(files), func(a, b *File) int { return strings.Compare(a.Path, b.Path) })
	}
	c := Change{Added: sorted(m.added), Changed: sorted(m.changed), Removed: m.removed}
	*m = missed{}
	return c
}

// catchUp reports to a reader what others know already: all files at first, and what it missed later.
func (t *Tree) catchUp(each func(Change)) {
	if each == nil {
		each = func(Change) {}
	}
	if t.told {
		if !t.missed.empty() {
			each(t.missed.take())
		}
		return
	}
	t.told = true
	var known Change
	for folders := []*folder{t.root}; len(folders) > 0; {
		f := folders[len(folders)-1]
		folders = append(folders[:len(folders)-1], f.folders...)
		for _, file := range f.files {
			file.stamps[t.slot].Store(0) // a reader that is closed may have left one
		}
		known.Added = append(known.Added, f.files...)
		if len(known.Added) >= batch {
			each(known)
			known = Change{}
		}
	}
	if len(known.Added) > 0 {
		each(known)
	}
}
