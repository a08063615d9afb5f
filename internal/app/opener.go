package app

import (
	"context"
	"fmt"
	"sync"
	"time"
)

// opener opens a resource when it is first needed, and again when the resource is no longer valid.
// Callers wait for the first attempt. During a later attempt they immediately get the error of the
// attempt before it, because an unreachable server may take long to fail.
type opener[T any] struct {
	what string // names the operation in errors
	// old is the resource that is no longer valid, or zero.
	run func(ctx context.Context, old T) (T, error)
	// Reports whether the resource can still be used.
	valid func(T) bool
	// How long a failure is remembered; 0: each caller tries again, and waits.
	pause time.Duration

	mu    sync.Mutex
	last  *attempt[T] // the running attempt, or the last one
	tries sync.WaitGroup
}

type attempt[T any] struct {
	before error // the error of the attempt before it, if still remembered
	stop   context.CancelFunc
	done   chan struct{}

	// Set before done is closed.
	value T
	err   error
	ended time.Time
}

// open returns the resource. A caller that stops waiting does not stop the attempt for others.
func (o *opener[T]) open(ctx context.Context) (value T, err error) {
	o.mu.Lock()
	try, known := o.last, error(nil)
	switch {
	case try == nil || try.isDone() && !o.counts(try):
		try = o.begin(ctx)
	case !try.isDone():
		known = try.before
	}
	o.mu.Unlock()
	if known != nil {
		return value, known
	}
	select {
	case <-try.done:
		return try.value, try.err
	case <-ctx.Done():
		return value, fmt.Errorf("%s: %w", o.what, ctx.Err())
	}
}

// isValid reports whether the resource is open and can still be used.
func (o *opener[T]) isValid() bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.last != nil && o.last.isDone() && o.last.err == nil && o.valid(o.last.value)
}

// forgetFailure makes the next caller try again at once.
func (o *opener[T]) forgetFailure() {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.last != nil && o.last.isDone() && o.last.err != nil {
		o.last = nil
	}
}

// counts reports whether the result of an attempt that has ended can still be used.
func (o *opener[T]) counts(try *attempt[T]) bool {
	if try.err != nil {
		return time.Since(try.ended) < o.pause
	}
	return o.valid(try.value)
}

func (t *attempt[T]) isDone() bool {
	select {
	case <-t.done:
		return true
	default:
		return false
	}
}

// begin starts an attempt. The caller holds the mutex.
func (o *opener[T]) begin(ctx context.Context) *attempt[T] {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), openTimeout)
	try := &attempt[T]{stop: cancel, done: make(chan struct{})}
	var old T
	if o.last != nil {
		old = o.last.value
		if o.pause > 0 {
			try.before = o.last.err
		}
	}
	o.last = try
	o.tries.Go(func() {
		defer cancel()
		value, err := o.run(ctx, old)
		o.mu.Lock()
		defer o.mu.Unlock()
		try.value, try.err, try.ended = value, err, time.Now()
		close(try.done)
	})
	return try
}

// close stops a running attempt and returns the open resource, or zero if there is none.
func (o *opener[T]) close() (value T) {
	o.mu.Lock()
	last := o.last
	o.mu.Unlock()
	if last == nil {
		return value
	}
	last.stop()
	o.tries.Wait()
	return last.value
}
