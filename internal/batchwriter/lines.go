package batchwriter

import (
	"context"
	"errors"
	"runtime"
	"slices"
	"sync"
	"time"
)

var (
	// ErrClosed is what a line fails with when its queue was closed before.
	ErrClosed = errors.New("log is closed")

	errTooMany = errors.New("too many entries wait for the database")
)

const (
	// MaxBatch bounds how long one batch keeps other processes from a log.
	MaxBatch = 256
	// lull is how long a line that need not be durable may wait for others: it saves a write, or more, on every read.
	lull = 50 * time.Millisecond
)

// Lines queues the lines that many append to a log, and has them written in that order, a batch at a time. Whoever appends
// a line may wait for it. There is a goroutine only while there is something to write. Lines is safe for concurrent use; its
// exported fields must not change once it is used.
type Lines struct {
	// Write writes a batch, all of it or nothing. It must call take, which moves lines out of the queue, MaxBatch at most: after
	// waiting for a lock, for whoever comes meanwhile still gets in, and whoever gives up gets out. All lines that were taken end
	// as Write does; there may be none. Only one call runs at a time.
	Write func(take func() []*Line) error
	// Limit is how many lines may wait that need not be durable; 0 for any number.
	Limit int
	// Lost is called when lines that need not be durable were not written; may be nil.
	Lost func(error)

	mu      sync.Mutex
	waiting []*Line
	running chan struct{} // closed when the goroutine ends; nil while there is none
	timer   *time.Timer   // starts the goroutine; nil while none is set
	closed  bool
	lost    error // the last failure of a line that need not be durable
}

// Line is a line on its way to a log.
type Line struct {
	Body   []byte
	Day    string // of a record; "" for others
	Number int64  // in the log, set by Write; as well as
	Bytes  int    // how much it takes there

	durable bool
	queue   *Lines

	// The mutex of the queue guards what follows. Nothing changes once the line is settled.
	state lineState
	err   error
	done  chan struct{} // closed when settled; nil while nobody waits
}

type lineState uint8

const (
	queued  lineState = iota // may still be withdrawn
	taken                    // in a batch: only the log knows how it ends
	settled                  // written, failed or withdrawn
)

// Append queues a line and returns at once. The line is Append's from now on.
func (q *Lines) Append(l *Line, durable bool) *Line {
	l.queue, l.durable = q, durable
	q.mu.Lock()
	defer q.mu.Unlock()
	switch {
	case q.closed:
		l.settle(ErrClosed)
		return l
	case !durable && q.Limit > 0 && len(q.waiting) >= q.Limit:
		q.lost = errTooMany
		l.settle(errTooMany)
		return l
	}
	q.waiting = append(q.waiting, l)
	if durable {
		q.start()
	} else {
		q.startLater()
	}
	return l
}

// Refuse returns a line that has failed.
func (q *Lines) Refuse(err error) *Line { return &Line{queue: q, state: settled, err: err} }

// Closed reports whether Close was called.
func (q *Lines) Closed() bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.closed
}

// start has what waits written now. The mutex is held.
func (q *Lines) start() {
	if q.timer != nil {
		q.timer.Stop()
		q.timer = nil
	}
	if q.running == nil && len(q.waiting) > 0 {
		q.running = make(chan struct{})
		go q.run(q.running)
	}
}

// startLater has what waits written after a lull. The mutex is held.
func (q *Lines) startLater() {
	if q.timer == nil && q.running == nil {
		q.timer = time.AfterFunc(lull, func() {
			q.mu.Lock()
			defer q.mu.Unlock()
			q.start()
		})
	}
}

// run writes batch after batch.
func (q *Lines) run(done chan struct{}) {
	defer close(done)
	for more := true; more; more = q.goesOn() {
		runtime.Gosched() // let those that the last batch answered join this one
		var batch []*Line
		err := q.Write(func() []*Line {
			some := q.take()
			batch = append(batch, some...)
			return some
		})
		q.answer(batch, err)
	}
}

// goesOn reports whether the goroutine is to write another batch at once. Lines that nobody waits for can wait.
func (q *Lines) goesOn() bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	if len(q.waiting) > 0 && (q.closed || len(q.waiting) >= MaxBatch || slices.ContainsFunc(q.waiting, (*Line).Durable)) {
		return true
	}
	q.running = nil
	if len(q.waiting) > 0 {
		q.startLater()
	}
	return false
}

// take moves the oldest lines out of the queue, leaving out those withdrawn.
func (q *Lines) take() (batch []*Line) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for len(batch) < MaxBatch && len(q.waiting) > 0 {
		l := q.waiting[0]
		q.waiting[0], q.waiting = nil, q.waiting[1:]
		if l.state == queued {
			l.state = taken
			batch = append(batch, l)
		}
	}
	return batch
}

func (q *Lines) answer(batch []*Line, err error) {
	lost := err != nil && slices.ContainsFunc(batch, func(l *Line) bool { return !l.durable })
	q.mu.Lock()
	if lost {
		q.lost = err
	}
	for _, l := range batch {
		l.settle(err)
	}
	q.mu.Unlock()
	if lost && q.Lost != nil {
		q.Lost(err)
	}
}

// Close has what waits written. Lines that are appended later fail with ErrClosed. It reports the failure of lines that
// need not be durable: nobody may have waited for them.
func (q *Lines) Close() error {
	q.mu.Lock()
	q.closed = true
	q.start()
	running := q.running
	q.mu.Unlock()
	if running != nil {
		<-running
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.lost
}

// settle records the outcome and lets go of the body, which whoever keeps the line would keep too. The mutex is held.
func (l *Line) settle(err error) {
	l.state, l.err, l.Body = settled, err, nil
	if err != nil {
		l.Number, l.Bytes = 0, 0
	}
	if l.done != nil {
		close(l.done)
	}
}

// Durable reports whether somebody waits for the line.
func (l *Line) Durable() bool { return l.durable }

// Wait returns when the line is written. If ctx ends before it was taken into a batch it is withdrawn, and never written;
// once taken, Wait waits for what becomes of the batch.
func (l *Line) Wait(ctx context.Context) error {
	done := l.settling()
	select {
	case <-done:
		return l.err
	case <-ctx.Done():
	}
	l.queue.mu.Lock()
	if l.state == queued {
		l.settle(ctx.Err())
	}
	l.queue.mu.Unlock()
	<-done
	return l.err
}

// settling makes the channel only now: most records of an audit are never waited for.
func (l *Line) settling() <-chan struct{} {
	l.queue.mu.Lock()
	defer l.queue.mu.Unlock()
	if l.done == nil {
		l.done = make(chan struct{})
		if l.state == settled {
			close(l.done)
		}
	}
	return l.done
}

// Rarely returns a function that calls tell once a minute at most.
func Rarely(tell func(error)) func(error) {
	var mu sync.Mutex
	var told time.Time
	return func(err error) {
		mu.Lock()
		now := time.Now()
		due := told.IsZero() || now.Sub(told) >= time.Minute
		if due {
			told = now
		}
		mu.Unlock()
		if due {
			tell(err)
		}
	}
}
