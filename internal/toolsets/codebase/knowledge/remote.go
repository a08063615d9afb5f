package knowledge

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"remit/internal/search/embedapi"
	"remit/internal/search/hybrid"
)

const (
	remoteTexts    = 64 // texts in a request
	remoteRequests = 2  // concurrent requests
	remoteCoverage = 95 // percentage of chunks that must have vectors before searches use them

	probe = "What do the tests cover?" // a text that every service accepts
)

// A remote computes the vectors of a remote model for chunks in the background, and for queries.
type remote struct {
	x     *Index
	model Embedder
	wake  chan struct{}

	mu      sync.Mutex // guards the rest
	failed  error      // the last failure, until something succeeds
	resting time.Time  // no queries before this time
	wanted  int        // counts requests for embedding
	done    int        // the value of wanted at the last complete embedding
	changed chan struct{}
	queries map[string][]float32 // the vectors of the latest queries
	asked   []string             // those queries, the oldest first
}

// nudge signals that there may be something to embed.
func (r *remote) nudge() {
	r.note(func() { r.wanted++ })
	select {
	case r.wake <- struct{}{}:
	default:
	}
}

// note changes the state and wakes the waiting goroutines.
func (r *remote) note(change func()) {
	r.mu.Lock()
	defer r.mu.Unlock()
	change()
	close(r.changed)
	r.changed = make(chan struct{})
}

// run embeds everything without a vector, until the index is closed.
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

// persist retries until everything is embedded.
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
			r.x.o.Log.Warn("the remote model fails, will retry", "error", err)
		}
		if !r.x.pause(delay) {
			return
		}
		delay = min(2*delay, time.Minute)
	}
}

// embedAll gives every chunk its vector.
func (r *remote) embedAll() error {
	if _, err := r.index(r.x.ctx); err != nil {
		return err
	}
	next := hybrid.ID(0)
	for {
		picked := r.x.catalog.uncovered(&next, remoteTexts*remoteRequests*2)
		if len(picked) == 0 {
			return nil
		}
		if err := r.cover(r.x.ctx, picked); err != nil {
			return err
		}
		r.note(func() { r.failed = nil })
	}
}

// index returns the index of the model's vectors. Before the first one it requests a vector, to
// learn the dimension.
func (r *remote) index(ctx context.Context) (*hybrid.Index, error) {
	if remoteIndex := r.x.catalog.remoteIndex.Load(); remoteIndex != nil {
		return remoteIndex, nil
	}
	if r.model.Dim() == 0 {
		if _, err := r.model.Embed(ctx, []string{probe}); err != nil {
			return nil, err
		}
	}
	r.x.catalog.remoteIndex.CompareAndSwap(nil, hybrid.New(r.model.Dim()))
	return r.x.catalog.remoteIndex.Load(), nil
}

// isRefused reports whether a service rejected a text.
func isRefused(err error) bool {
	var failed *embedapi.Error
	return errors.As(err, &failed) && failed.Refused
}

// shortly returns why there are no vectors, without internal details.
func shortly(err error) string {
	if failed, ok := errors.AsType[*embedapi.Error](err); ok {
		return failed.Reason
	}
	return "the service cannot be reached"
}

// vector embeds a query. After a failure no query is sent for a while, unless there is no fallback.
func (r *remote) vector(ctx context.Context, text string) ([]float32, error) {
	now := r.x.o.Now()
	r.mu.Lock()
	resting, failed := now.Before(r.resting), r.failed
	cached := r.queries[text]
	r.mu.Unlock()
	if cached != nil {
		return cached, nil
	}
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
	r.keep(text, vectors[0])
	return vectors[0], nil
}

// maxQueries is the number of queries whose vectors are cached.
const maxQueries = 256

// keep caches the vector of a query. It forgets the oldest query first.
func (r *remote) keep(text string, vector []float32) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.queries == nil {
		r.queries = map[string][]float32{}
	}
	if _, known := r.queries[text]; !known {
		r.asked = append(r.asked, text)
	}
	r.queries[text] = vector
	if len(r.asked) > maxQueries {
		delete(r.queries, r.asked[0])
		r.asked = slices.Clone(r.asked[1:])
	}
}

// progress adds the embedding progress to a state.
func (r *remote) progress(s *State) {
	covered, chunks := r.x.catalog.coverage()
	if covered == chunks {
		return
	}
	r.mu.Lock()
	failed := r.failed
	r.mu.Unlock()
	s.Unembedded = chunks - covered
	s.Note = fmt.Sprintf("the remote model has %d %% of the vectors", covered*100/max(1, chunks))
	if failed != nil {
		s.Note += ": " + shortly(failed)
	}
}
