package knowledge

import (
	"context"
	"errors"
	"time"

	"remit/internal/search/hybrid"
)

// Query is a search query. Only Text is required.
type Query struct {
	Text    string
	Type    string // finds only discoveries of this type; "" and "all" find everything
	Module  string // exact name of a module; "" means any
	Limit   int    // 0 means 5
	Exclude string // the path of a source to leave out

	NoSessions bool // leave out what clients did
}

// Answer is the result of a search.
type Answer struct {
	Hits  []Hit // the best first
	Total int   // number of relevant chunks; duplicates count once as far as they are known
	State State
	// Changes made before the search may be missing: of the Known files, memory files and sessions,
	// only those Indexed were searched, or it was not known yet which of them had changed.
	Incomplete     bool
	Indexed, Known int
}

// Hit is a chunk that was found.
type Hit struct {
	ID      string    `json:"id"`   // a UUID, always the same for the same chunk
	Type    string    `json:"type"` // of a discovery
	Content string    `json:"content"`
	Module  string    `json:"module,omitempty"`
	Session string    `json:"session,omitempty"`
	Date    time.Time `json:"date"`
	Score   float64   `json:"score"`  // from 0 to 1, comparable within an answer only
	Source  string    `json:"source"` // discovery, code, docs or session
	Name    string    `json:"name,omitempty"`
	// Of the source: a file, a memory file, or a source that was fed.
	Path string `json:"path,omitempty"`
	Line int    `json:"line,omitempty"`
	End  int    `json:"endLine,omitempty"`
}

// Search finds what matches a query best. It sees earlier changes of files and memory, unless there
// are many; then the answer is Incomplete. It fails with ErrEmpty, *BuildingError
// or *EmbeddingError, or if the store fails.
func (x *Index) Search(ctx context.Context, q Query) (Answer, error) {
	ctx, leave, err := x.enter(ctx)
	if err != nil {
		return Answer{}, err
	}
	defer leave()
	waitCtx, cancel := context.WithTimeout(ctx, x.limits.longest)
	defer cancel()
	complete, failed := x.freshen(waitCtx)
	emptyReason := x.awaitFirst(waitCtx, failed)
	if err := x.gone(ctx); err != nil {
		return Answer{}, err
	}
	if emptyReason != nil {
		return Answer{}, emptyReason
	}
	if q.Limit <= 0 {
		q.Limit = 5
	}
	method, err := x.choose(ctx, unnamed(q.Text))
	if err != nil {
		return Answer{}, err
	}
	answer, moved, err := x.find(ctx, q, method)
	if err == nil && moved { // another process changed what was found
		complete, _ = x.freshen(waitCtx)
		answer, _, err = x.find(ctx, q, method)
	}
	if stop := x.gone(ctx); stop != nil {
		return Answer{}, stop
	}
	if err != nil {
		return Answer{}, err
	}
	answer.Incomplete = !complete
	answer.Indexed, answer.Known = x.progress()
	answer.State = x.State()
	answer.State.Model = method.model
	if method.note != "" {
		answer.State.Note = method.note
	}
	return answer, nil
}

// gone returns an error if the caller has cancelled or the index is closed.
func (x *Index) gone(ctx context.Context) error {
	if x.ctx.Err() != nil {
		return ErrClosed
	}
	return ctx.Err()
}

// freshen waits for a refresh: for memory files as long as it may, because a call must find what an
// earlier call remembered, and for the rest only a limited time. It returns the refresh's error,
// and whether the index is up to date with all changes made before the call.
func (x *Index) freshen(ctx context.Context) (complete bool, err error) {
	ctx, cancel := context.WithTimeout(ctx, x.limits.longest)
	defer cancel()
	begun := time.Now()
	timeout, first := x.freshTimeout()
	r, memory := x.join()
	x.awaitMemory(ctx, memory)
	if _, chunks := x.catalog.counts(); first && chunks >= x.limits.large {
		timeout = x.limits.start
	}
	all, cancel := context.WithDeadline(ctx, begun.Add(timeout))
	defer cancel()
	if !r.awaitDone(all) {
		return false, nil
	}
	if r.err == nil && first {
		x.queue.await(all, x.queue.none)
	}
	left, _ := x.queue.progress()
	return r.err == nil && left == 0, r.err
}

// awaitMemory waits until the memory files are indexed. That follows the load of the stored index.
// If so much is loaded that it takes seconds, what is there must do.
func (x *Index) awaitMemory(ctx context.Context, memory <-chan struct{}) {
	wait := x.limits.loading
	for {
		select {
		case <-memory:
			return
		case <-ctx.Done():
			return
		case <-time.After(wait):
			if x.loadsMuch() {
				return
			}
			wait = pollTime
		}
	}
}

// pollTime is the interval of checks for something to search in.
const pollTime = 20 * time.Millisecond

