package knowledge

import (
	"context"
	"time"
)

const (
	tellEvery  = 200 * time.Millisecond
	giveUp     = 4 // batches that fail one after the other, until Run says so
	sweepEvery = time.Hour
)

// Run brings everything up to date, the vectors of the remote model too. tell, which may be nil, is called a few times a
// second and at the end. If the remote model fails, the State says so; with RemoteOnly it is an error.
func (x *Index) Run(ctx context.Context, tell func(State)) error {
	ctx, leave, err := x.enter(ctx)
	if err != nil {
		return err
	}
	defer leave()
	defer x.queue.count()()
	stop := x.telling(ctx, tell)
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
	return err
}

// telling calls tell until it is stopped, and then once more.
func (x *Index) telling(ctx context.Context, tell func(State)) (stop func()) {
	if tell == nil {
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
				tell(x.State())
			case <-ctx.Done():
				return
			}
		}
	}()
	return func() {
		cancel()
		<-done
		tell(x.State())
	}
}

// finish waits until all files are indexed that there are now.
func (x *Index) finish(ctx context.Context) error {
	for {
		r := x.join()
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

// isStuck gives the error if batches fail again and again.
func (x *Index) isStuck() error {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.status.fails < giveUp {
		return nil
	}
	return x.status.trouble
}

// finish waits until all pieces have vectors, or until that fails.
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
			return nil //nolint:nilerr // the State says so, and the local model answers
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return nil
		}
	}
}

// sweepDue tells whether it is time to sweep. Whoever is told so does it.
func (x *Index) sweepDue() bool {
	if x.o.Remote != nil && x.o.Remote.ID() == "" { // whose vectors are not to be mistaken for somebody else's
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

// sweep removes what nobody needs any more from the store, and says there which models are wanted. The store knows whether another process
// has done so lately.
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
		x.o.Log.Debug("the store was not swept", "error", err)
	}
}

// tidy sweeps on the side, when there is nothing else to do. Run does so itself, and waits for it.
func (x *Index) tidy() {
	x.queue.mu.Lock()
	calm := x.queue.none() && x.queue.runs == 0
	x.queue.mu.Unlock()
	if calm && x.sweepDue() {
		x.work.Go(func() { x.sweep(x.ctx) })
	}
}

// State is how far the index is.
type State struct {
	Files      int       `json:"files"`  // sources that are indexed: files, memory files and sessions
	Pieces     int       `json:"pieces"` // of them
	Done       int       `json:"done"`   // files that were looked at, of those that are looked at at the moment
	Total      int       `json:"total"`
	Model      string    `json:"model"`                // whose vectors an answer goes by; "" if words alone count
	Note       string    `json:"note,omitempty"`       // what is not as it should be, in a sentence for people
	Waiting    int       `json:"waiting"`              // files that are to be indexed
	Unembedded int       `json:"unembedded,omitempty"` // pieces that have no vector of the remote model yet
	Indexing   bool      `json:"-"`                    // there is something to do
	Updated    time.Time `json:"-"`                    // when all that there was was indexed; zero if that is not so yet
}

// status is what calls tell each other of.
type status struct {
	loaded  bool
	settled bool // all was looked at once
	updated time.Time
	round   error // of the last round
	trouble error // of the last batch
	fails   int   // batches that failed one after the other
	told    map[string]bool
	swept   time.Time // when this process last had the store swept
}

// State tells how far the index is. It costs next to nothing.
func (x *Index) State() State {
	x.mu.Lock()
	s := State{Updated: x.status.updated, Indexing: x.started && !x.status.settled}
	trouble := x.status.round != nil || x.status.trouble != nil
	started, loading := x.started, x.started && !x.status.loaded
	x.mu.Unlock()
	if started && x.local() != nil {
		s.Model = x.local().ID()
	}
	left, done := x.queue.progress()
	s.Files, s.Pieces = x.catalog.counts()
	s.Waiting, s.Done, s.Total = left, done, done+left
	s.Indexing = s.Indexing || left > 0
	switch {
	case trouble:
		s.Note = "what changed lately may be missing"
	case loading:
		s.Note = "what is known is still being read: some of it may be missing"
	}
	if x.remote != nil && left == 0 {
		x.remote.progress(&s)
	}
	return s
}

// noteRound notes how a round ended.
func (x *Index) noteRound(err error) {
	left, _ := x.queue.progress()
	now := x.o.Now()
	x.mu.Lock()
	defer x.mu.Unlock()
	x.status.round = err
	if err != nil {
		return
	}
	x.status.settled = true
	if left == 0 {
		x.status.updated, x.status.trouble, x.status.fails = now, nil, 0
	}
}

// noteTrouble notes how a batch ended.
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
		x.o.Log.Warn("files cannot be indexed for now", "error", err)
	}
}

// touch tells the remote model that there may be something to embed.
func (x *Index) touch() {
	if x.remote != nil {
		x.remote.nudge()
	}
}
