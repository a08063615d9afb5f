package blob

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash/fnv"
	"io"
	"io/fs"
	"os"

	"remit/internal/filelock"
	"remit/internal/toolsets/books"
)

// stripeCount is the number of locks. Keys that share a lock wait for each other.
const stripeCount = 256

// lock waits until no other goroutine or process changes the object at a key. The lock ends with
// the process that holds it.
func (d *Disk) lock(key string) (release func(), err error) {
	sum := fnv.New32a()
	sum.Write([]byte(key))
	n := sum.Sum32() % stripeCount
	d.stripes[n].Lock()
	file, err := d.openLock(n)
	if err == nil {
		if err = filelock.Lock(file); err != nil {
			err = errors.Join(err, file.Close())
		}
	}
	if err != nil {
		d.stripes[n].Unlock()
		return nil, fmt.Errorf("lock object: %w", err)
	}
	return func() {
		_ = filelock.Unlock(file) // closing unlocks too, unless a child process was just forked
		_ = file.Close()
		d.stripes[n].Unlock()
	}, nil
}

// openLock opens a lock file. It opens a new descriptor each time, because the descriptor holds the
// lock.
func (d *Disk) openLock(n uint32) (*os.File, error) {
	root, err := d.root()
	if err != nil {
		return nil, err
	}
	defer root.close()
	locks, err := root.enterOrMake(lockFolder)
	if err != nil {
		return nil, err
	}
	defer locks.close()
	return locks.openOwn(fmt.Sprintf("%02x", n), os.O_RDWR|os.O_CREATE)
}

// checkCond returns the kind of entry with a name, and an error if the condition does not hold.
// Only files are objects. A caller that is going to change the object must hold the lock.
func (f folder) checkCond(name string, c books.Cond) (kind, error) {
	at, err := f.look(name)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nothing, fmt.Errorf("stat object: %w", err)
	}
	if at.kind != aFile {
		if c.Hash != "" {
			return at.kind, &books.ConflictError{}
		}
		return at.kind, nil
	}
	if c == (books.Cond{}) {
		return aFile, nil
	}
	actual, err := f.hash(name)
	if err == nil && (c.Absent || c.Hash != actual) {
		err = &books.ConflictError{Actual: actual}
	}
	return aFile, err
}

func (f folder) hash(name string) (string, error) {
	file, _, err := f.openFile(name)
	if err != nil {
		return "", fmt.Errorf("read object: %w", err)
	}
	defer file.Close()
	sum := sha256.New()
	if _, err := io.Copy(sum, file); err != nil {
		return "", fmt.Errorf("read object: %w", err)
	}
	return hex.EncodeToString(sum.Sum(nil)), nil
}
