package app

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"remit/internal/backup"
	"remit/internal/stores/blob"
	"remit/internal/toolsets/books"
)

// bookTarget writes the objects of books into empty stores.
type bookTarget struct {
	stores  []books.Store
	folders map[string]string // of stores on disk, by their names
	// The names of the stores that the objects come from; the main one first.
	sources []string
	// What was written to a store that is not removed as a whole.
	remote []object
	// An object that was stored by an earlier attempt stays.
	isRepeated bool
}

type object struct {
	store books.Store
	key   string
}

// newBookTarget opens the stores.
func newBookTarget(ctx context.Context, t *importTarget) (*bookTarget, error) {
	b := &bookTarget{folders: map[string]string{}}
	for _, place := range t.app.settings.Books {
		if folder, ok := strings.CutPrefix(place, folderScheme); ok {
			disk, err := blob.OpenDisk(t.place(folder))
			if err != nil {
				return nil, fmt.Errorf("books: %w", err)
			}
			b.stores, b.folders[disk.Name()] = append(b.stores, disk), t.place(folder)
			continue
		}
		bucket, err := blob.OpenS3(ctx, place, t.app.settings.Env)
		if err == nil {
			err = bucket.Probe(ctx)
		}
		if err != nil {
			return nil, fmt.Errorf("books: %w", err)
		}
		b.stores = append(b.stores, bucket)
	}
	return b, nil
}

// checkForeign returns an error if a store holds other objects than those of the sources.
func (b *bookTarget) checkForeign(ctx context.Context, sources []*books.Snapshot) error {
	ours := map[string]bool{}
	for _, s := range sources {
		for _, o := range s.Objects {
			ours[b.store(s.Store.Name()).Name()+"/"+o.Key] = true
		}
	}
	ours[b.stores[0].Name()+"/"+books.RegistryKey] = len(sources) > 0
	for _, store := range b.stores {
		for o, err := range store.List(ctx, "") {
			if err != nil {
				return fmt.Errorf("books: %w", err)
			}
			isOwn := strings.HasPrefix(o.Key, ".") && !strings.HasPrefix(o.Key, ".history/")
			if !isOwn && !ours[store.Name()+"/"+o.Key] {
				return fmt.Errorf("the library holds other data already (%s has %s); name an empty one", store.Name(), o.Key)
			}
		}
	}
	return nil
}

// store returns the store for objects that were in the store with this name: the one with the same
// name, or the main one.
func (b *bookTarget) store(name string) books.Store {
	if at := slices.IndexFunc(b.stores, func(s books.Store) bool { return s.Name() == name }); at >= 0 {
		return b.stores[at]
	}
	return b.stores[0]
}

// add stores an object. On disk, it keeps the time of its last change, which tools return.
func (b *bookTarget) add(ctx context.Context, one item) error {
	from, key, _ := strings.Cut(strings.TrimPrefix(one.name, backup.Books), "/")
	store := b.store(from)
	if key == books.RegistryKey {
		if len(b.sources) > 0 && from != b.sources[0] {
			return nil // only the one of the main store counts
		}
		text, err := io.ReadAll(one.r)
		if err != nil {
			return err
		}
		for _, name := range b.sources {
			text = books.MoveRegistry(text, name, b.store(name).Name())
		}
		store, one.size, one.r = b.stores[0], int64(len(text)), bytes.NewReader(text)
	}
	folder, onDisk := b.folders[store.Name()]
	if !onDisk {
		b.remote = append(b.remote, object{store, key})
	}
	sum := sha256.New()
	in := io.TeeReader(one.r, sum)
	_, _, err := store.Put(ctx, key, in, one.size, books.Cond{Absent: true})
	if conflict, ok := errors.AsType[*books.ConflictError](err); ok && b.isRepeated {
		if _, err = io.Copy(sum, one.r); err == nil && conflict.Actual != hex.EncodeToString(sum.Sum(nil)) {
			err = fmt.Errorf("the library holds another version already (%w)", conflict)
		}
	}
	if err == nil && onDisk && !one.modified.IsZero() {
		err = os.Chtimes(filepath.Join(folder, filepath.FromSlash(key)), one.modified, one.modified)
	}
	if err != nil {
		return fmt.Errorf("books: %s: %w", key, err)
	}
	return nil
}

// discard deletes what was written to S3.
func (b *bookTarget) discard(ctx context.Context) (err error) {
	for _, o := range b.remote {
		_, failed := o.store.Delete(ctx, o.key, books.Cond{})
		err = errors.Join(err, failed)
	}
	return err
}

// hash hashes an object.
func (b *bookTarget) hash(ctx context.Context, name string, sum hash.Hash) error {
	from, key, _ := strings.Cut(strings.TrimPrefix(name, backup.Books), "/")
	body, err := b.store(from).Open(ctx, key)
	if err != nil {
		return fmt.Errorf("books: %s: %w", key, err)
	}
	_, err = io.Copy(sum, body)
	return errors.Join(err, body.Close())
}
