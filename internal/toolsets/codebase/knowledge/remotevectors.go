package knowledge

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"

	"remit/internal/search/hybrid"
)

// A place is a chunk with its number.
type place struct {
	id    hybrid.ID
	entry *entry
}

// uncovered returns at most limit chunks without remote vectors, from number *next on, and advances
// *next.
func (c *catalog) uncovered(next *hybrid.ID, limit int) []place {
	c.mu.Lock()
	defer c.mu.Unlock()
	var picked []place
	for ; *next < c.size && len(picked) < limit; *next++ {
		if e := c.table.get(*next); e != nil && !e.covered && !e.retired.Load() {
			picked = append(picked, place{*next, e})
		}
	}
	return picked
}

// cover gives chunks their vectors: stored ones, and new ones, which it stores.
func (r *remote) cover(ctx context.Context, picked []place) error {
	store, err := r.x.store(ctx)
	if err != nil {
		return err
	}
	found, err := readChunks(ctx, store, picked)
	if err != nil {
		return err
	}
	keys := make([]Key, 0, len(found))
	for _, p := range found {
		keys = append(keys, p.Key)
	}
	vectors, err := store.Vectors(ctx, r.model.ID(), keys)
	if err != nil {
		return fmt.Errorf("read vectors: %w", err)
	}
	texts := map[Key]string{}
	for _, p := range found {
		if len(vectors[p.Key]) != r.model.Dim() {
			texts[p.Key] = wordsOf(p.Path, &p)
		}
	}
	made, failed := r.embed(ctx, store, texts)
	all := map[Key][]float32{}
	maps.Copy(all, vectors)
	maps.Copy(all, made)
	r.x.catalog.cover(picked, found, all, failed == nil)
	return failed
}

// readChunks reads chunks, omitting those that differ from the catalog.
func readChunks(ctx context.Context, store Store, picked []place) (map[Ref]Chunk, error) {
	refs := make([]Ref, len(picked))
	for i, at := range picked {
		refs[i] = at.entry.ref()
	}
	read, err := store.Chunks(ctx, refs)
	if err != nil {
		return nil, fmt.Errorf("read chunks: %w", err)
	}
	found := make(map[Ref]Chunk, len(read))
	for _, p := range read {
		found[p.Ref] = p
	}
	for _, at := range picked {
		if p, ok := found[at.entry.ref()]; ok && p.Key != at.entry.key {
			delete(found, p.Ref)
		}
	}
	return found, nil
}

func (e *entry) ref() Ref { return Ref{Path: e.origin.path, Number: int(e.number)} }

// embed requests vectors, in several concurrent requests, and stores the results.
func (r *remote) embed(ctx context.Context, store Store, texts map[Key]string) (map[Key][]float32, error) {
	made := map[Key][]float32{}
	var mu sync.Mutex
	var failed error
	var asking sync.WaitGroup
	room := make(chan struct{}, remoteRequests)
	for keys := range slices.Chunk(slices.Collect(maps.Keys(texts)), remoteTexts) {
		asking.Go(func() {
			room <- struct{}{}
			defer func() { <-room }()
			some, err := r.request(ctx, store, keys, texts)
			mu.Lock()
			defer mu.Unlock()
			failed = errors.Join(failed, err)
			maps.Copy(made, some)
		})
	}
	asking.Wait()
	return made, failed
}

// request computes some vectors. If the service rejects a text, only that text gets no vector.
func (r *remote) request(ctx context.Context, store Store, keys []Key, texts map[Key]string) (map[Key][]float32, error) {
	made := map[Key][]float32{}
	err := guarded("embed", func() error { return ask(ctx, r.model, keys, texts, made) })
	if isRefused(err) {
		err = r.askOneByOne(ctx, keys, texts, made)
	}
	if len(made) == 0 {
		return nil, err
	}
	if kept := store.PutVectors(ctx, r.model.ID(), made); kept != nil {
		return made, errors.Join(err, fmt.Errorf("store vectors: %w", kept))
	}
	return made, err
}

// askOneByOne leaves out the texts that a service rejects. If it rejects every text, the texts are
// not the reason.
func (r *remote) askOneByOne(ctx context.Context, keys []Key, texts map[Key]string, made map[Key][]float32) error {
	if _, err := r.model.Embed(ctx, []string{probe}); err != nil {
		return err
	}
	for _, key := range keys {
		if err := ask(ctx, r.model, []Key{key}, texts, made); err != nil && !isRefused(err) {
			return err
		}
	}
	return nil
}

// cover puts vectors into the remote index. A chunk without a vector counts as covered if all were
// requested: it is found by its words only.
func (c *catalog) cover(picked []place, found map[Ref]Chunk, vectors map[Key][]float32, all bool) {
	c.searching.RLock() // keeps numbers assigned to their chunks
	defer c.searching.RUnlock()
	var items []hybrid.Item
	var done []place
	for _, at := range picked {
		p, there := found[at.entry.ref()]
		v := vectors[at.entry.key]
		if there && !at.entry.retired.Load() && (v != nil || all) {
			items = append(items, hybrid.Item{ID: at.id, Text: wordsOf(p.Path, &p), Vector: v})
			done = append(done, at)
		}
	}
	c.remoteIndex.Load().Put(items)
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, at := range done {
		if !at.entry.retired.Load() && !at.entry.covered {
			at.entry.covered = true
			c.covered++
		}
	}
}

// coverage returns how many chunks have remote vectors, and the number of chunks.
func (c *catalog) coverage() (covered, chunks int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.covered, c.chunks
}
