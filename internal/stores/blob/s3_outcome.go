package blob

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"remit/internal/toolsets/books"
)

// settleAfter is how long after the expiry of a request the store may still be carrying it out.
const settleAfter = 2 * time.Second

// closed is the channel of a write whose outcome is known.
var closed = func() chan struct{} {
	c := make(chan struct{})
	close(c)
	return c
}()

// lateWrite is a write of which a copy may still be on its way to the store.
type lateWrite struct {
	key     string
	id      string    // of the object that it stores; "" if it removes one
	was     *found    // the object that it replaces or removes; nil if it creates one
	expires time.Time // when the store refuses it, by its clock
	known   chan struct{}
	done    bool         // whether it was carried out; set before known is closed
	stored  books.Object // the object, if it was carried out
	err     error        // as for books.UnknownError.Wait
}

// isKnown reports whether the outcome is known.
func (w *lateWrite) isKnown() bool {
	select {
	case <-w.known:
		return true
	default:
		return false
	}
}

// undoes reports whether a copy of w that arrives late could undo a write that makes body the
// object, or that removes the object if body is nil. Its condition names the ETag of the object
// that it replaces, and objects with the same content have the same ETag.
func (w *lateWrite) undoes(body *upload) bool {
	if body == nil || w.was == nil {
		return body == nil && w.was == nil
	}
	return body.hash == w.was.Hash || body.md5 == w.was.tag
}

// lateWrites are the writes of this process of which a copy may be on its way.
type lateWrites struct {
	sync.Mutex
	all []*lateWrite
}

// checkLate returns a *books.PendingError if an earlier write of the key may still take effect
// after a write of body, which is nil for a removal.
func (s *S3) checkLate(key string, body *upload) error {
	s.late.Lock()
	defer s.late.Unlock()
	s.late.all = slices.DeleteFunc(s.late.all, func(w *lateWrite) bool { return w.isKnown() && s.now().After(w.expires.Add(settleAfter)) })
	for _, w := range s.late.all {
		if w.key == key && (!w.isKnown() || w.undoes(body)) {
			return &books.PendingError{Until: s.knownAt(w)}
		}
	}
	return nil
}

// knownAt returns when the outcome of a write will be known, by our clock.
func (s *S3) knownAt(w *lateWrite) time.Time { return w.expires.Add(settleAfter - s.ahead()) }

func (s *S3) remember(w *lateWrite) {
	s.late.Lock()
	defer s.late.Unlock()
	s.late.all = append(s.late.all, w)
}

// resolve finds out whether a write was carried out of which a request got no answer, and failed
// with err. It returns books.ErrUnknown if another write has happened since, and a
// *books.UnknownError if the request may still be on its way.
func (s *S3) resolve(ctx context.Context, w *lateWrite, failed error) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), s.timeout)
	defer cancel()
	w.known = make(chan struct{})
	w.done, w.err = s.look(ctx, w)
	switch {
	case w.done, errors.Is(w.err, books.ErrUnknown):
		close(w.known)
		s.remember(w)
		return w.err
	case w.err == nil && s.now().After(w.expires.Add(settleAfter)):
		return failed
	}
	s.remember(w)
	go s.settle(w)
	return &books.UnknownError{Until: s.knownAt(w), Cause: failed, Wait: func(ctx context.Context) (bool, error) {
		select {
		case <-w.known:
			return w.done, w.err
		case <-ctx.Done():
			return false, ctx.Err()
		}
	}}
}

// look reports whether a write has been carried out so far. It returns books.ErrUnknown if another
// write has happened since.
func (s *S3) look(ctx context.Context, w *lateWrite) (done bool, err error) {
	f, err := s.stat(ctx, w.key)
	gone := errors.Is(err, books.ErrNotFound)
	switch {
	case err != nil && !gone:
		return false, err
	case gone:
		f = found{}
	case w.id != "" && f.write == w.id:
		w.stored = f.Object
		return true, nil
	}
	switch {
	case w.id == "" && gone:
		return true, nil
	case w.was == nil && gone, w.was != nil && w.was.tag == f.tag:
		return false, nil
	}
	return false, books.ErrUnknown
}

// settle looks every second whether a write was carried out, until it was or the store refuses it.
// If the store does not answer, settle looks again until it does or is closed.
func (s *S3) settle(w *lateWrite) {
	defer close(w.known)
	for {
		select {
		case <-time.After(time.Second):
		case <-s.closed.Done():
			w.done, w.err = false, errors.New("the S3 store is closed")
			return
		}
		ctx, cancel := context.WithTimeout(s.closed, s.timeout)
		w.done, w.err = s.look(ctx, w)
		cancel()
		answered := w.err == nil || errors.Is(w.err, books.ErrUnknown)
		if answered && (w.done || s.now().After(w.expires.Add(settleAfter))) {
			return
		}
	}
}

// Close ends the work in the background.
func (s *S3) Close() { s.close() }
