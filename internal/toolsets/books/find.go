package books

import (
	"context"
	"errors"
	"slices"
	"strings"

	"remit/internal/engine/audit"
)

var _ audit.Finder = (*Library)(nil)

// Find implements audit.Finder. The changes of an object that were made are a chain: each replaces
// the content that the one before it has stored, and the last one has stored what is there now. An
// open change was made if it closes a gap of the chain. The line that the history has of a change
// that was not made is removed.
func (l *Library) Find(ctx context.Context, changes []*audit.Announced, isOpen func(*audit.Announced) bool) error {
	h, path, err := l.locateChange(ctx, &changes[0].Change)
	if err != nil {
		return err
	}
	if changes[0].Op == opRegister {
		findRegistered(h, changes, isOpen)
		return nil
	}
	now, err := current(ctx, h.store, h.key(path))
	if err != nil {
		return err
	}
	// From the newest change on, before is what the chain needs at this place.
	before := now.Hash
	for i, a := range slices.Backward(changes) {
		open := isOpen(a)
		if open {
			a.State = judge(a, before, lastMade(changes[:i]))
		}
		switch {
		case a.State == audit.Made:
			before = a.Old
		case a.State == audit.NotMade && open:
			line, ok := parseLine(h.book.ID, a.Line)
			if !ok || line.path != path { // somebody else made the record
				continue
			}
			if _, err := h.store.Delete(ctx, a.Line, Cond{}); err != nil {
				return err
			}
		}
	}
	if now.Hash != "" {
		return l.register(ctx, h)
	}
	return nil
}

// lastMade returns the last of some changes that is known to be made, or nil.
func lastMade(changes []*audit.Announced) *audit.Announced {
	for _, a := range slices.Backward(changes) {
		if a.State == audit.Made {
			return a
		}
	}
	return nil
}

// judge decides about an open change. after is the content that the next change has replaced, or
// that is there now; before is the last earlier change that was made.
func judge(a *audit.Announced, after string, before *audit.Announced) audit.State {
	unknown := a.New == "" && a.Op != opDelete // the hash of an upload that had not arrived
	switch {
	case a.Old == after || before != nil && before.New == after: // the chain is complete without it
		return audit.NotMade
	case a.New == after || unknown:
		return audit.Made
	}
	return audit.Unknown
}

// findRegistered decides about changes that add a book to the registry.
func findRegistered(h location, changes []*audit.Announced, isOpen func(*audit.Announced) bool) {
	made := lastMade(changes) != nil
	for _, a := range changes {
		switch {
		case !isOpen(a):
		case h.registered && !made:
			a.State, made = audit.Made, true
		default:
			a.State = audit.NotMade
		}
	}
}

// locateChange returns the location of the book that a change is about, in the store that the change
// names, and the path in the book.
func (l *Library) locateChange(ctx context.Context, c *audit.Change) (h location, path string, err error) {
	stores, err := l.stores(ctx)
	if err != nil {
		return h, "", err
	}
	id, path, _ := strings.Cut(strings.TrimPrefix(c.Path, booksPrefix), "/")
	list, err := l.registry.fresh(ctx, l, stores.Main)
	if err != nil {
		return h, "", err
	}
	h = location{book: Book{ID: id}}
	if known := list.find(id); known != nil {
		h.book, h.registered = *known, true
	}
	for _, store := range []Store{stores.Main, stores.Other} {
		if store != nil && store.Name() == c.Store {
			h.store = store
		}
	}
	if h.store == nil {
		err = errors.New("the library has no store of the kind " + c.Store)
	}
	return h, path, err
}
