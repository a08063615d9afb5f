package knowledge

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"remit/internal/search/embedapi"
	"remit/internal/search/hybrid"
)

const (
	farTexts    = 64 // texts in a request
	farRequests = 2  // at once
	farEnough   = 95 // percent of the pieces must have vectors before searches go by them

	probe = "What do the tests cover?" // a text that every service takes
)

// A remote makes the vectors of a remote model in the background, and those of queries.
type remote struct {
	x     *Index
	model Embedder
	wake  chan struct{}

	mu      sync.Mutex // guards the rest
	failed  error      // the last failure, until something succeeds
	resting time.Time  // queries do not ask before
	wanted  int        // how often there was something to embed
	done    int        // which of these was the last that all was embedded after
	changed chan struct{}
}

// nudge says that there may be something to embed.
func (r *remote) nudge() {
	r.note(func() { r.wanted++ })
	select {
	case r.wake <- struct{}{}:
	default:
	}
}

// note changes what is known, and tells those who wait.
func (r *remote) note(change func()) {
	r.mu.Lock()
	defer r.mu.Unlock()
	change()
	close(r.changed)
	r.changed = make(chan struct{})
}

// run embeds whatever has no vector yet, until the index is closed.
func (r *remote) run() {
	for {
		select {
		case <-r.wake:
		case <-r.x.ctx.Done():
			return
		}
		r.persist()
	}
}

// persist tries until everything is embedded.
func (r *remote) persist() {
	delay := r.x.limits.retry
	for {
		r.mu.Lock()
		wanted := r.wanted
		r.mu.Unlock()
		err := guarded("embed remotely", r.embedAll)
		if r.x.ctx.Err() != nil {
			return
		}
		if err == nil {
			r.note(func() { r.failed, r.done = nil, wanted })
			return
		}
		first := false
		r.note(func() { first, r.failed = r.failed == nil, err })
		if first {
			r.x.o.Log.Warn("the remote model makes no vectors for now", "error", err)
		}
		if !r.x.pause(delay) {
			return
		}
		delay = min(2*delay, time.Minute)
	}
}

// embedAll gives every piece its vector.
func (r *remote) embedAll() error {
	if _, err := r.index(r.x.ctx); err != nil {
		return err
	}
	next := hybrid.ID(0)
	for {
		picked := r.x.catalog.uncovered(&next, farTexts*farRequests*2)
		if len(picked) == 0 {
			return nil
		}
		if err := r.cover(r.x.ctx, picked); err != nil {
			return err
		}
		r.note(func() { r.failed = nil })
	}
}

// index returns the index of the model's vectors. Before the first one it asks for a vector, to know the dimension.
func (r *remote) index(ctx context.Context) (*hybrid.Index, error) {
	if far := r.x.catalog.far.Load(); far != nil {
		return far, nil
	}
	if r.model.Dim() == 0 {
		if _, err := r.model.Embed(ctx, []string{probe}); err != nil {
			return nil, err
		}
	}
	r.x.catalog.far.CompareAndSwap(nil, hybrid.New(r.model.Dim()))
	return r.x.catalog.far.Load(), nil
}

// isRefused tells whether a service does not take a text.
func isRefused(err error) bool {
	var failed *embedapi.Error
	return errors.As(err, &failed) && failed.Refused
}

// shortly says why there are no vectors, without what is nobody's business.
func shortly(err error) string {
	if failed, ok := errors.AsType[*embedapi.Error](err); ok {
		return failed.Reason
	}
	return "the service cannot be asked"
}

// vector embeds a query. After a failure nobody asks for a while, unless there is nothing to fall back on.
func (r *remote) vector(ctx context.Context, text string) ([]float32, error) {
	now := r.x.o.Now()
	r.mu.Lock()
	resting, failed := now.Before(r.resting), r.failed
	r.mu.Unlock()
	if resting && failed != nil && !r.x.o.RemoteOnly {
		return nil, failed
	}
	ctx, cancel := context.WithTimeout(ctx, r.x.limits.query)
	defer cancel()
	vectors, err := r.model.Embed(ctx, []string{text})
	if err == nil && len(vectors) != 1 {
		err = errors.New("no vector for the query")
	}
	if err != nil {
		r.note(func() { r.failed, r.resting = err, now.Add(r.x.limits.calm) })
		return nil, err
	}
	return vectors[0], nil
}

// progress notes in a state how far the vectors are.
func (r *remote) progress(s *State) {
	covered, pieces := r.x.catalog.coverage()
	if covered == pieces {
		return
	}
	r.mu.Lock()
	failed := r.failed
	r.mu.Unlock()
	s.Unembedded = pieces - covered
	s.Note = fmt.Sprintf("the remote model has %d %% of the vectors", covered*100/max(1, pieces))
	if failed != nil {
		s.Note += ": " + shortly(failed)
	}
}
