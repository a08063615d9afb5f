package app

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"remit/internal/engine/audit"
	"remit/internal/filelock"
)

// announcedFolder has a file for each process that has announced changes: DATA/announced/OWNER. A
// process that is dead, but has a file, has not settled all of them.
const announcedFolder = "announced"

// announcerFiles implements announcers for the processes that share a data folder.
type announcerFiles struct {
	process *process
	files   preparedFiles
	own     *os.File // nil while this process has none
}

func newAnnouncerFiles(p *process) *announcerFiles {
	return &announcerFiles{process: p, files: preparedFiles{p.data, announcedFolder}}
}

// Lives implements announcers.
func (f *announcerFiles) Lives(_ context.Context, owner string) (bool, error) {
	return !f.process.hasEnded(owner), nil
}

// announcerLine is a line of a file. The last one counts.
type announcerLine struct {
	Settled []audit.Place `json:"settled"`
}

// maxAnnouncerFile is the size from which a file is begun anew.
const maxAnnouncerFile = 64 << 10

func (f *announcerFiles) path(owner string) string {
	return filepath.Join(f.process.data.path, announcedFolder, owner)
}

// Put implements announcers.
func (f *announcerFiles) Put(_ context.Context, settled []audit.Place) error {
	text, err := json.Marshal(announcerLine{settled})
	if err != nil {
		return err
	}
	isNew := f.own == nil
	if isNew {
		if err := f.process.begin(); err != nil {
			return err
		}
		if f.own, err = f.files.OpenAppend(f.process.id); err != nil {
			return fmt.Errorf("create the file of announced changes: %w", err)
		}
	}
	if info, err := f.own.Stat(); err == nil && info.Size() > maxAnnouncerFile {
		if err := f.own.Truncate(0); err != nil {
			return err
		}
	}
	_, err = f.own.Write(append(text, '\n'))
	if !isNew {
		return err // an older line of the file is right too
	}
	folder := filepath.Dir(f.path(f.process.id))
	err = errors.Join(err, f.own.Sync(), filelock.SyncFolder(folder), filelock.SyncFolder(filepath.Dir(folder)))
	if err != nil { // without the file, no process would settle the changes
		err = fmt.Errorf("create the file of announced changes: %w", errors.Join(err, f.own.Close()))
		f.own = nil
	}
	return err
}

// Remove implements announcers.
func (f *announcerFiles) Remove(ctx context.Context) error {
	if f.own == nil {
		return nil
	}
	err := f.own.Close()
	f.own = nil
	return errors.Join(err, f.Forget(ctx, f.process.id))
}

// Dead implements announcers. Of several processes that look at the same time, one finds any.
func (f *announcerFiles) Dead(context.Context) (map[string][]audit.Place, func(), error) {
	entries, err := os.ReadDir(f.path(""))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil, nil
	}
	if err != nil {
		return nil, nil, fmt.Errorf("list the processes that make changes: %w", err)
	}
	var names []string
	for _, entry := range entries {
		if name := entry.Name(); entry.Type().IsRegular() && name != lockName && name != f.process.id && f.process.hasEnded(name) {
			names = append(names, name)
		}
	}
	if len(names) == 0 {
		return nil, nil, nil
	}
	lock, err := f.files.OpenAppend(lockName)
	if err != nil {
		return nil, nil, err
	}
	if free, err := filelock.TryLock(lock); err != nil || !free {
		return nil, nil, errors.Join(err, lock.Close())
	}
	release := func() { _ = errors.Join(filelock.Unlock(lock), lock.Close()) } // closing unlocks
	ended := map[string][]audit.Place{}
	for _, name := range names {
		if settled, found := f.read(name); found { // another process may have settled it meanwhile
			ended[name] = settled
		}
	}
	if len(ended) == 0 {
		release()
	}
	return ended, release, nil
}

// lockName is the file that a process locks while it settles changes of others.
const lockName = "lock"

// read returns what a file says. A file that cannot be read says that nothing is settled.
func (f *announcerFiles) read(owner string) (settled []audit.Place, found bool) {
	file, err := os.Open(f.path(owner))
	if err != nil {
		return nil, !errors.Is(err, fs.ErrNotExist)
	}
	defer file.Close()
	text, err := io.ReadAll(io.LimitReader(file, 2*maxAnnouncerFile))
	if err != nil {
		return nil, true
	}
	var last announcerLine
	for line := range bytes.Lines(text) {
		var next announcerLine
		if json.Unmarshal(line, &next) == nil {
			last = next
		}
	}
	return last.Settled, true
}

// Forget implements announcers.
func (f *announcerFiles) Forget(_ context.Context, owner string) error {
	err := os.Remove(f.path(owner))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// syncRecords makes the records of the last days durable, also those of other processes.
func syncRecords(ctx context.Context, records audit.Reader, files preparedFiles) error {
	ends, err := audit.Ends(ctx, records)
	for _, end := range ends {
		file, err := files.OpenAppend(audit.FileOf(end.Day))
		if err != nil {
			return err
		}
		if err := errors.Join(file.Sync(), file.Close()); err != nil {
			return fmt.Errorf("sync audit records: %w", err)
		}
	}
	return err
}
