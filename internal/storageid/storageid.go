// Package storageid tells the folder of a storage from another one that takes its place: an empty
// mount point, a folder that was deleted and made again, another file system mounted over it.
package storageid

import (
	"bufio"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"
	"sync"
	"time"

	"remit/internal/filelock"
)

// Memory remembers the id of a storage, outside of the storage. It is safe for concurrent use.
type Memory interface {
	// Known returns the id that the storage must have, or "" if nothing was ever stored there.
	Known() (string, error)
	// Record remembers the id of the storage.
	Record(id string) error
}

// Identifier finds the id of a folder.
type Identifier interface {
	// ID returns the id of the folder, or "" if it has none.
	ID() (string, error)
	// MakeID returns the id of the folder, and gives it one if it has none. It is called before
	// something is stored in the folder.
	MakeID() (string, error)
	// Lost names what a folder without an id has lost.
	Lost() string
}

// Folder is the folder of a storage. It is safe for concurrent use, also by several processes.
//
// While the folder is known, Folder holds it open: a folder that is made again may get the number
// of a deleted one, but not that of an open one. So comparing the two is enough as long as they are
// equal, and the id decides otherwise.
type Folder struct {
	Path   string
	ID     Identifier
	Memory Memory
	// Refuse returns the error for callers. why continues a sentence that begins with the name of
	// the storage.
	Refuse func(why string) error

	mu   sync.Mutex
	held *os.File
	info os.FileInfo // of held
	// newAt is when nothing was known about the folder.
	newAt time.Time
}

// newFor is how long Check does not ask again whether something is known about the folder, because
// that takes longer than reading a small file. Claim always asks.
const newFor = time.Second

// Check returns an error if something was stored in the folder before, and the path does not lead
// to that folder now. It creates nothing.
func (f *Folder) Check() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.isHeld() || f.held == nil && time.Since(f.newAt) < newFor {
		return nil
	}
	return f.look()
}

// Claim is Check before something is stored in the folder. It gives the folder an id and remembers
// it, if that was not done before.
func (f *Folder) Claim() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.isHeld() {
		return nil
	}
	if err := f.look(); err != nil || f.held != nil {
		return err
	}
	id, err := f.ID.MakeID()
	if err == nil {
		err = f.Memory.Record(id)
	}
	if err != nil {
		return err
	}
	return f.hold()
}

// Before is called before a batch is written to a file in the folder, and After when the batch is
// on disk. They implement memlog.Place.
func (f *Folder) Before(durable bool) error {
	if durable {
		return f.Claim()
	}
	return f.Check()
}

// After is Check: after a volume is unmounted, a write to a file that is still open succeeds.
func (f *Folder) After() error { return f.Check() }

// Close stops holding the folder open.
func (f *Folder) Close() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.release()
}

// isHeld reports whether the path leads to the folder that is held open.
func (f *Folder) isHeld() bool {
	if f.held == nil {
		return false
	}
	now, err := os.Stat(f.Path)
	return err == nil && os.SameFile(now, f.info)
}

// look compares the id in the folder with the one that is known, and holds the folder open if they
// are equal.
func (f *Folder) look() error {
	f.release()
	known, err := f.Memory.Known()
	if err != nil {
		return err
	}
	if known == "" {
		f.newAt = time.Now()
		return nil
	}
	f.newAt = time.Time{}
	id := ""
	if err = f.hold(); err == nil {
		id, err = f.ID.ID()
	}
	switch {
	case err == nil && id == known && f.isHeld():
		return nil
	case errors.Is(err, fs.ErrNotExist):
		err = f.Refuse("is missing: it was deleted or moved, or its volume is not mounted")
	case err != nil:
		err = f.Refuse("cannot be read (" + reason(err) + ")")
	case id == "":
		err = f.Refuse("has lost " + f.ID.Lost() + ": another folder is in its place, or its volume is not mounted")
	default:
		err = f.Refuse("is not the one that was used before")
	}
	f.release()
	return err
}

// reason removes the path from an error.
func reason(err error) string {
	if e, ok := errors.AsType[*fs.PathError](err); ok {
		return e.Err.Error()
	}
	return err.Error()
}

func (f *Folder) release() {
	if f.held != nil {
		_ = f.held.Close() // nothing was written through it
		f.held, f.info = nil, nil
	}
}

// hold keeps the folder open.
func (f *Folder) hold() error {
	held, err := os.Open(f.Path)
	if err != nil {
		return fmt.Errorf("hold a folder open: %w", err)
	}
	info, err := held.Stat()
	if err != nil {
		return errors.Join(fmt.Errorf("hold a folder open: %w", err), held.Close())
	}
	f.held, f.info = held, info
	return nil
}

// IDFile is a file with the id of the folder that holds it.
type IDFile struct {
	Folder string // its path
	// Open opens the file. With create, it opens the file for appending, and creates it and the
	// folder if they are missing.
	Open func(create bool) (*os.File, error)
}

// ID implements Identifier.
func (i IDFile) ID() (string, error) {
	file, err := i.Open(false)
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	defer file.Close()
	return Read(file)
}

// Lost implements Identifier.
func (IDFile) Lost() string { return "its id" }

// MakeID implements Identifier. If several processes make an id at once, the first line counts.
func (i IDFile) MakeID() (id string, err error) {
	file, err := i.Open(true)
	if err != nil {
		return "", fmt.Errorf("open the id of a folder: %w", err)
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	if id, err = Read(io.NewSectionReader(file, 0, maxFile)); id != "" || err != nil {
		return id, err
	}
	// A crash may have left a part of a line.
	if _, err = file.WriteString("\n" + New() + "\n"); err != nil {
		return "", fmt.Errorf("write the id of a folder: %w", err)
	}
	if err := errors.Join(file.Sync(), filelock.SyncFolder(i.Folder)); err != nil {
		return "", fmt.Errorf("write the id of a folder: %w", err)
	}
	return Read(io.NewSectionReader(file, 0, maxFile))
}

const (
	maxFile = 4096
	idSize  = 26
)

// New returns a new id.
func New() string { return rand.Text() }

// Read returns the first id in a file, or "" if it has none.
func Read(file io.Reader) (string, error) {
	lines := bufio.NewReader(io.LimitReader(file, maxFile))
	for {
		line, err := lines.ReadString('\n')
		if id := strings.TrimSpace(line); err == nil && isID(id) {
			return id, nil
		}
		if errors.Is(err, io.EOF) {
			return "", nil
		}
		if err != nil {
			return "", fmt.Errorf("read an id: %w", err)
		}
	}
}

func isID(text string) bool {
	return len(text) == idSize && strings.Trim(text, "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567") == ""
}
