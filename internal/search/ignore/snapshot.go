package ignore

import (
	"errors"
	"hash/maphash"
	"io"
	"os"
	"sync"
	"syscall"
	"time"
)

// maxRulesSize is the maximum size read of a file of rules or of configuration, maxIndexSize of an
// index.
const (
	maxRulesSize = 100 << 20
	maxIndexSize = 1 << 32
)

// racy is the time after a change within which another change may leave the file's times the same,
// on the coarsest file systems.
const racy = 2 * time.Second

// A snapshot records the files that were read and their state, to detect changes.
type snapshot struct {
	now   func() time.Time
	hash  maphash.Seed
	mu    sync.Mutex
	files []fileState
}

func newSnapshot() *snapshot { return &snapshot{now: time.Now, hash: maphash.MakeSeed()} }

// A fileState is the state of a file before it was read.
type fileState struct {
	path       string
	noFollow   bool        // do not follow a symbolic link
	existsOnly bool        // only its existence and type matter
	info       os.FileInfo // nil if there was no file
	at         time.Time   // when the state was read
	content    uint64      // hash of the content
}

// read returns the content of a file, or nil if there is none, and records its state.
func (s *snapshot) read(path string) []byte { return s.keep(fileState{path: path}, maxRulesSize) }

// readNoFollow is like read, but returns nil for a symbolic link.
func (s *snapshot) readNoFollow(path string) []byte {
	return s.keep(fileState{path: path, noFollow: true}, maxRulesSize)
}

// readIndex is like read, for a file that may be large.
func (s *snapshot) readIndex(path string) []byte { return s.keep(fileState{path: path}, maxIndexSize) }

func (s *snapshot) keep(g fileState, limit int64) []byte {
	if g.path == "" {
		return nil
	}
	content := s.load(&g, limit)
	s.files = append(s.files, g)
	return content
}

// load reads a file and its state.
func (s *snapshot) load(g *fileState, limit int64) []byte {
	g.at = s.now()
	g.info, _ = g.stat()
	if g.info == nil || !g.info.Mode().IsRegular() || g.info.Size() > limit {
		return nil
	}
	content, err := readRegular(g.path, g.info)
	if err != nil {
		return nil
	}
	g.content = maphash.Bytes(s.hash, content)
	return content
}

func (g *fileState) stat() (os.FileInfo, error) {
	if g.noFollow || g.existsOnly {
		return os.Lstat(g.path)
	}
	return os.Stat(g.path)
}

// readRegular reads the file that info describes. Opening does not block, even if the file was
// replaced meanwhile.
func readRegular(path string, info os.FileInfo) ([]byte, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if now, err := f.Stat(); err != nil || !os.SameFile(now, info) {
		return nil, os.ErrNotExist
	}
	content := make([]byte, info.Size())
	n, err := io.ReadFull(f, content)
	if errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, io.EOF) {
		err = nil // the file has become shorter
	}
	return content[:n], err
}

// exists records whether a file exists.
func (s *snapshot) exists(path string) {
	g := fileState{path: path, existsOnly: true}
	g.info, _ = g.stat()
	s.files = append(s.files, g)
}

// stale reports whether a file has changed. A nil snapshot is always stale.
func (s *snapshot) stale() bool {
	if s == nil {
		return true
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for i := range s.files {
		if s.changed(&s.files[i]) {
			return true
		}
	}
	return false
}

// changed reports whether a file has changed. While a change might leave its times the same, it
// compares the content.
func (s *snapshot) changed(g *fileState) bool {
	info, _ := g.stat()
	switch {
	case info == nil || g.info == nil:
		return info != g.info
	case g.existsOnly:
		return info.Mode().Type() != g.info.Mode().Type()
	case !os.SameFile(info, g.info) || info.Size() != g.info.Size() || info.Mode() != g.info.Mode() || !info.ModTime().Equal(g.info.ModTime()) || changeTime(info) != changeTime(g.info):
		return true
	case !g.isRacy():
		return false
	}
	again := fileState{path: g.path, noFollow: g.noFollow}
	s.load(&again, maxIndexSize)
	if again.content != g.content {
		return true
	}
	*g = again
	return false
}

// isRacy reports whether a file was changed so shortly before it was read that another change may
// leave no trace.
func (g *fileState) isRacy() bool {
	return g.at.Sub(g.info.ModTime()) < racy || g.at.UnixNano()-changeTime(g.info) < int64(racy)
}
