package knowledge

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// AddSources adds sources that are not files, "session:ID", and replaces those fed before under the
// same paths; sources that are Gone are removed. The next refresh stores them, which happens before
// the next search: only then it is known what is stored already. A source with the same Hash as the
// stored one is left out. Failed writes are retried.
func (x *Index) AddSources(ctx context.Context, sources ...Source) error {
	for _, s := range sources {
		if !strings.HasPrefix(s.Path, sessionPrefix) {
			return errors.New("feed: the prefix session: is missing from the path")
		}
	}
	ctx, leave, err := x.enter(ctx)
	if err != nil {
		return err
	}
	defer leave()
	if err := x.gone(ctx); err != nil {
		return err
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	for _, s := range sources {
		s.Modified = microseconds(s.Modified)
		fed := make([]Chunk, len(s.Chunks))
		for i, p := range s.Chunks {
			fed[i] = newChunk(s.Path, i, p.Chunk)
		}
		s.Chunks = fed
		x.fed[s.Path] = &s
	}
	return nil
}

// storeFed stores the sources from Feed that differ from the catalog, all in one change.
func (x *Index) storeFed() error {
	x.mu.Lock()
	fed := slices.Collect(maps.Values(x.fed))
	x.mu.Unlock()
	var changed []Source
	for _, s := range fed {
		_, hash, found := x.catalog.known(s.Path)
		if s.Gone && found || !s.Gone && (!found || hash != s.Hash) {
			changed = append(changed, *s)
		}
	}
	if len(changed) > 0 {
		if err := x.attempt(x.ctx, changed, nil); err != nil {
			return fmt.Errorf("store session sources: %w", err)
		}
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	for _, s := range fed {
		if x.fed[s.Path] == s { // nothing newer was fed meanwhile
			delete(x.fed, s.Path)
		}
	}
	return nil
}
