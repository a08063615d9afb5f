package knowledge

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"
	"time"

	"remit/internal/search/tree"
)

// maxFileSize is the maximum size in bytes of an indexed file.
const maxFileSize = 1 << 20

// updateFiles updates the list of files and queues what has changed.
func (x *Index) updateFiles() error {
	t, err := x.openTree()
	if err != nil {
		return err
	}
	if x.refresher.surveyed && t.Unchanged() {
		return nil
	}
	x.queue.restart()
	var all tree.Change
	err = t.Update(x.ctx, func(c tree.Change) {
		all.Added = x.withoutMemory(all.Added, c.Added)
		all.Changed = x.withoutMemory(all.Changed, c.Changed)
		all.Removed = x.withoutMemory(all.Removed, c.Removed)
	})
	x.survey(t, all, (*Index).statAdded)
	if err != nil {
		return fmt.Errorf("list files: %w", err)
	}
	if !x.refresher.surveyed {
		x.refresher.surveyed = true
		x.surveyed.Store(true)
		x.dropMissing()
	}
	return nil
}

// withoutMemory appends files to all, except memory files, which are indexed line by line.
func (x *Index) withoutMemory(all, files []*tree.File) []*tree.File {
	for _, f := range files {
		if x.o.MemoryFolder == "" || !strings.HasPrefix(f.Path, x.o.MemoryFolder+"/") && f.Path != x.o.MemoryFolder {
			all = append(all, f)
		}
	}
	return all
}

// A statFunc returns the stamp of a file.
type statFunc func(x *Index, t *tree.Tree, f *tree.File) (stamp, error)

// survey queues the work for a change of the tree. It stats new files, whose stamps are mostly
// those they were indexed with.
func (x *Index) survey(t *tree.Tree, c tree.Change, stat statFunc) {
	count := len(c.Added) + len(c.Changed) + len(c.Removed)
	level := x.level(count)
	x.many.Store(count > x.limits.bulk)
	defer x.many.Store(false)
	for _, f := range c.Removed {
		at := sourcePath(f.Path)
		x.catalog.setFile(at, nil)
		x.queue.put(&job{path: at, known: x.catalog.has(at), urgency: level(at)})
	}
	for _, f := range c.Changed {
		at := sourcePath(f.Path)
		x.queue.put(&job{path: at, must: true, known: x.catalog.has(at), urgency: level(at)})
	}
	for _, isTurn := range []bool{true, false} { // documents for people first
		for _, f := range c.Added {
			if x.ctx.Err() != nil {
				return
			}
			if isProse(f.Path) == isTurn {
				x.examine(t, f, level(sourcePath(f.Path)), stat)
			}
		}
	}
}

// level returns the urgency of files when count of them arrive at once.
func (x *Index) level(count int) func(path string) urgency {
	return func(path string) urgency {
		switch {
		case count <= x.limits.bulk:
			return fresh
		case isProse(path):
			return prose
		}
		return other
	}
}

func isProse(name string) bool {
	return slices.Contains([]string{".md", ".markdown", ".mdx", ".rst", ".adoc", ".txt"}, strings.ToLower(path.Ext(name)))
}

// examine checks a file that is new in the tree, and queues it unless it is indexed already.
func (x *Index) examine(t *tree.Tree, f *tree.File, u urgency, stat statFunc) {
	at := sourcePath(f.Path)
	if f.Link || len(at) > MaxPath {
		return
	}
	x.catalog.setFile(at, f)
	seen, err := stat(x, t, f)
	known, _, found := x.catalog.known(at)
	if err != nil || found && known != seen || !found && seen.size <= maxFileSize || x.queue.isHeld(at) {
		x.queue.put(&job{path: at, known: found, stamp: seen, urgency: u})
	}
}

// statAdded returns the stamp of a file that was added just now.
func (x *Index) statAdded(t *tree.Tree, f *tree.File) (stamp, error) {
	if size, modified, ok := f.Stat(); ok {
		return stamp{size, time.Unix(0, modified).UnixMicro()}, nil
	}
	return x.stat(t, f)
}

// stat opens a file, so that the tree reports changes of it from now on, and returns its stamp.
func (x *Index) stat(t *tree.Tree, f *tree.File) (stamp, error) {
	h, err := t.Open(f)
	if err != nil {
		return stamp{}, err
	}
	defer h.Close()
	return stampOf(h)
}

func stampOf(h *os.File) (stamp, error) {
	info, err := h.Stat()
	if err != nil {
		return stamp{}, fmt.Errorf("stat file: %w", err)
	}
	return stamp{info.Size(), info.ModTime().UnixMicro()}, nil
}

// dropMissing removes the sources of files that no longer exist.
func (x *Index) dropMissing() {
	missing := slices.DeleteFunc(x.catalog.paths(), func(path string) bool { return isFed(path) || x.catalog.file(path) != nil })
	level := x.level(len(missing))
	for _, path := range missing {
		x.catalog.setFile(path, nil)
		x.queue.put(&job{path: path, known: true, urgency: level(path)})
	}
}

// resurvey compares all files of the tree with the index.
func (x *Index) resurvey() {
	t := x.tree.Load()
	if t == nil {
		return
	}
	var all tree.Change
	x.catalog.mu.Lock()
	for _, f := range x.catalog.files {
		all.Added = append(all.Added, f)
	}
	x.catalog.mu.Unlock()
	x.survey(t, all, (*Index).stat)
	if x.refresher.surveyed {
		x.dropMissing()
	}
}

// errLarge means that a file is too large to be indexed.
var errLarge = errors.New("the file is too large")

// read reads the file of a source. It returns the stamp from before the read.
func (x *Index) read(path string) (content []byte, seen stamp, err error) {
	t, f := x.tree.Load(), x.catalog.file(path)
	if t == nil || f == nil {
		return nil, seen, fs.ErrNotExist
	}
	h, err := t.Open(f)
	if err != nil {
		return nil, seen, err
	}
	defer h.Close()
	if seen, err = stampOf(h); err != nil {
		return nil, seen, err
	}
	if seen.size > maxFileSize {
		return nil, seen, errLarge
	}
	content, err = io.ReadAll(io.LimitReader(h, maxFileSize+1))
	if err == nil && len(content) > maxFileSize {
		err = errLarge
	}
	if err != nil {
		return nil, seen, fmt.Errorf("read %s: %w", f.Path, err)
	}
	return content, seen, nil
}

// Clock ticks of file systems: a file younger than a tick may be written again without a new
// modification time. Times without a fraction are from file systems that count seconds.
const (
	fineTick   = 50 * time.Millisecond
	coarseTick = 2 * time.Second
)

// kept returns the stamp to store for a file that was examined just now.
func (s stamp) kept(now time.Time) stamp {
	tick := fineTick
	if s.modified%1e6 == 0 {
		tick = coarseTick
	}
	if now.Sub(time.UnixMicro(s.modified)) < tick {
		s.size = unsure
	}
	return s
}
