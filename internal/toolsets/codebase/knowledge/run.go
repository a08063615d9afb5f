package knowledge

import (
	"context"
	"errors"
	"fmt"
	"time"

	"remit/internal/search/pieces"
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
	x.sweep(ctx, true)
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

// sweep removes what nobody needs any more from the store, now or every hour.
func (x *Index) sweep(ctx context.Context, now bool) {
	var models []string
	if local := x.local(); local != nil {
		models = append(models, local.ID())
	}
	if x.o.Remote != nil {
		models = append(models, x.o.Remote.ID())
	}
	at := x.o.Now()
	x.mu.Lock()
	due := now || at.Sub(x.status.swept) >= sweepEvery
	if due {
		x.status.swept = at
	}
	x.mu.Unlock()
	if !due || x.o.Remote != nil && x.o.Remote.ID() == "" { // whose vectors are not to be mistaken for somebody else's
		return
	}
	store, err := x.store(ctx)
	if err == nil {
		_, err = store.Sweep(ctx, models)
	}
	if err != nil && ctx.Err() == nil {
		x.o.Log.Debug("the store was not swept", "error", err)
	}
}

// Feed keeps a source that is no file, such as "session:ID", in the place of what was fed under its path. It is found from the next
// search on. A source that is Gone is removed.
func (x *Index) Feed(ctx context.Context, s Source) error {
	if !isFed(s.Path) || isMark(s.Path) {
		return errors.New("what is fed has memory: or session: before its name")
	}
	ctx, leave, err := x.enter(ctx)
	if err != nil {
		return err
	}
	defer leave()
	if s.Modified.IsZero() {
		s.Modified = x.o.Now()
	}
	s.Modified = microseconds(s.Modified)
	fed := make([]Piece, 0, len(s.Pieces))
	for i, p := range s.Pieces {
		fed = append(fed, newPiece(s.Path, i, sound(p.Piece)))
	}
	s.Pieces = fed
	store, err := x.store(ctx)
	if err != nil {
		return err
	}
	if _, err := store.Replace(ctx, []Source{s}); err != nil {
		return fmt.Errorf("keep what was fed: %w", err)
	}
	return nil
}

// sound is a piece that others may rely on.
func sound(p pieces.Piece) pieces.Piece {
	if p.Source == "" {
		p.Source = pieces.Session
	}
	return p
}
