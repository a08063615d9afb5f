// Package tree knows the files beneath a folder, those that git would list, and keeps up with what is done to them.
package tree

import (
	"errors"
	"fmt"
	"hash/maphash"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
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
	Path  string        // slash-separated, beneath the root, the bytes that the disk has
	Link  bool          // a symbolic link: listed, as git does, never read
	stamp atomic.Uint64 // of the file when it was last read; 0 since it was reported
}

// Change is what happened to files. Those removed went before those added came: a path can be in both.
//
// A file is reported as changed if it was read, or if reading it failed, after it was reported the last time, and if another
// read may give something else. Whoever never reads a file does not hear of changes to it.
type Change struct{ Added, Changed, Removed []*File }

func (c *Change) size() int { return len(c.Added) + len(c.Changed) + len(c.Removed) }

// ErrIrregular says that something is no regular file and therefore is not read.
var ErrIrregular = errors.New("not a regular file")

// Tree is the files beneath a folder. Its methods are safe for concurrent use.
type Tree struct {
	o   Options
	now func() time.Time

	home  sync.RWMutex // guards place
	place *place       // the open root; nil after Close

	update  sync.Mutex // one Update at a time; guards the rest
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
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	base, err := filepath.Abs(o.Root)
	if err != nil {
		return nil, fmt.Errorf("find root folder: %w", err)
	}
	o.Root = base
	place, err := openPlace(base)
	if err != nil {
		return nil, fmt.Errorf("open root folder: %w", err)
	}
	t := &Tree{o: o, now: time.Now, place: place, limit: mostWatches, touched: map[*folder]map[string]struct{}{}, seed: maphash.MakeSeed()}
	t.root = &folder{}
	t.mark(t.root, list|deep)
	return t, nil
}

// mostWatches is how many folders are watched: the kernel keeps about a kilobyte for each, and other programs need some too.
const mostWatches = 100_000

// Close waits for an Update that runs and lets go of what the tree holds. Afterwards Update and Read fail with fs.ErrClosed.
func (t *Tree) Close() error {
	t.update.Lock()
	defer t.update.Unlock()
	t.home.Lock()
	defer t.home.Unlock()
	if t.place == nil {
		return fs.ErrClosed
	}
	t.unwatch()
	t.place.close()
	t.place = nil
	return nil
}
