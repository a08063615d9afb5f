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
	for _, a := range decide(changes, now.Hash, isOpen) {
		line, ok := parseLine(h.book.ID, a.Line)
		if !ok || line.path != path { // somebody else made the record
			continue
		}
		if _, err := h.store.Delete(ctx, a.Line, Cond{}); err != nil {
			return err
		}
	}
	if now.Hash != "" {
		return l.register(ctx, h)
	}
	return nil
}

// decide sets the states of the open changes of an object that has the hash now, and returns those
// that were not made.
func decide(changes []*audit.Announced, now string, isOpen func(*audit.Announced) bool) (undone []*audit.Announced) {
	var g gap
	end := func(after string) {
		g.decide(after)
		for _, a := range g.open {
			if a.State == audit.NotMade {
				undone = append(undone, a)
			}
		}
	}
	for _, a := range changes {
		switch {
		case isOpen(a):
			g.open = append(g.open, a)
		case a.State == audit.Made:
			end(a.Old)
			g = gap{before: a}
		}
	}
	end(now)
	return undone
}

// gap holds the open changes between two changes that are known to be made.
type gap struct {
	before *audit.Announced // nil if it is not known
	open   []*audit.Announced
}

// decide sets the states of the open changes. after is the content that the next change has
// replaced, or that is there now.
func (g *gap) decide(after string) {
	made, ok := g.chain(len(g.open), after)
	isSeen := func(hash string) bool {
		return slices.ContainsFunc(g.open, func(a *audit.Announced) bool { return a.Old == hash })
	}
	for _, a := range g.open {
		switch {
		case slices.Contains(made, a):
			a.State = audit.Made
		case ok && (g.before != nil || len(made) > 0 || isSeen(after)):
			a.State = audit.NotMade
		default: // somebody has changed the object without a record
			a.State = audit.Unknown
		}
	}
}

// chain returns the open changes before index i that lead from the content before the gap to the
// content after it.
func (g *gap) chain(i int, after string) (made []*audit.Announced, ok bool) {
	if g.before != nil && g.before.New == after {
		return nil, true
	}
	for j := i - 1; j >= 0; j-- {
		a := g.open[j]
		unknown := a.New == "" && a.Op != opDelete // the hash of an upload that had not arrived
		if a.New == after && !unknown || unknown && a.Old != after {
			if made, ok := g.chain(j, a.Old); ok {
				return append(made, a), true
			}
		}
	}
	return nil, g.before == nil
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

// locateChange returns the location of the book that a change is about, in the store that the
// change names, and the path in the book.
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
