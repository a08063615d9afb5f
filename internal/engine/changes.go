package engine

import (
	"context"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"
)

// ChangeKind says what is different from before.
type ChangeKind int

// The kinds of change.
const (
	ToolsChanged ChangeKind = iota
	PromptsChanged
	ResourcesChanged // which there are
	ResourceUpdated  // what one of them holds
)

// Change is something that is no longer as clients have seen it.
type Change struct {
	Kind ChangeKind
	URI  string // of ResourceUpdated
}

// glance is how often what is watched is looked at.
const glance = 500 * time.Millisecond

// changes knows who listens and what is watched. Its lock is never held while
// anybody else's code runs.
type changes struct {
	mu        sync.Mutex
	listeners []*listener
	watched   map[string]*watched
	looking   bool          // the goroutine that looks is there
	idle      chan struct{} // tells it that nothing may be watched any more
}

type listener struct{ hear func(Change) }

// watched is an address, with what it looked like last.
type watched struct {
	uri      string
	watchers int
	stamp    string
}

// Announce tells everybody who listens to the engine of a handler's call that
// something has changed.
func Announce(ctx context.Context, c Change) {
	if e, ok := ctx.Value(engineKey{}).(*Engine); ok {
		e.changes.announce(c)
	}
}

func (c *changes) announce(change Change) {
	c.mu.Lock()
	listeners := slices.Clone(c.listeners)
	c.mu.Unlock()
	for _, l := range listeners {
		l.hear(change)
	}
}

// Listen calls hear for every change until stop; a change that is on its way by
// then may still arrive. hear is called from any goroutine and must not block.
func (e *Engine) Listen(hear func(Change)) (stop func()) {
	c, l := &e.changes, &listener{hear}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.listeners = append(c.listeners, l)
	return func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.listeners = slices.DeleteFunc(c.listeners, func(other *listener) bool { return other == l })
	}
}

// Watch announces from now on when what uri holds changes, or with "" which
// resources there are, until every watch of it has been stopped.
func (e *Engine) Watch(uri string) (stop func()) {
	w := e.join(uri, nil)
	if w == nil {
		stamp, _ := e.stamp(uri) // before the first glance: a change must not fall in between
		w = e.join(uri, &watched{uri: uri, stamp: stamp})
	}
	return sync.OnceFunc(func() { e.changes.leave(w) })
}

// join adds a watcher to an address. One that nobody watches yet begins as given; if
// nothing is given, the answer is nil.
func (e *Engine) join(uri string, begins *watched) *watched {
	c := &e.changes
	c.mu.Lock()
	defer c.mu.Unlock()
	w := c.watched[uri]
	if w == nil && begins == nil {
		return nil
	}
	if c.watched == nil {
		c.watched, c.idle = map[string]*watched{}, make(chan struct{}, 1)
	}
	if w == nil {
		w, c.watched[uri] = begins, begins
	}
	w.watchers++
	if !c.looking {
		c.looking = true
		go e.lookAround()
	}
	return w
}

func (c *changes) leave(w *watched) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if w.watchers--; w.watchers == 0 {
		delete(c.watched, w.uri)
	}
	if len(c.watched) > 0 {
		return
	}
	select {
	case c.idle <- struct{}{}:
	default: // it has been told
	}
}

// lookAround looks at all that is watched, again and again while there is any.
func (e *Engine) lookAround() {
	ticker := time.NewTicker(glance)
	defer ticker.Stop()
	for e.changes.busy() {
		select {
		case <-ticker.C:
			for _, w := range e.changes.snapshot() {
				e.compare(w)
			}
		case <-e.changes.idle:
		}
	}
}

// busy tells whether the goroutine that looks has to stay.
func (c *changes) busy() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.looking = len(c.watched) > 0
	return c.looking
}

func (c *changes) snapshot() []*watched {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.SortedFunc(maps.Values(c.watched), func(a, b *watched) int { return strings.Compare(a.uri, b.uri) })
}

// compare announces a change of one address, unless its last watcher has left.
func (e *Engine) compare(w *watched) {
	stamp, err := e.stamp(w.uri)
	if err != nil || !e.changes.renew(w, stamp) {
		return // what cannot be told has not changed
	}
	if w.uri == "" {
		e.changes.announce(Change{Kind: ResourcesChanged})
		return
	}
	e.changes.announce(Change{Kind: ResourceUpdated, URI: w.uri})
}

func (c *changes) renew(w *watched, stamp string) (changed bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	changed = w.watchers > 0 && w.stamp != stamp
	w.stamp = stamp
	return changed
}

// stamp tells what an address looks like now, or the list of resources with "".
func (e *Engine) stamp(uri string) (stamp string, err error) {
	defer e.contain("stamp", &err)
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	if uri == "" {
		return e.listStamp(ctx)
	}
	for _, shelf := range e.shelves {
		if stamp, err = shelf.Stamp(ctx, uri); stamp != "" || err != nil {
			break
		}
	}
	return stamp, err
}

// listStamp leaves sizes out: a file that grows is still the same entry.
func (e *Engine) listStamp(ctx context.Context) (string, error) {
	list, err := e.Resources(ctx, nil)
	if err != nil {
		return "", err
	}
	var b strings.Builder
	for _, r := range list {
		b.WriteString(r.URI + "\x00" + r.Name + "\x00" + r.Title + "\x00" + r.Description + "\x00" + r.MIME + "\n")
	}
	return b.String(), nil
}
