package memlog

import (
	"os"
	"path/filepath"
	"sync"

	"remit/internal/contract"
)

// memoryFolder is the folder of the memory files. It has no id, because it belongs to the
// workspace. Once an entry was stored, the folder is held open, and no other one is created in its
// place. One that people put there counts if it holds the files that were written: git removes and
// creates folders.
type memoryFolder struct {
	path string
	root func() error // returns an error if the workspace is not where it was

	mu    sync.Mutex
	held  *os.File
	info  os.FileInfo
	files map[string]bool // the files that were written
}

// memoryPlace is the Place of one memory file.
type memoryPlace struct {
	folder *memoryFolder
	file   string
}

const putBack = "put it back, or restart the server to go on with what is there now"

// Before implements Place.
func (p memoryPlace) Before(bool) error {
	p.folder.mu.Lock()
	defer p.folder.mu.Unlock()
	if err := p.folder.check(); err != nil {
		return contract.Errorf(contract.Unavailable, "The folder of the memory files is missing: it was deleted or moved, or its volume "+
			"is not mounted, so nothing was stored; %s", putBack).Because(err)
	}
	return nil
}

// After implements Place.
func (p memoryPlace) After() error {
	p.folder.mu.Lock()
	defer p.folder.mu.Unlock()
	err := p.folder.check()
	if err == nil && p.folder.held == nil {
		err = p.folder.hold()
	}
	if err != nil {
		return contract.Errorf(contract.Unavailable, "The folder of the memory files was moved or unmounted while the entry was written, so it "+
			"is unknown whether the entry was stored; %s", putBack).Because(err)
	}
	if p.folder.files == nil {
		p.folder.files = map[string]bool{}
	}
	p.folder.files[p.file] = true
	return nil
}

// check returns an error if the path leads to another folder than before.
func (f *memoryFolder) check() error {
	if err := f.root(); err != nil || f.held == nil {
		return err
	}
	now, err := os.Stat(f.path)
	if err != nil || os.SameFile(now, f.info) {
		return err
	}
	for name := range f.files {
		if _, err := os.Lstat(filepath.Join(f.path, name)); err != nil {
			return err
		}
	}
	return f.hold()
}

// hold keeps the folder open that is at the path now.
func (f *memoryFolder) hold() error {
	held, err := os.Open(f.path)
	if err != nil {
		return err
	}
	info, err := held.Stat()
	if err != nil {
		_ = held.Close() // the first error counts
		return err
	}
	f.release()
	f.held, f.info = held, info
	return nil
}

func (f *memoryFolder) release() {
	if f.held != nil {
		_ = f.held.Close() // nothing was written through it
		f.held = nil
	}
}
