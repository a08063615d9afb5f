package app

import (
	"crypto/rand"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"sync"

	"remit/internal/filelock"
)

// process identifies this process for others that use the same data folder. Its file
// DATA/proc/ID is locked as long as the process runs.
type process struct {
	id   string
	data *dataFolder

	mu   sync.Mutex
	file *os.File // nil until begin
}

func newProcess(data *dataFolder) *process { return &process{id: rand.Text(), data: data} }

const processFolder = "proc"

func (p *process) path(id string) string { return filepath.Join(p.data.path, processFolder, id) }

func (p *process) open(id string) (*os.File, error) {
	return preparedFiles{p.data, processFolder}.OpenAppend(id)
}

// begin creates and locks the file. It also removes the files of processes that were killed.
func (p *process) begin() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.file != nil {
		return nil
	}
	for p.file == nil {
		file, err := p.lockNew()
		if err != nil {
			return err
		}
		p.file = file
	}
	if entries, err := os.ReadDir(filepath.Dir(p.path(p.id))); err == nil {
		for _, entry := range entries {
			p.hasEnded(entry.Name())
		}
	}
	about, err := json.Marshal(map[string]any{"owner": p.id, "pid": os.Getpid(), "started": started.UTC(), "version": Version})
	if err == nil {
		_, err = p.file.Write(append(about, '\n'))
	}
	return err
}

// lockNew returns the locked file. It returns nil if another process has removed the file before it
// was locked.
func (p *process) lockNew() (*os.File, error) {
	file, err := p.open(p.id)
	if err != nil {
		return nil, err
	}
	if err := filelock.Lock(file); err != nil {
		return nil, errors.Join(err, file.Close())
	}
	mine, err := file.Stat()
	if err != nil {
		return nil, errors.Join(err, file.Close())
	}
	if there, err := os.Lstat(p.path(p.id)); err != nil || !os.SameFile(mine, there) {
		return nil, file.Close()
	}
	return file, nil
}

// hasEnded reports whether the process with this id has ended, and removes its file. If that cannot
// be found out, the process is taken to run.
func (p *process) hasEnded(id string) bool {
	info, err := os.Lstat(p.path(id))
	if errors.Is(err, fs.ErrNotExist) {
		return true
	}
	if err != nil || !info.Mode().IsRegular() || filepath.Base(id) != id {
		return false
	}
	file, err := p.open(id)
	if err != nil {
		return false
	}
	defer file.Close()
	free, err := filelock.TryLock(file)
	if err != nil || !free {
		return false
	}
	_ = os.Remove(p.path(id)) // the next one tries again
	return filelock.Unlock(file) == nil
}

// info describes the open file.
func (p *process) info() (os.FileInfo, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.file.Stat() // an error if it is nil
}

// end removes the file.
func (p *process) end() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.file == nil {
		return nil
	}
	err := errors.Join(filelock.Unlock(p.file), p.file.Close())
	p.file = nil
	// Another process may have been faster.
	if gone := os.Remove(p.path(p.id)); !errors.Is(gone, fs.ErrNotExist) {
		err = errors.Join(err, gone)
	}
	return err
}