// loadsMuch reports whether so many stored sources are being loaded that no search waits for all of
// them, and some of them can be searched.
func (x *Index) loadsMuch() bool {
	_, chunks := x.catalog.counts()
	x.mu.Lock()
	defer x.mu.Unlock()
	return chunks > 0 && !x.status.loaded && x.status.stored >= x.limits.large
}

// awaitDone waits until the refresh is done. It returns false if ctx ends first.
func (r *refresh) awaitDone(ctx context.Context) bool {
	select {
	case <-r.done:
		return true
	default:
	}
	select {
	case <-r.done:
		return true
	case <-ctx.Done():
		return false
	}
}

// progress returns how many sources there are, as far as is known, and how many of them are indexed
// as they are.
func (x *Index) progress() (indexed, total int) {
	sources, _ := x.catalog.counts()
	outdated, added := x.queue.kinds()
	x.mu.Lock()
	stored := x.status.stored
	if x.status.loaded {
		stored = 0
	}
	x.mu.Unlock()
	return max(0, sources-outdated), max(sources+added, stored)
}

// freshTimeout returns how long a search waits for the index to be up to date, and whether it is a
// first one, which may have nothing else to answer from. While the stored index is still being
// loaded, only the first search waits: later ones have something to search in.
func (x *Index) freshTimeout() (timeout time.Duration, first bool) {
	_, chunks := x.catalog.counts()
	left, _ := x.queue.progress()
	x.mu.Lock()
	defer x.mu.Unlock()
	switch {
	case !x.started || chunks == 0:
		return x.limits.first, true
	case !x.status.loaded:
		return 0, false
	case left > x.limits.bulk || !x.status.settled:
		return x.limits.busy, false
	}
	return x.limits.fresh, false
}

// awaitFirst returns why there is nothing to search in, as emptyReason does. While the first index
// is being built, it waits for the first chunks until ctx ends: a late answer is better than none.
func (x *Index) awaitFirst(ctx context.Context, failed error) error {
	for {
		err := x.emptyReason(failed)
		if !errors.As(err, new(*BuildingError)) {
			return err
		}
		select {
		case <-time.After(pollTime):
		case <-ctx.Done():
			return err
		}
	}
}

// emptyReason returns why there is nothing to search in, or nil if there is something.
func (x *Index) emptyReason(failed error) error {
	state := x.State()
	if state.Chunks > 0 {
		return nil
	}
	if failed != nil {
		return failed
	}
	if state.Indexing {
		return &BuildingError{State: state}
	}
	return ErrEmpty
}

// A method is how a query is answered: with which index and which vector.
type method struct {
	index  *hybrid.Index
	id     string // of the vectors in the store
	model  string
	text   string
	vector []float32
	note   string
}

// choose returns the remote model if it is usable, and the local one otherwise.
func (x *Index) choose(ctx context.Context, text string) (method, error) {
	note := ""
	if x.remote != nil {
		viaRemote, why, err := x.chooseRemote(ctx, text)
		if viaRemote.index != nil || err != nil {
			return viaRemote, err
		}
		note = why
	}
	w := method{index: x.catalog.local(), text: text, note: note}
	local := x.local()
	if local == nil {
		return w, nil
	}
	w.id, w.model = local.ID(), local.ID()
	err := guarded("embed query", func() error {
		if k, can := local.(vocabulary); can && !k.Knows(text) {
			return nil // the remaining words would match anything
		}
		vectors, err := local.Embed(ctx, []string{text})
		if err == nil && len(vectors) == 1 {
			w.vector = vectors[0]
		}
		return err
	})
	if err != nil {
		x.o.Log.Error("cannot embed a query, searching by words alone", "error", err)
		w.id, w.model = "", ""
	}
	return w, nil
}

// A vocabulary reports whether it has any word of a text.
type vocabulary interface{ Knows(text string) bool }

// chooseRemote returns the method that uses the remote model, or why it cannot be used.
func (x *Index) chooseRemote(ctx context.Context, text string) (w method, note string, err error) {
	covered, chunks := x.catalog.coverage()
	index := x.catalog.remoteIndex.Load()
	complete := index != nil && covered*100 >= chunks*remoteCoverage
	if !complete && !x.o.RemoteOnly {
		return method{}, x.remoteNote(), nil
	}
	vector, err := x.remote.vector(ctx, text)
	if err == nil && !complete {
		return method{}, x.remoteNote(), nil
	}
	if err == nil {
		id := x.o.Remote.ID()
		return method{index: index, id: id, model: id, text: text, vector: vector}, "", nil
	}
	if x.gone(ctx) == nil {
		x.o.Log.Debug("the remote model did not embed a query", "error", err)
	}
	if x.o.RemoteOnly {
		return method{}, "", &EmbeddingError{Details: shortly(err)}
	}
	return method{}, "using the local model because the remote one failed: " + shortly(err), nil
}

// remoteNote describes how far the embedding by the remote model is.
func (x *Index) remoteNote() string {
	var s State
	x.remote.progress(&s)
	return "using the local model for now: " + s.Note
}
