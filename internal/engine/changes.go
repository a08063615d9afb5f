package engine

import (
	"context"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"
)

// ChangeKind is what changed.
type ChangeKind int

// The kinds of change.
const (
	ToolsChanged ChangeKind = iota
	PromptsChanged
	ResourcesChanged // the list of resources
	ResourceUpdated  // the content of one resource
)

// Change tells clients that something they have seen is out of date.
type Change struct {
	Kind ChangeKind
	URI  string // of ResourceUpdated
}

// pollInterval is how often the engine checks watched resources for changes.
const pollInterval = 500 * time.Millisecond

// changes holds the listeners and the watched resources. Its lock is never held while code of
// others runs.
type changes struct {
	mu        sync.Mutex
	listeners []*listener
	watched   map[string]*watched
	polling   bool          // the polling goroutine runs
	idle      chan struct{} // wakes it when nothing is watched any more
}

type listener struct{ notify func(Change) }

// watched is a watched URI with its latest stamp.
type watched struct {
	uri      string
	watchers int
	stamp    string
}

// Announce sends a change to all listeners of the engine that runs the handler of ctx.
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
		l.notify(change)
	}
}

// Listen calls notify for every change until stop is called; a change that is being delivered then
// may still arrive. notify is called from any goroutine and must not block.
func (e *Engine) Listen(notify func(Change)) (stop func()) {
	c, l := &e.changes, &listener{notify}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.listeners = append(c.listeners, l)
	return func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.listeners = slices.DeleteFunc(c.listeners, func(other *listener) bool { return other == l })
	}
}

// Watch starts to announce when the content of uri changes, or with "" when the list of resources
// changes. It ends when every watch of the URI has been stopped.
func (e *Engine) Watch(uri string) (stop func()) {
	w := e.join(uri, nil)
	if w == nil {
		stamp, _ := e.stamp(uri) // before the first poll, so that no change is missed in between
		w = e.join(uri, &watched{uri: uri, stamp: stamp})
	}
	return sync.OnceFunc(func() { e.changes.leave(w) })
}

// join adds a watcher to the entry of a URI and returns the entry. If the URI has no entry yet,
// added becomes its entry; if added is nil too, join returns nil.
func (e *Engine) join(uri string, added *watched) *watched {
	c := &e.changes
	c.mu.Lock()
	defer c.mu.Unlock()
	w := c.watched[uri]
	if w == nil && added == nil {
		return nil
	}
	if c.watched == nil {
		c.watched, c.idle = map[string]*watched{}, make(chan struct{}, 1)
	}
	if w == nil {
		w, c.watched[uri] = added, added
	}
	w.watchers++
	if !c.polling {
		c.polling = true
		go e.pollChanges()
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
	default: // already signalled
	}
}

// pollChanges compares all watched URIs in intervals, until none is left.
func (e *Engine) pollChanges() {
	ticker := time.NewTicker(pollInterval)
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

// busy reports whether the polling goroutine must continue.
func (c *changes) busy() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.polling = len(c.watched) > 0
	return c.polling
}

func (c *changes) snapshot() []*watched {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.SortedFunc(maps.Values(c.watched), func(a, b *watched) int { return strings.Compare(a.uri, b.uri) })
}

// compare announces a change of one URI, unless its last watcher has left.
func (e *Engine) compare(w *watched) {
	stamp, err := e.stamp(w.uri)
	if err != nil || !e.changes.update(w, stamp) {
		return // an error does not count as a change
	}
	if w.uri == "" {
		e.changes.announce(Change{Kind: ResourcesChanged})
		return
	}
	e.changes.announce(Change{Kind: ResourceUpdated, URI: w.uri})
}

func (c *changes) update(w *watched, stamp string) (changed bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	changed = w.watchers > 0 && w.stamp != stamp
	w.stamp = stamp
	return changed
}

// stamp returns the current stamp of a URI, or that of the list of resources for "".
func (e *Engine) stamp(uri string) (stamp string, err error) {
	defer e.recoverPanic("stamp", &err)
	ctx, cancel := context.WithTimeout(context.Background(), requestTimeout)
	defer cancel()
	if uri == "" {
		return e.listStamp(ctx)
	}
	for _, provider := range e.providers {
		if stamp, err = provider.Stamp(ctx, uri); stamp != "" || err != nil {
			break
		}
	}
	return stamp, err
}

// listStamp ignores sizes: a file that grows is still the same entry.
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
