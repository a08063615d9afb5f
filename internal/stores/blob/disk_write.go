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

// Put writes a file beside the place of the object, syncs it, and moves it there while
// nobody else may write to that key.
func (d *Disk) Put(ctx context.Context, key string, r io.Reader, size int64, c books.Cond) (stored books.Object, created bool, err error) {
	return d.put(ctx, key, content{r: r, size: size}, c)
}

func (d *Disk) put(ctx context.Context, key string, what content, c books.Cond) (stored books.Object, created bool, err error) {
	if err := ctx.Err(); err != nil {
		return books.Object{}, false, err
	}
	if !isKey(key) {
		return books.Object{}, false, books.ErrNoPlace
	}
	d.sweepOnce.Do(d.sweep)
	dir, _ := path.Split(key)
	w, err := d.draft(key, c)
	if err != nil {
		d.prune(dir)
		return books.Object{}, false, err
	}
	defer w.in.close()
	hash, err := w.fill(ctx, what)
	if err == nil {
		stored, created, err = d.settle(ctx, w, c)
	}
	if err != nil {
		_ = w.in.remove(w.temp) // if it stays, it is swept one day
		d.prune(dir)
		return books.Object{}, false, err
	}
	if err := w.in.sync(); err != nil {
		return books.Object{}, false, fmt.Errorf("sync folder: %w", err)
	}
	stored.Hash = hash
	return stored, created, nil
}

// draft makes an empty file beside the place of an object, and the folder it is in. With
// a hash to compare, something is there already, so no folder is made.
func (d *Disk) draft(key string, c books.Cond) (w draft, err error) {
	const tries = 100
	for range tries {
		w, err = d.tryDraft(key, c)
		// Whoever deletes the last object of a folder removes it, perhaps just after we
		// came there. As soon as there is a file of ours in it, it stays.
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
	return draft{in: in, file: file, temp: temp, name: name, key: key}, nil
}

// settle moves a finished draft to its place, if the condition holds there.
func (d *Disk) settle(ctx context.Context, w draft, c books.Cond) (stored books.Object, created bool, err error) {
	release, err := d.lock(w.key)
	if err != nil {
		return books.Object{}, false, err
	}
	defer release()
	if err := ctx.Err(); err != nil {
		return books.Object{}, false, err
	}
	there, err := w.in.judge(w.name, c)
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
		return books.Object{}, false, books.ErrNoPlace
	case err != nil:
		return books.Object{}, false, fmt.Errorf("move object to its place: %w", err)
	}
	at, err := w.in.look(w.name)
	return at.object(w.key), there == nothing, err
}

// Copy stores the object from at another key as well. It makes no link to the same file:
// a person who edits one of them does not mean the other.
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
	_, _, err = d.put(ctx, to, what, books.Cond{}) // whoever is as fast brings the same bytes
	return err
}

// Delete removes the file, and the folders that are empty without it: a key needs none.
func (d *Disk) Delete(ctx context.Context, key string, c books.Cond) (existed bool, err error) {
	// To see that nothing is there takes no lock, and no right to write.
	if _, err := d.Stat(ctx, key); err != nil {
		return false, gone(err, c)
	}
	dir, name := path.Split(key)
	in, err := d.folderOf(dir)
	if err != nil {
		return false, gone(err, c)
	}
	defer in.close()
	if existed, err = d.remove(in, name, key, c); err != nil || !existed {
		return false, err
	}
	if err := in.sync(); err != nil {
		return false, fmt.Errorf("sync folder: %w", err)
	}
	d.prune(dir)
	return true, nil
}

// gone is what comes of deleting an object that could not be looked at.
func gone(err error, c books.Cond) error {
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
	there, err := in.judge(name, c)
	if err != nil || there != aFile {
		return false, err
	}
	if err := in.remove(name); err != nil {
		return false, fmt.Errorf("remove object: %w", err)
	}
	return true, nil
}
