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

// mostRules is how large a file of rules or of configuration may be to be read, mostIndex an index.
const (
	mostRules = 100 << 20
	mostIndex = 1 << 32
)

// racy is how soon after a change a file may be changed again without a difference of its times, on the coarsest of file systems.
const racy = 2 * time.Second

// seen remembers the files that were looked for and what they were like, to tell whether that has changed.
type seen struct {
	now   func() time.Time
	hash  maphash.Seed
	mu    sync.Mutex
	files []glance
}

func newSeen() *seen { return &seen{now: time.Now, hash: maphash.MakeSeed()} }

// A glance is what a file was like before it was read.
type glance struct {
	path    string
	here    bool        // a symbolic link is not followed
	only    bool        // whether it is there, and what it is, is all that counts
	info    os.FileInfo // nil: there was none
	at      time.Time   // when it was looked at
	content uint64      // a hash
}

// read gives the content of a file, nil if there is none, and remembers it.
func (s *seen) read(path string) []byte { return s.keep(glance{path: path}, mostRules) }

// readHere is read for a file that must not be a symbolic link.
func (s *seen) readHere(path string) []byte { return s.keep(glance{path: path, here: true}, mostRules) }

// readIndex is read for a file that may be large.
func (s *seen) readIndex(path string) []byte { return s.keep(glance{path: path}, mostIndex) }

func (s *seen) keep(g glance, most int64) []byte {
	if g.path == "" {
		return nil
	}
	content := s.look(&g, most)
	s.files = append(s.files, g)
	return content
}

// look reads a file, and what it is like.
func (s *seen) look(g *glance, most int64) []byte {
	g.at = s.now()
	g.info, _ = g.stat()
	if g.info == nil || !g.info.Mode().IsRegular() || g.info.Size() > most {
		return nil
	}
	content, err := readRegular(g.path, g.info)
	if err != nil {
		return nil
	}
	g.content = maphash.Bytes(s.hash, content)
	return content
}

func (g *glance) stat() (os.FileInfo, error) {
	if g.here || g.only {
		return os.Lstat(g.path)
	}
	return os.Stat(g.path)
}

// readRegular reads the file that info is of. Opening does not wait, whatever it is by now.
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
		err = nil // it has become shorter
	}
	return content[:n], err
}

// exists remembers whether something is there.
func (s *seen) exists(path string) {
	g := glance{path: path, only: true}
	g.info, _ = g.stat()
	s.files = append(s.files, g)
}

// stale tells whether something has changed. What has not seen anything yet is.
func (s *seen) stale() bool {
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

// changed tells whether a file has. While it may have without its times being different, its content is looked at.
func (s *seen) changed(g *glance) bool {
	info, _ := g.stat()
	switch {
	case info == nil || g.info == nil:
		return info != g.info
	case g.only:
		return info.Mode().Type() != g.info.Mode().Type()
	case !os.SameFile(info, g.info) || info.Size() != g.info.Size() || info.Mode() != g.info.Mode() || !info.ModTime().Equal(g.info.ModTime()) || changeTime(info) != changeTime(g.info):
		return true
	case !g.young():
		return false
	}
	again := glance{path: g.path, here: g.here}
	s.look(&again, mostIndex)
	if again.content != g.content {
		return true
	}
	*g = again
	return false
}

// young tells whether a file was changed so shortly before it was looked at that it may be changed again without a trace.
func (g *glance) young() bool {
	return g.at.Sub(g.info.ModTime()) < racy || g.at.UnixNano()-changeTime(g.info) < int64(racy)
}
