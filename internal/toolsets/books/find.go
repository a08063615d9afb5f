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
// the content that the one before it has stored, and the last one has stored what is there now. A
// change of which the history has no line was not made, because the line is stored first. The line
// of any other change that was not made is removed.
func (l *Library) Find(
	ctx context.Context, changes []*audit.Announced, isOpen func(*audit.Announced) bool, isCurrent func(context.Context) error,
) error {
	h, path, err := l.locateChange(ctx, &changes[0].Change)
	if err != nil {
		return err
	}
	if path == "" {
		if err := isCurrent(ctx); err != nil {
			return err
		}
		findEntry(h, changes, isOpen)
		return nil
	}
	last := changes[len(changes)-1]
	now := last.New
	if last.State != audit.Made {
		object, err := current(ctx, h.store, h.key(path))
		if err == nil {
			err = isCurrent(ctx)
		}
		if err != nil {
			return err
		}
		now = object.Hash
	}
	var open []*audit.Announced
	for _, a := range changes {
		if !isOpen(a) {
			continue
		}
		switch has, err := l.hasLine(ctx, h, path, a.Line); {
		case err != nil:
			return err
		case has:
			open = append(open, a)
		default:
			a.State = audit.NotMade
		}
	}
	decide(changes, now, isOpen)
	for _, a := range open {
		if a.State == audit.NotMade {
			if _, err = h.store.Delete(ctx, a.Line, Cond{}); err != nil {
				return err
			}
		}
	}
	if now != "" {
		_, err = l.register(ctx, h)
	}
	return err
}

// hasLine reports whether the history of a file has the line with this key. It returns
// audit.ErrBusy while this process may remove the line.
func (l *Library) hasLine(ctx context.Context, h location, path, key string) (bool, error) {
	if line, ok := parseLine(h.book.ID, key); !ok || line.path != path { // a forged record
		return false, nil
	}
	if l.settling.has(key) {
		return false, audit.ErrBusy
	}
	_, err := h.store.Stat(ctx, key)
	if errors.Is(err, ErrNotFound) {
		return false, nil
	}
	return err == nil, err
}

// decide sets the states of the open changes of an object, if they are unknown. The changes are in
// the order in which they were announced, and now is the hash of the content.
func decide(changes []*audit.Announced, now string, isOpen func(*audit.Announced) bool) {
	g := gap{}
	for _, a := range changes {
		if a.State == audit.Made && !isOpen(a) {
			g.decide(a.Old, isOpen)
			g = gap{before: a}
		} else {
			g.changes = append(g.changes, a)
		}
	}
	g.decide(now, isOpen)
}

// gap holds the changes between two that are known to be made.
type gap struct {
	before  *audit.Announced // nil if it is not known
	changes []*audit.Announced
}

// explanation says which changes of a gap were made, up to one of them.
type explanation struct {
	content string // after them
	unknown bool   // content is not known yet
	stale   int    // how many changes were announced by a process that had seen another content
	made    []*audit.Announced
}

// decide sets the states of the open changes. after is the content that the next change has
// replaced, or that is there now. Each change was announced by a process that had seen what it
// would replace. So, of all explanations that lead to after, decide takes the one with the fewest
// changes that had seen something else: the calls of a process change an object one after the
// other, so they see what is there.
func (g *gap) decide(after string, isOpen func(*audit.Announced) bool) {
	all := []explanation{{unknown: true}}
	if g.before != nil {
		all = []explanation{{content: g.before.New}}
	}
	for _, a := range g.changes {
		var next explanations
		for _, e := range all {
			if e.unknown || e.content != a.Old {
				next.add(explanation{e.content, e.unknown, e.stale + 1, e.made})
			}
			if !e.unknown && e.content != a.Old {
				continue
			}
			next.add(explanation{content: a.Old, stale: e.stale, made: e.made})
			if a.State == audit.Unknown {
				next.add(explanation{content: a.New, stale: e.stale, made: append(slices.Clip(e.made), a)})
			}
		}
		all = next
	}
	at := slices.IndexFunc(all, func(e explanation) bool { return !e.unknown && e.content == after })
	for _, a := range g.changes {
		switch {
		case a.State == audit.NotMade || !isOpen(a):
		case at < 0: // the object was changed without a record
			a.State = audit.Unknown
		case slices.Contains(all[at].made, a):
			a.State = audit.Made
		default:
			a.State = audit.NotMade
		}
	}
}

// explanations holds the best explanation for each content.
type explanations []explanation

func (x *explanations) add(e explanation) {
	at := slices.IndexFunc(*x, func(o explanation) bool { return o.content == e.content && o.unknown == e.unknown })
	switch {
	case at < 0:
		*x = append(*x, e)
	case e.stale < (*x)[at].stale:
		(*x)[at] = e
	}
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

// findEntry decides about changes of a book's entry in the registry. The entry is like an object
// whose content has a digest; records of earlier versions have no such digests.
func findEntry(h location, changes []*audit.Announced, isOpen func(*audit.Announced) bool) {
	var ours, older []*audit.Announced
	for _, a := range changes {
		if a.Line == registryKey {
			ours = append(ours, a)
		} else {
			older = append(older, a)
		}
	}
	findRegistered(h, older, isOpen)
	now := ""
	if h.registered {
		now = entryDigest(&h.book)
	}
	decide(ours, now, isOpen)
}

// findRegistered decides about changes of earlier versions, which add a book to the registry.
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
