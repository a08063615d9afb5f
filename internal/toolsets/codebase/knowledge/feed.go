package knowledge

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Feed has sources that are no files, "session:ID", take the place of what was fed under their paths; those that are Gone are
// removed. The next round does so, which is before the next search: only then is it known what is kept already, and a source whose
// Hash is that of what is kept is left out. What could not be kept is tried again.
func (x *Index) Feed(ctx context.Context, sources ...Source) error {
	for _, s := range sources {
		if !strings.HasPrefix(s.Path, sessionPrefix) {
			return errors.New("what is fed has session: before its name")
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
		fed := make([]Piece, len(s.Pieces))
		for i, p := range s.Pieces {
			fed[i] = newPiece(s.Path, i, p.Piece)
		}
		s.Pieces = fed
		x.fed[s.Path] = &s
	}
	return nil
}

// swallow keeps what was fed and is not known yet, all of it in one change.
func (x *Index) swallow() error {
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
			return fmt.Errorf("keep what was fed: %w", err)
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
