package knowledge

import (
	"context"
	"time"
)

const (
	tellEvery  = 200 * time.Millisecond
	giveUp     = 4 // consecutive failed batches after which Run fails
	sweepEvery = time.Hour
)

// Run brings everything up to date, including the vectors of the remote model. It calls report,
// which may be nil, a few times a second and at the end. If the remote model fails, the State says
// so; with RemoteOnly Run returns an error.
func (x *Index) Run(ctx context.Context, report func(State)) error {
	ctx, leave, err := x.enter(ctx)
	if err != nil {
		return err
	}
	defer leave()
	defer x.queue.count()()
	stop := x.reporting(ctx, report)
	defer stop()
	if err := x.finish(ctx); err != nil {
		return err
	}
	if x.remote != nil {
		err = x.remote.finish(ctx)
	}
	if gone := x.gone(ctx); gone != nil {
		return gone
	}
	if x.sweepDue() {
		x.sweep(ctx)
	}
	x.keepSnapshot(ctx)
	return err
}

// reporting calls report until it is stopped, and then once more.
func (x *Index) reporting(ctx context.Context, report func(State)) (stop func()) {
	if report == nil {
		return func() {}
	}
	ctx, cancel := context.WithCancel(ctx)
	done := make(chan struct{})
	go func() {
		defer close(done)
		ticker := time.NewTicker(tellEvery)
		defer ticker.Stop()
		for {
			select {
			case <-ticker.C:
				report(x.State())
			case <-ctx.Done():
				return
			}
		}
	}()
	return func() {
		cancel()
		<-done
		report(x.State())
	}
}

// finish waits until all current files are indexed.
func (x *Index) finish(ctx context.Context) error {
	for {
		r, _ := x.join()
		select {
		case <-r.done:
		case <-ctx.Done():
			return x.gone(ctx)
		}
		if r.err != nil {
			return r.err
		}
		if left, _ := x.queue.progress(); left == 0 {
			return nil
		}
		if !x.queue.await(ctx, func() bool { return x.queue.none() || x.isStuck() != nil }) {
			return x.gone(ctx)
		}
		if err := x.isStuck(); err != nil {
			return err
		}
	}
}

// isStuck returns the last error if batches fail repeatedly.
func (x *Index) isStuck() error {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.status.fails < giveUp {
		return nil
	}
	return x.status.trouble
}

// finish waits until all chunks have vectors, or until embedding fails.
func (r *remote) finish(ctx context.Context) error {
	r.nudge()
	for {
		r.mu.Lock()
		done, failed, changed := r.done == r.wanted, r.failed, r.changed
		r.mu.Unlock()
		if failed != nil && r.x.o.RemoteOnly {
			return &EmbeddingError{Details: shortly(failed)}
		}
		if done || failed != nil {
			return nil //nolint:nilerr // the State reports it, and the local model answers
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return nil
		}
	}
}

// sweepDue reports whether it is time to sweep. If so, the caller must sweep.
func (x *Index) sweepDue() bool {
	// Without an id, its vectors could be mistaken for another model's.
	if x.o.Remote != nil && x.o.Remote.ID() == "" {
		return false
	}
	at := x.o.Now()
	x.mu.Lock()
	defer x.mu.Unlock()
	if !x.status.swept.IsZero() && at.Sub(x.status.swept) < sweepEvery {
		return false
	}
	x.status.swept = at
	return true
}

// sweep removes from the store what is no longer needed, and tells it which models are wanted. The
// store skips the sweep if another process did it recently.
func (x *Index) sweep(ctx context.Context) {
	var models []string
	if local := x.local(); local != nil {
		models = append(models, local.ID())
	}
	if x.o.Remote != nil {
		models = append(models, x.o.Remote.ID())
	}
	store, err := x.store(ctx)
	if err == nil {
		_, err = store.Sweep(ctx, models, sweepEvery)
	}
	if err != nil && ctx.Err() == nil {
		x.o.Log.Debug("cannot remove old data from the index store", "error", err)
	}
}

// tidy sweeps and writes a snapshot in the background when there is nothing else to do. Run does
// both itself, and waits for it.
func (x *Index) tidy() {
	x.queue.mu.Lock()
	calm := x.queue.none() && x.queue.runs == 0
	x.queue.mu.Unlock()
	if calm && x.sweepDue() {
		x.work.Go(func() { x.sweep(x.ctx) })
	}
	if calm && x.snapshotDue() {
		x.work.Go(func() { x.keepSnapshot(x.ctx) })
	}
}

// State describes how far the index is.
type State struct {
	Files  int `json:"files"`  // indexed sources: files, memory files and sessions
	Chunks int `json:"pieces"` // chunks of those sources
	Done   int `json:"done"`   // files processed in the current run
	Total  int `json:"total"`
	// The model whose vectors are used; "" if only words count.
	Model string `json:"model"`
	// A sentence for people about anything that is wrong.
	Note    string `json:"note,omitempty"`
	Waiting int    `json:"waiting"` // files still to be indexed
	// Chunks without a vector of the remote model.
	Unembedded int  `json:"unembedded,omitempty"`
	Indexing   bool `json:"-"` // whether there is work to do
	// When everything was last indexed; zero if it never was.
	Updated time.Time `json:"-"`
}

// status is the state shared between calls.
type status struct {
	loaded  bool
	stored  int  // sources in the store, when it is loaded
	settled bool // everything was examined once
	updated time.Time
	refresh error // of the last refresh
	trouble error // of the last batch
	fails   int   // consecutive failed batches
	logged  map[string]bool
	swept   time.Time // when this process last swept the store
}

// State returns how far the index is. It is cheap.
func (x *Index) State() State {
	x.mu.Lock()
	s := State{Updated: x.status.updated, Indexing: x.started && !x.status.settled}
	trouble := x.status.refresh != nil || x.status.trouble != nil
	started, loading := x.started, x.started && !x.status.loaded
	x.mu.Unlock()
	if started && x.local() != nil {
		s.Model = x.local().ID()
	}
	left, done := x.queue.progress()
	s.Files, s.Chunks = x.catalog.counts()
	s.Waiting, s.Done, s.Total = left, done, done+left
	s.Indexing = s.Indexing || left > 0
	switch {
	case trouble:
		s.Note = "recent changes may be missing"
	case loading:
		s.Note = "the stored index is still loading, so some results may be missing"
	}
	if x.remote != nil && left == 0 {
		x.remote.progress(&s)
	}
	return s
}

// noteRefresh records how a refresh ended.
func (x *Index) noteRefresh(err error) {
	left, _ := x.queue.progress()
	now := x.o.Now()
	x.mu.Lock()
	defer x.mu.Unlock()
	x.status.refresh = err
	if err != nil {
		return
	}
	x.status.settled = true
	if left == 0 {
		x.status.updated, x.status.trouble, x.status.fails = now, nil, 0
	}
}

// noteTrouble records how a batch ended.
func (x *Index) noteTrouble(err error) {
	x.mu.Lock()
	first := err != nil && x.status.trouble == nil
	x.status.trouble = err
	x.status.fails++
	if err == nil {
		x.status.fails = 0
	}
	x.mu.Unlock()
	if first {
		x.o.Log.Warn("cannot index files, will retry", "error", err)
	}
}

// nudgeRemote notifies the remote model that there may be something to embed.
func (x *Index) nudgeRemote() {
	if x.remote != nil {
		x.remote.nudge()
	}
}
