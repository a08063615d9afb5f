package app

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"remit/internal/filelock"
	"remit/internal/toolsets/codebase/knowledge"
)

// indexFolder is the folder in the data folder with the snapshot of the knowledge index.
const indexFolder = "index"

// The files in indexFolder.
const (
	snapshotName     = "knowledge.snapshot"
	snapshotDraft    = "knowledge.draft"
	snapshotLockName = "knowledge.lock"
)

// indexFile keeps the snapshot of the knowledge index in the data folder, if there is one. It
// implements knowledge.SnapshotFile.
type indexFile struct{ a *App }

var _ knowledge.SnapshotFile = (*indexFile)(nil)

// Open implements knowledge.SnapshotFile.
func (f *indexFile) Open() (*os.File, error) {
	if f.a.scratch.database != nil {
		return nil, fs.ErrNotExist
	}
	folder, err := os.OpenRoot(filepath.Join(f.a.settings.Data, indexFolder))
	if err != nil {
		return nil, err
	}
	defer func() { _ = folder.Close() }() // nothing was written through it itself
	return folder.Open(snapshotName)
}

// Replace implements knowledge.SnapshotFile. The lock file serializes the processes; what a killed
// process has drafted is overwritten.
func (f *indexFile) Replace(write func(io.Writer) error) (done bool, err error) {
	folder, err := f.folder()
	if err != nil || folder == nil {
		return false, err
	}
	defer func() { _ = folder.Close() }() // nothing was written through it itself
	lock, err := folder.OpenFile(snapshotLockName, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return false, fmt.Errorf("lock the index: %w", err)
	}
	defer lock.Close()
	locked, err := filelock.TryLock(lock)
	if err != nil || !locked {
		return false, err
	}
	defer func() { err = errors.Join(err, filelock.Unlock(lock)) }()
	draft, err := folder.OpenFile(snapshotDraft, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600)
	if err != nil {
		return false, fmt.Errorf("create a draft: %w", err)
	}
	err = write(draft)
	if err == nil {
		err = draft.Sync()
	}
	err = errors.Join(err, draft.Close())
	if err == nil {
		err = folder.Rename(snapshotDraft, snapshotName)
	}
	if err != nil {
		return false, errors.Join(err, folder.Remove(snapshotDraft))
	}
	return true, filelock.SyncFolder(folder.Name())
}

// folder opens the folder, and creates it if there is a data folder. Otherwise it returns nil.
func (f *indexFile) folder() (*os.Root, error) {
	data := f.a.data
	if f.a.scratch.database != nil {
		return nil, nil
	}
	if _, err := os.Lstat(data.path); err != nil {
		return nil, nil //nolint:nilerr // there is no place for the file
	}
	if err := data.prepare(); err != nil {
		return nil, err
	}
	if err := data.checkLinks(); err != nil {
		return nil, err
	}
	path := filepath.Join(data.path, indexFolder)
	if err := os.Mkdir(path, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return nil, fmt.Errorf("create a folder: %w", err)
	}
	return os.OpenRoot(path)
}
