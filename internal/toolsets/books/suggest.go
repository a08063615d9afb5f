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

// Suggestions must not cost more than what they are worth.
const (
	mostSuggested = 5
	mostCompared  = 5000
	suggestWithin = 2 * time.Second
)

// missing says that there is nothing at a path of a book, and names what is near to it.
func (l *Library) missing(ctx context.Context, h home, at string) error {
	e := notFound(strings.TrimSuffix(h.key(at), "/")).Because(ErrNotFound)
	within, cancel := context.WithTimeout(ctx, suggestWithin)
	defer cancel()
	if near := l.nearest(within, h, at); len(near) > 0 {
		e = e.With("suggested_paths", near)
	}
	return e
}

// nearest gives the keys that may have been meant by a path: of files of the book, or,
// if it has none, of other books.
func (l *Library) nearest(ctx context.Context, h home, at string) []string {
	var paths []string
	for object, err := range h.store.List(ctx, h.key("")) {
		if err != nil || len(paths) == mostCompared {
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

// nearBooks gives the books that may have been meant by an id: the same path in each,
// if it is there.
func (l *Library) nearBooks(ctx context.Context, bookID, at string) []string {
	books, err := l.Books(ctx)
	if err != nil {
		return nil
	}
	near := ranked(bookID, idsOf(books))
	for i, name := range near {
		near[i] = strings.TrimSuffix(Key(name, ""), "/")
		if h, err := l.place(ctx, name); err == nil && at != "" {
			if _, err := h.store.Stat(ctx, h.key(at)); err == nil {
				near[i] = h.key(at)
			}
		}
	}
	return near
}

// ranked gives the candidates that a person may have meant by name, the nearest first.
// Letter case is no distance, and the right name in another folder is a small one.
func ranked(name string, candidates []string) []string {
	type scored struct {
		name string
		far  int
	}
	name = strings.ToLower(name)
	base := path.Base(name)
	most := min(len(name)/4+1, 6)
	var near []scored
	for _, candidate := range candidates {
		other := strings.ToLower(candidate)
		far := contract.Distance(name, other, most)
		if moved := contract.Distance(base, path.Base(other), len(base)/4); moved <= len(base)/4 {
			far = min(far, moved+1)
		}
		if far <= most {
			near = append(near, scored{candidate, far})
		}
	}
	slices.SortStableFunc(near, func(a, b scored) int {
		return cmp.Or(cmp.Compare(a.far, b.far), cmp.Compare(a.name, b.name))
	})
	var names []string
	for _, one := range near[:min(len(near), mostSuggested)] {
		names = append(names, one.name)
	}
	return names
}
