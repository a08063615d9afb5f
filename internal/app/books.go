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

	"remit/internal/contract"
	"remit/internal/frontends/cli"
	"remit/internal/stores/blob"
	"remit/internal/stores/workspace"
	"remit/internal/toolsets/books"
)

// folderScheme is the scheme of a library on disk.
const folderScheme = "file://"

// bookStores holds the stores of books. They are opened when a book is first needed, so that a
// start needs no disk or network access for them.
type bookStores struct {
	settings cli.Settings
	root     *workspace.Root
	data     *dataFolder
	anchor   *anchor
	log      *slog.Logger

	mu      sync.Mutex
	opened  *books.Stores
	trials  []*opener[bool]
	buckets []*bucketID
	ends    []func() // end what stores do in the background
}

// open returns the stores. It sends no request, so that an unreachable bucket does not block the
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
			b.trials, b.buckets, b.ends = nil, nil, nil
			return books.Stores{}, fmt.Errorf("books: %w", err)
		}
		found = append(found, store)
	}
	switch len(found) {
	case 0:
		return books.Stores{}, errors.New("books: no library is configured; set one with --books")
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
	s3, err := blob.OpenS3(ctx, place, b.settings.Env)
	if err != nil {
		return nil, err
	}
	t, id := newTrial(s3.Probe), newBucketID(s3, b.anchor.knownBooks(place))
	b.trials, b.buckets = append(b.trials, t), append(b.buckets, id)
	b.ends = append(b.ends, s3.Close, id.close)
	return b.guarded(&bucket{s3, id}, func(ctx context.Context) error {
		if _, err := t.open(ctx); err != nil {
			return err
		}
		return id.claim(ctx)
	}), nil
}

// disk opens a folder. A folder inside the data folder is created together with that.
func (b *bookStores) disk(folder string) (books.Store, error) {
	if link := linkBeneath(b.settings.Root, folder); link != "" {
		return nil, fmt.Errorf("%s is a link; use the folder that it points to with --books", link)
	}
	if info, err := os.Lstat(filepath.Join(folder, "registry.yaml")); err == nil && !info.Mode().IsRegular() {
		return nil, errors.New("registry.yaml of the library is a link or a folder; replace it with the file " +
			"itself, otherwise no book is found")
	}
	open := func() (*blob.Disk, error) { return blob.OpenDisk(folder) }
	if below, ok := b.root.Within(folder); ok {
		open = func() (*blob.Disk, error) { return blob.OpenDiskIn(b.settings.Root, below) }
	}
	disk, err := open()
	if err != nil {
		return nil, err
	}
	disk.Identify(b.anchor.knownBooks(folderScheme+folder), refuseStorage("The folder of books"))
	b.ends = append(b.ends, disk.Close)
	ready := func(context.Context) error { return nil }
	if isWithin(b.settings.Data, folder) {
		ready = func(context.Context) error { return b.data.claim() }
	}
	return b.guarded(disk, ready), nil
}

// linkBeneath returns the first link on the path from the root to a folder within it, or "". A
// cloned workspace may contain links that would redirect our books to another place.
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

// isWithin reports whether folder is outer, or within it.
func isWithin(outer, folder string) bool {
	beneath, err := filepath.Rel(outer, folder)
	return err == nil && filepath.IsLocal(beneath)
}

// reach tries the stores before any call depends on them. It returns an error if only an operator
// can fix the problem; a store that does not answer now may answer later.
func (b *bookStores) reach(ctx context.Context) error {
	if _, err := b.open(ctx); err != nil {
		return err
	}
	var err error
	for _, t := range b.trials {
		if !b.settings.ReadOnly { // testing a store writes to it
			_, failed := t.open(ctx)
			err = errors.Join(err, failed)
		}
	}
	if unfit := (*blob.UnusableError)(nil); errors.As(err, &unfit) {
		return fmt.Errorf("books: %w", err)
	}
	if err = errors.Join(err, b.ping(ctx)); err != nil {
		b.log.Warn("the books are unavailable; Remit tries again when they are needed", "error", err)
	}
	return nil
}

// ping reports whether the stores answer. A library that does not exist yet is not an error; a
// missing bucket is.
func (b *bookStores) ping(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, pingTimeout)
	defer cancel()
	stores, err := b.open(ctx)
	if err != nil {
		return err
	}
	for _, store := range []books.Store{stores.Main, stores.Other} {
		if store == nil {
			continue
		}
		_, err := store.Stat(ctx, "registry.yaml")
		if errors.Is(err, books.ErrNotFound) {
			// S3 answers a request for a description without saying what is missing.
			err = opens(ctx, store)
		}
		if err != nil {
			return err
		}
	}
	for _, id := range b.buckets {
		if err := id.check(ctx); err != nil {
			return err
		}
	}
	return nil
}

// opens reports whether a store can be read, with or without a registry.
func opens(ctx context.Context, store books.Store) error {
	body, err := store.Open(ctx, "registry.yaml")
	if errors.Is(err, books.ErrNotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	return body.Close()
}

func (b *bookStores) close() {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, t := range b.trials {
		t.close()
	}
	for _, end := range b.ends {
		end()
	}
}

// guarded returns a store that checks whether it may be written before each write.
func (b *bookStores) guarded(s books.Store, ready func(context.Context) error) books.Store {
	if b.settings.ReadOnly {
		ready = func(context.Context) error {
			return contract.Errorf(contract.Denied, "This server is read-only: books cannot be changed")
		}
	}
	return &guardedStore{s, ready}
}

// guardedStore calls ready before it changes anything.
type guardedStore struct {
	books.Store
	ready func(context.Context) error
}

// Put implements books.Store.
func (g *guardedStore) Put(ctx context.Context, key string, r io.Reader, size int64, c books.Cond) (books.Object, bool, error) {
	if err := g.ready(ctx); err != nil {
		return books.Object{}, false, err
	}
	return g.Store.Put(ctx, key, r, size, c)
}

// Stage implements books.Store.
func (g *guardedStore) Stage(ctx context.Context, key string, r io.Reader, size int64) (books.Staged, error) {
	if err := g.ready(ctx); err != nil {
		return nil, err
	}
	return g.Store.Stage(ctx, key, r, size)
}

// Copy implements books.Store.
func (g *guardedStore) Copy(ctx context.Context, from, to, hash string) error {
	if err := g.ready(ctx); err != nil {
		return err
	}
	return g.Store.Copy(ctx, from, to, hash)
}

// Delete implements books.Store.
func (g *guardedStore) Delete(ctx context.Context, key string, c books.Cond) (existed bool, err error) {
	if err := g.ready(ctx); err != nil {
		return false, err
	}
	return g.Store.Delete(ctx, key, c)
}

// newTrial tests a store once before the first write to it. A failure is remembered for a while,
// like that of the database.
func newTrial(probe func(context.Context) error) *opener[bool] {
	return &opener[bool]{
		what: "test the store", pause: openPause,
		run:   func(ctx context.Context, _ bool) (bool, error) { return true, probe(ctx) },
		valid: func(bool) bool { return true },
	}
}
