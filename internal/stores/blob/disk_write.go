package blob

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"

	"remit/internal/toolsets/books"
)

// Put writes a file next to the object, syncs it, and renames it to the object while it holds the
// lock of the key.
func (d *Disk) Put(ctx context.Context, key string, r io.Reader, size int64, c books.Cond) (stored books.Object, created bool, err error) {
	return d.put(ctx, key, content{r: r, size: size}, c)
}

func (d *Disk) put(ctx context.Context, key string, what content, c books.Cond) (stored books.Object, created bool, err error) {
	w, err := d.stage(ctx, key, what, c)
	if err != nil {
		return books.Object{}, false, err
	}
	defer w.Discard()
	return w.Put(ctx, c)
}

// Stage writes a draft next to the object and syncs it.
func (d *Disk) Stage(ctx context.Context, key string, r io.Reader, size int64) (books.Staged, error) {
	w, err := d.stage(ctx, key, content{r: r, size: size}, books.Cond{})
	if err != nil {
		return nil, err
	}
	return w, nil
}

func (d *Disk) stage(ctx context.Context, key string, what content, c books.Cond) (*draft, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if !isKey(key) {
		return nil, books.ErrPathConflict
	}
	if err := d.claimID(); err != nil {
		return nil, err
	}
	d.sweepHourly()
	w, err := d.draft(key, c)
	if err != nil {
		dir, _ := path.Split(key)
		d.prune(dir)
		return nil, err
	}
	if err := w.fill(ctx, what); err != nil {
		w.Discard()
		return nil, err
	}
	return &w, nil
}

// Hash implements books.Staged.
func (w *draft) Hash() string { return w.hash }

// Put implements books.Staged.
func (w *draft) Put(ctx context.Context, c books.Cond) (stored books.Object, created bool, err error) {
	if stored, created, err = w.store.publish(ctx, w, c); err != nil {
		return books.Object{}, false, err
	}
	if err := w.in.sync(); err != nil {
		return books.Object{}, false, fmt.Errorf("sync folder: %w", err)
	}
	// After a volume is unmounted, a write to an open folder of it succeeds.
	if err := w.store.checkID(); err != nil {
		return books.Object{}, false, fmt.Errorf("%w: %w", books.ErrUnknown, err)
	}
	stored.Hash = w.hash
	return stored, created, nil
}

// Discard implements books.Staged.
func (w *draft) Discard() {
	if !w.renamed {
		_ = w.in.remove(w.temp) // if it stays, a later sweep removes it
		dir, _ := path.Split(w.key)
		w.store.prune(dir)
	}
	w.in.close()
}

// draft creates an empty temporary file in the folder of an object, and the folder if it is
// missing. If the condition names a hash, the object must exist already, so no folder is created.
func (d *Disk) draft(key string, c books.Cond) (w draft, err error) {
	const tries = 100
	for range tries {
		w, err = d.tryDraft(key, c)
		// Deleting the last object of a folder also removes the folder, maybe just after we opened
		// it. Once the folder holds our file, it stays.
		if !errors.Is(err, fs.ErrNotExist) {
			break
		}
	}
	if err != nil {
		return draft{}, fmt.Errorf("write object: %w", err)
	}
	return w, nil
}

func (d *Disk) tryDraft(key string, c books.Cond) (draft, error) {
	dir, name := path.Split(key)
	in, err := d.folderOf(dir)
	if errors.Is(err, books.ErrNotFound) {
		if c.Hash != "" {
			return draft{}, &books.ConflictError{}
		}
		in, err = d.makeFolders(dir)
	}
	if err != nil {
		return draft{}, err
	}
	temp := tempPrefix + rand.Text()
	file, err := in.openOwn(temp, os.O_WRONLY|os.O_CREATE|os.O_EXCL)
	if err != nil {
		in.close()
		return draft{}, err
	}
	return draft{store: d, in: in, file: file, temp: temp, name: name, key: key}, nil
}

// publish renames a finished draft to its object, if the condition holds.
func (d *Disk) publish(ctx context.Context, w *draft, c books.Cond) (stored books.Object, created bool, err error) {
	release, err := d.lock(w.key)
	if err != nil {
		return books.Object{}, false, err
	}
	defer release()
	if err := ctx.Err(); err != nil {
		return books.Object{}, false, err
	}
	there, err := w.in.checkCond(w.name, c)
	if err != nil {
		return books.Object{}, false, err
	}
	if there == aFile || there == nothing {
		err = w.in.rename(w.temp, w.name)
	} else {
		err = errMisplaced
	}
	switch {
	case isMisplaced(err):
		return books.Object{}, false, books.ErrPathConflict
	case err != nil:
		return books.Object{}, false, fmt.Errorf("rename object: %w", err)
	}
	w.renamed = true
	at, err := w.in.look(w.name)
	return at.object(w.key), there == nothing, err
}

// Copy stores a copy of the object from under another key. It does not create a hard link, because
// a person who edits one file does not expect the other to change.
func (d *Disk) Copy(ctx context.Context, from, to, hash string) error {
	body, err := d.Open(ctx, from)
	if errors.Is(err, books.ErrNotFound) {
		return &books.ConflictError{}
	}
	if err != nil {
		return err
	}
	defer func() { _ = body.Close() }() // it was only read
	what := content{r: body, size: body.Size, hash: hash}
	if _, err := d.Stat(ctx, to); err == nil {
		_, err = what.copyTo(ctx, io.Discard)
		return err
	}
	_, _, err = d.put(ctx, to, what, books.Cond{}) // a concurrent writer stores the same bytes
	return err
}

// Delete removes the file, and the folders that are empty without it.
func (d *Disk) Delete(ctx context.Context, key string, c books.Cond) (existed bool, err error) {
	// Finding out that there is no object needs no lock, and no permission to write.
	if _, err := d.Stat(ctx, key); err != nil {
		return false, deleteResult(err, c)
	}
	dir, name := path.Split(key)
	in, err := d.folderOf(dir)
	if err != nil {
		return false, deleteResult(err, c)
	}
	defer in.close()
	if existed, err = d.remove(in, name, key, c); err != nil || !existed {
		return false, err
	}
	if err := in.sync(); err != nil {
		return false, fmt.Errorf("sync folder: %w", err)
	}
	if err := d.checkID(); err != nil {
		return false, fmt.Errorf("%w: %w", books.ErrUnknown, err)
	}
	d.prune(dir)
	return true, nil
}

// deleteResult returns the result of deleting an object that Stat could not find.
func deleteResult(err error, c books.Cond) error {
	switch {
	case !errors.Is(err, books.ErrNotFound):
		return err
	case c.Hash != "":
		return &books.ConflictError{}
	default:
		return nil
	}
}

func (d *Disk) remove(in folder, name, key string, c books.Cond) (existed bool, err error) {
	release, err := d.lock(key)
	if err != nil {
		return false, err
	}
	defer release()
	there, err := in.checkCond(name, c)
	if err != nil || there != aFile {
		return false, err
	}
	if err := in.remove(name); err != nil {
		return false, fmt.Errorf("remove object: %w", err)
	}
	return true, nil
}
