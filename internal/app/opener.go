package app

import (
	"context"
	"fmt"
	"sync"
	"time"
)

// opener opens something when it is first needed, and again when that is no longer valid.
// Callers wait for the first attempt. While a later one is under way they get the error of
// the one before it at once: a server that is not there may take long to say so.
type opener[T any] struct {
	what  string                                      // for errors
	run   func(ctx context.Context, old T) (T, error) // old is what is no longer valid, or zero
	valid func(T) bool                                // whether what was opened can still be used
	pause time.Duration                               // how long a failure counts; 0: each caller tries anew, and waits

	mu    sync.Mutex
	last  *attempt[T] // under way, or the last that ended
	tries sync.WaitGroup
}

type attempt[T any] struct {
	before error // how the attempt before it failed, if that counts
	stop   context.CancelFunc
	done   chan struct{}

	// Set before done is closed.
	value T
	err   error
	ended time.Time
}

// open returns what was opened. A caller that gives up waiting does not stop the others.
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

// counts tells whether an attempt that ended is as good as another one.
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

// begin begins an attempt. The mutex is held.
func (o *opener[T]) begin(ctx context.Context) *attempt[T] {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), openPatience)
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

// close stops an attempt that is under way, and returns what is open; zero if nothing is.
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
