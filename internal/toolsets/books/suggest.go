package books

import (
	"cmp"
	"context"
	"fmt"
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

// addedBook is a book that a write has added to the registry.
type addedBook struct {
	id      string
	nearest string // the most similar id of the other books; "" if there are none
}

// note says that a write has created a book, in case its id was mistyped. It is "" if there is no
// other book that could have been meant.
func (a *addedBook) note() string {
	if a == nil || a.nearest == "" {
		return ""
	}
	return fmt.Sprintf("The book %s did not exist, so it was created. The nearest existing book is %s. If that one was meant, write there; "+
		"a person can take the new book back (remit books rm %s).", a.id, a.nearest, a.id)
}

// absentBook returns a note that an upload will create a book, and "" if the book exists or is the
// first one.
func (l *Library) absentBook(ctx context.Context, h location) (note string, err error) {
	if h.registered {
		return "", nil
	}
	books, err := l.Books(ctx)
	if near := nearestID(h.book.ID, books); near != "" {
		note = fmt.Sprintf("The book %s does not exist: the upload creates it. The nearest existing book is %s. If that one was meant, "+
			"ask for another URL.", h.book.ID, near)
	}
	return note, err
}

// nearestID returns the id of the book that is most similar to bookID, or "" if there are no books.
func nearestID(bookID string, books []Book) (nearest string) {
	best := maxBookID + 1
	for i := range books {
		if d := contract.EditDistance(bookID, books[i].ID, best-1); d < best {
			nearest, best = books[i].ID, d
		}
	}
	return nearest
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
