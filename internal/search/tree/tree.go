// Package tree lists the files in a folder, as git would, and reports the changes to them. It reads
// files but never writes them.
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

// Options select the files of a tree. Only Root is required.
type Options struct {
	Root string // the folder
	// Skip reports whether to leave out a path, in addition to what git ignores. It must be safe
	// for concurrent use. nil leaves nothing out.
	Skip func(path string, folder bool) bool
	// Every Update checks all folders and all files that were read.
	NoWatch bool
	// Environment for git's configuration; nil means os.LookupEnv.
	Env func(string) (string, bool)
	Log *slog.Logger // nil means no logging
}

// File is a file of a tree. Its address is its identity: a file that is removed and created again
// is another File.
type File struct {
	Path string // slash-separated, relative to the root, with the bytes on disk
	Link bool   // a symbolic link: listed as git does, never read
	// What Stat returns; set before the file is reported as added.
	size, modified int64
	statted        bool
	// stamps holds, for each reader, the stamp of the file when that reader last read it. It is 0
	// after a change was reported to that reader.
	stamps [maxReaders]atomic.Uint64
}

// Change describes changes to files. Removals happened before additions: a path can be in both.
//
// A file is reported as changed if it was read, or reading it failed, since the last report, and if
// reading it again may give another result. Changes to a file that is never read are not reported.
type Change struct{ Added, Changed, Removed []*File }

func (c *Change) size() int { return len(c.Added) + len(c.Changed) + len(c.Removed) }

// ErrIrregular is returned for files that are not regular and therefore not read.
var ErrIrregular = errors.New("not a regular file")

// maxReaders is the maximum number of readers that share the files of a folder.
const maxReaders = 2

// Tree is a reader of the files in a folder. Readers of the same folder share the list of files,
// the walks and the watches, but each gets reports of all files and of every change, as if it were
// the only one. Its methods are safe for concurrent use.
type Tree struct {
	*shared
	slot     int    // index of its stamps
	caughtUp bool   // all known files were reported; guarded by update
	missed   missed // changes found by updates of other readers; guarded by update
	closed   bool   // written with update and rootMu locked
	stats    bool   // stats the files that it adds; guarded by update
}

// shared is the list of files in a folder that its readers share.
type shared struct {
	o   Options
	now func() time.Time

	rootMu     sync.RWMutex // guards rootHandle
	rootHandle *rootHandle  // the open root; nil after the last reader was closed

	update  sync.Mutex // serializes updates; guards the fields below
	readers [maxReaders]*Tree
	root    *folder
	repos   []*repository
	marked  []*folder // folders with tasks
	// Names whose files may have changed since they were read.
	touched      map[*folder]map[string]struct{}
	watch        *watcher     // nil if the tree is swept instead
	limit        int          // maximum number of watched folders
	watchDecided bool         // it was decided whether to watch
	lastSweep    time.Time    // time of the last check of everything
	long         atomic.Int64 // total size of very long paths
	seed         maphash.Seed
	hasRemote    atomic.Bool // part of the tree is on a remote file system
}

// Open opens the tree of the folder o.Root. It lists nothing yet.
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
	rootHandle, err := openRoot(base)
	if err != nil {
		return nil, fmt.Errorf("open root folder: %w", err)
	}
	files := &shared{
		o: o, now: time.Now, rootHandle: rootHandle, root: &folder{}, limit: maxWatches,
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

// Join returns another reader of the same files. Its first Update reports every file as added,
// without a walk as far as the files are known.
func (t *Tree) Join() (*Tree, error) {
	t.update.Lock()
	defer t.update.Unlock()
	if t.rootHandle == nil {
		return nil, fs.ErrClosed
	}
	for slot, reader := range t.readers {
		if reader == nil {
			return t.join(slot), nil
		}
	}
	return nil, errors.New("too many readers of the same files")
}

// StatAdded makes Update stat each file that it adds, which is cheaper than opening it. The file
// counts as read: Update reports changes to it from then on.
func (t *Tree) StatAdded() {
	t.update.Lock()
	defer t.update.Unlock()
	t.stats = true
}

// Stat returns the size of a file and when its content was changed last, in nanoseconds since 1970,
// as they were when the file was added. It returns false if it was added without a stat, or is not
// a regular file.
func (f *File) Stat() (size, modified int64, ok bool) { return f.size, f.modified, f.statted }

// maxWatches is the maximum number of watched folders: the kernel uses about a kilobyte for each,
// and other programs need some too.
const maxWatches = 100_000

// Close waits for a running Update. Afterwards Update and Read return fs.ErrClosed. Closing the
// last reader releases what the readers share.
func (t *Tree) Close() error {
	t.update.Lock()
	defer t.update.Unlock()
	t.rootMu.Lock()
	defer t.rootMu.Unlock()
	if t.closed {
		return fs.ErrClosed
	}
	t.closed, t.missed = true, missed{}
	t.readers[t.slot] = nil
	if t.readers != [maxReaders]*Tree{} {
		return nil
	}
	t.unwatch()
	t.rootHandle.close()
	t.rootHandle = nil
	return nil
}

// missed holds the changes that updates of other readers found since the reader's last report. It
// contains each file at most once, so its size is bounded by the files that the reader and the tree
// have.
type missed struct {
	removed        []*File
	added, changed map[*File]struct{}
}

func (m *missed) empty() bool { return len(m.removed)+len(m.added)+len(m.changed) == 0 }

// add adds a change. A file that was added and removed since the last report is left out.
func (m *missed) add(c Change) {
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

// take returns the missed changes and clears them.
func (m *missed) take() Change {
	sorted := func(files map[*File]struct{}) []*File {
		return slices.SortedFunc(maps.Keys(files), func(a, b *File) int { return strings.Compare(a.Path, b.Path) })
	}
	c := Change{Added: sorted(m.added), Changed: sorted(m.changed), Removed: m.removed}
	*m = missed{}
	return c
}

// catchUp reports what is already known: all files at first, and missed changes later.
func (t *Tree) catchUp(each func(Change)) {
	if each == nil {
		each = func(Change) {}
	}
	if t.caughtUp {
		if !t.missed.empty() {
			each(t.missed.take())
		}
		return
	}
	t.caughtUp = true
	var known Change
	for folders := []*folder{t.root}; len(folders) > 0; {
		f := folders[len(folders)-1]
		folders = append(folders[:len(folders)-1], f.folders...)
		for _, file := range f.files {
			file.stamps[t.slot].Store(0) // a closed reader may have left one
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
