package books

import (
	"cmp"
	"context"
	"path"
	"slices"
	"strings"
	"time"

	"remit/internal/contract"
)

// Limits of the effort for suggestions.
const (
	maxSuggested  = 5
	maxCompared   = 5000
	suggestWithin = 2 * time.Second
)

// missing returns the error for a path of a book where nothing is stored. It suggests similar
// paths.
func (l *Library) missing(ctx context.Context, h location, at string) error {
	e := notFound(strings.TrimSuffix(h.key(at), "/")).Because(ErrNotFound)
	within, cancel := context.WithTimeout(ctx, suggestWithin)
	defer cancel()
	if near := l.nearest(within, h, at); len(near) > 0 {
		e = e.With("suggested_paths", near)
	}
	return e
}

// nearest returns the keys similar to a path: of files of the book or, if it has none, of other
// books.
func (l *Library) nearest(ctx context.Context, h location, at string) []string {
	var paths []string
	for object, err := range h.store.List(ctx, h.key("")) {
		if err != nil || len(paths) == maxCompared {
			break
		}
		paths = append(paths, strings.TrimPrefix(object.Key, h.key("")))
	}
	if len(paths) == 0 && !h.registered {
		return l.nearBooks(ctx, h.book.ID, at)
	}
	if at == "" {
		return nil
	}
	near := ranked(at, paths)
	for i := range near {
		near[i] = h.key(near[i])
	}
	return near
}

// nearBooks returns the books with an id similar to bookID: the same path in each, if it exists
// there.
func (l *Library) nearBooks(ctx context.Context, bookID, at string) []string {
	books, err := l.Books(ctx)
	if err != nil {
		return nil
	}
	near := ranked(bookID, idsOf(books))
	for i, name := range near {
		near[i] = strings.TrimSuffix(Key(name, ""), "/")
		if h, err := l.locate(ctx, name); err == nil && at != "" {
			if _, err := h.store.Stat(ctx, h.key(at)); err == nil {
				near[i] = h.key(at)
			}
		}
	}
	return near
}

// ranked returns the candidates similar to name, the most similar first. It ignores letter case,
// and the right name in another folder counts as a small difference.
func ranked(name string, candidates []string) []string {
	type scored struct {
		name     string
		distance int
	}
	name = strings.ToLower(name)
	base := path.Base(name)
	maxDistance := min(len(name)/4+1, 6)
	var near []scored
	for _, candidate := range candidates {
		other := strings.ToLower(candidate)
		distance := contract.EditDistance(name, other, maxDistance)
		if moved := contract.EditDistance(base, path.Base(other), len(base)/4); moved <= len(base)/4 {
			distance = min(distance, moved+1)
		}
		if distance <= maxDistance {
			near = append(near, scored{candidate, distance})
		}
	}
	slices.SortStableFunc(near, func(a, b scored) int {
		return cmp.Or(cmp.Compare(a.distance, b.distance), cmp.Compare(a.name, b.name))
	})
	var names []string
	for _, one := range near[:min(len(near), maxSuggested)] {
		names = append(names, one.name)
	}
	return names
}
