package app

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"remit/internal/contract"
	"remit/internal/frontends/cli"
	"remit/internal/stores/blob"
	"remit/internal/toolsets/books"
)

// folderScheme begins the address of a library on disk.
const folderScheme = "file://"

// bookStores are where books are kept. They are opened when somebody first asks for a
// book: a start touches no disk for them, and no network.
type bookStores struct {
	settings cli.Settings
	data     *dataFolder
	log      *slog.Logger

	mu     sync.Mutex
	opened *books.Stores
	trials []*opener[bool]
}

// open gives the stores. It sends nothing: a bucket that is away keeps nobody from the
// books in a folder.
func (b *bookStores) open(ctx context.Context) (books.Stores, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.opened != nil {
		return *b.opened, nil
	}
	var found []books.Store
	for _, place := range b.settings.Books {
		store, err := b.store(ctx, place)
		if err != nil {
			b.trials = nil
			return books.Stores{}, fmt.Errorf("books: %w", err)
		}
		found = append(found, store)
	}
	switch len(found) {
	case 0:
		return books.Stores{}, errors.New("books: no place is set; name one with --books")
	case 1:
		found = append(found, nil)
	}
	b.opened = &books.Stores{Main: found[0], Other: found[1]}
	return *b.opened, nil
}

func (b *bookStores) store(ctx context.Context, place string) (books.Store, error) {
	folder, ok := strings.CutPrefix(place, folderScheme)
	if ok {
		return b.disk(folder)
	}
	bucket, err := blob.OpenS3(ctx, place, b.settings.Env)
	if err != nil {
		return nil, err
	}
	t := newTrial(bucket.Probe)
	b.trials = append(b.trials, t)
	return b.guarded(bucket, func(ctx context.Context) error {
		_, err := t.open(ctx)
		return err
	}), nil
}

// disk opens a folder. One in the data folder appears along with that.
func (b *bookStores) disk(folder string) (books.Store, error) {
	if link := linkBeneath(b.settings.Root, folder); link != "" {
		return nil, fmt.Errorf("%s is a link; name the folder that it leads to with --books", link)
	}
	if info, err := os.Lstat(filepath.Join(folder, "registry.yaml")); err == nil && !info.Mode().IsRegular() {
		return nil, errors.New("registry.yaml of the library is a link or a folder; put the file itself there, or no book would be known")
	}
	disk, err := blob.OpenDisk(folder)
	if err != nil {
		return nil, err
	}
	ready := func(context.Context) error { return nil }
	if isWithin(b.settings.Data, folder) {
		ready = func(context.Context) error { return b.data.prepare() }
	}
	return b.guarded(disk, ready), nil
}

// linkBeneath gives the first link on the way from the root to a folder in it: a
// workspace may bring links along that would lead our books elsewhere.
func linkBeneath(root, folder string) string {
	if !isWithin(root, folder) {
		return ""
	}
	for part := folder; part != root; part = filepath.Dir(part) {
		if info, err := os.Lstat(part); err == nil && info.Mode()&fs.ModeSymlink != 0 {
			return part
		}
	}
	return ""
}

// isWithin tells whether a folder is another one, or in it.
func isWithin(outer, folder string) bool {
	beneath, err := filepath.Rel(outer, folder)
	return err == nil && filepath.IsLocal(beneath)
}

// reach tries the stores before anybody depends on them. What only an operator can
// mend is an error; a store that does not answer now may do so in a moment.
func (b *bookStores) reach(ctx context.Context) error {
	if _, err := b.open(ctx); err != nil {
		return err
	}
	var err error
	for _, t := range b.trials {
		if !b.settings.ReadOnly { // to try a store is to write there
			_, failed := t.open(ctx)
			err = errors.Join(err, failed)
		}
	}
	if unfit := (*blob.UnfitError)(nil); errors.As(err, &unfit) {
		return fmt.Errorf("books: %w", err)
	}
	if err = errors.Join(err, b.ping(ctx)); err != nil {
		b.log.Warn("the books cannot be used now; they are tried again when they are needed", "error", err)
	}
	return nil
}

// ping tells whether the stores answer. A library that was never made is well.
func (b *bookStores) ping(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, pingPatience)
	defer cancel()
	stores, err := b.open(ctx)
	if err != nil {
		return err
	}
	for _, store := range []books.Store{stores.Main, stores.Other} {
		if store == nil {
			continue
		}
		if _, err := store.Stat(ctx, "registry.yaml"); err != nil && !errors.Is(err, books.ErrNotFound) {
			return err
		}
	}
	return nil
}

func (b *bookStores) close() {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, t := range b.trials {
		t.close()
	}
}

// guarded makes a store that is written only when that may be.
func (b *bookStores) guarded(s books.Store, ready func(context.Context) error) books.Store {
	if b.settings.ReadOnly {
		ready = func(context.Context) error {
			return contract.Errorf(contract.Denied, "This server only reads: nothing in a book can be changed here")
		}
	}
	return &guardedStore{s, ready}
}

// guardedStore asks before it changes anything.
type guardedStore struct {
	books.Store
	ready func(context.Context) error
}

// Put keeps the promise of books.Store.
func (g *guardedStore) Put(ctx context.Context, key string, r io.Reader, size int64, c books.Cond) (books.Object, bool, error) {
	if err := g.ready(ctx); err != nil {
		return books.Object{}, false, err
	}
	return g.Store.Put(ctx, key, r, size, c)
}

// Copy keeps the promise of books.Store.
func (g *guardedStore) Copy(ctx context.Context, from, to, hash string) error {
	if err := g.ready(ctx); err != nil {
		return err
	}
	return g.Store.Copy(ctx, from, to, hash)
}

// Delete keeps the promise of books.Store.
func (g *guardedStore) Delete(ctx context.Context, key string, c books.Cond) (existed bool, err error) {
	if err := g.ready(ctx); err != nil {
		return false, err
	}
	return g.Store.Delete(ctx, key, c)
}

// SignPut keeps the promise of books.Store.
func (g *guardedStore) SignPut(ctx context.Context, key string, size int64, ttl time.Duration) (books.Signed, bool, error) {
	if err := g.ready(ctx); err != nil {
		return books.Signed{}, false, err
	}
	return g.Store.SignPut(ctx, key, size, ttl)
}

// newTrial finds out whether a store keeps its promises, once before it is written to.
// Failures count for a while, as those of the database do.
func newTrial(probe func(context.Context) error) *opener[bool] {
	return &opener[bool]{
		what: "try the store", pause: openPause,
		run:   func(ctx context.Context, _ bool) (bool, error) { return true, probe(ctx) },
		valid: func(bool) bool { return true },
	}
}
