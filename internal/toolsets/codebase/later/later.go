// Package later writes down in the background what nobody is to wait for.
package later

import (
	"context"
	"log/slog"
	"sync"
	"time"
)

const (
	// Delay is how long a writer waits for more to write.
	Delay = 200 * time.Millisecond
	// Longest is how long it waits at most after a failure; the first wait is twice Delay, and each is twice the one before.
	Longest = 30 * time.Second
	// Patience is how long one write may take.
	Patience = 5 * time.Second
	// Finish is how long Close may take.
	Finish = 2 * time.Second
)

// Writer writes a moment after it was roused, one write at a time, and tries again by itself after a failure, which it tells of
// once until a write succeeds. It has a goroutine from when it is first roused until it is closed.
type Writer struct {
	write   func(ctx context.Context) error
	log     *slog.Logger
	trouble string

	mu      sync.Mutex
	running bool
	closed  bool

	wake    chan struct{}
	stop    chan struct{}
	done    chan struct{}
	ctx     context.Context // of writes; ends when the last of them has had its time
	cancel  context.CancelFunc
	failing bool // the goroutine's own: a failure was told of
}

// New makes a writer. write writes all that waits; what it fails to write still waits after it. trouble is what the log says then.
func New(write func(ctx context.Context) error, log *slog.Logger, trouble string) *Writer {
	ctx, cancel := context.WithCancel(context.Background())
	return &Writer{
		write: write, log: log, trouble: trouble,
		wake: make(chan struct{}, 1), stop: make(chan struct{}), done: make(chan struct{}), ctx: ctx, cancel: cancel,
	}
}

// Rouse lets the writer know that there is something to write. It returns at once. After Close it does nothing.
func (w *Writer) Rouse() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.closed {
		return
	}
	if !w.running {
		w.running = true
		go w.run()
	}
	select {
	case w.wake <- struct{}{}:
	default: // it is to wake already
	}
}

// Closed tells whether Close was called: what comes now is written by nobody.
func (w *Writer) Closed() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.closed
}

// Close writes once more if the writer was ever roused, within Finish and as long as ctx lasts, and ends the work.
func (w *Writer) Close(ctx context.Context) {
	w.mu.Lock()
	again, running := w.closed, w.running
	w.closed = true
	w.mu.Unlock()
	if !again {
		close(w.stop)
	}
	defer w.cancel()
	if !running {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, Finish)
	defer cancel()
	select {
	case <-w.done:
	case <-ctx.Done():
		w.cancel()
		<-w.done
	}
}

// run writes until it is stopped, and then once more.
func (w *Writer) run() {
	defer close(w.done)
	delay := Delay
	for w.waits(delay) {
		if w.try() {
			delay = Delay
			continue
		}
		delay = min(2*delay, Longest)
		w.Rouse()
	}
	w.try()
}

// waits for something to write and for more of it; false once stopped.
func (w *Writer) waits(delay time.Duration) bool {
	select {
	case <-w.wake:
	case <-w.stop:
		return false
	}
	timer := time.NewTimer(delay)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-w.stop:
		return false
	}
	select {
	case <-w.wake: // what came meanwhile is written now
	default:
	}
	return true
}

// try writes, and tells whether that succeeded.
func (w *Writer) try() bool {
	ctx, cancel := context.WithTimeout(w.ctx, Patience)
	defer cancel()
	err := w.write(ctx)
	if err != nil && !w.failing {
		w.log.Log(ctx, w.severity(), w.trouble, "error", err)
	}
	w.failing = err != nil
	return err == nil
}

// severity is how much it matters that something is not written. At the end there is no time for what takes long, such as to make
// a new database, and nobody to mend it.
func (w *Writer) severity() slog.Level {
	if w.Closed() {
		return slog.LevelDebug
	}
	return slog.LevelWarn
}
