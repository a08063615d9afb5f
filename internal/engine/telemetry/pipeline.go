package telemetry

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"
)

// Batching is how much may wait, and how it is sent.
type Batching struct {
	Queue   int           // so many wait at most; what comes then is lost
	Batch   int           // so many are sent at once
	Delay   time.Duration // so long they wait for others
	Timeout time.Duration // so long one batch is tried
}

// The bounds on bytes, whatever the numbers are.
const (
	queueBytes = 8 << 20
	batchBytes = 2 << 20 // collectors refuse messages over 4 MiB
)

// RetryError is an export that may succeed later.
type RetryError struct {
	After time.Duration // the collector asks for that much time; 0 if it does not
	Err   error
}

func (e *RetryError) Error() string { return e.Err.Error() }

func (e *RetryError) Unwrap() error { return e.Err }

// RejectedError is an export of which the collector refused a part for good.
type RejectedError struct {
	Count int
	Why   string
}

func (e *RejectedError) Error() string {
	return fmt.Sprintf("the collector refused %d: %s", e.Count, e.Why)
}

var errFull = errors.New("the queue is full: the collector is slower than the calls, or cannot be reached")

// sized is what waits in a pipeline, and about how many bytes it takes.
type sized interface{ size() int }

// pipeline collects things and exports them in batches, in a goroutine of its own.
// A nil one takes nothing.
type pipeline[T sized] struct {
	Batching
	export func(context.Context, []T) error
	random func() uint64
	losses *losses

	mu     sync.Mutex
	queue  []T
	bytes  int
	closed bool

	some, full chan struct{} // something waits; a batch does
	closing    chan struct{}
	batch      []T // the one under way
}

func newPipeline[T sized](signal string, s Source, b Batching, export func(context.Context, []T) error) *pipeline[T] {
	return &pipeline[T]{
		Batching: b, export: export, random: s.Random, losses: &losses{signal: signal, log: s.Log, now: s.Now},
		some: make(chan struct{}, 1), full: make(chan struct{}, 1), closing: make(chan struct{}),
	}
}

// add takes something, if there is room.
func (p *pipeline[T]) add(item T) {
	size := item.size()
	p.mu.Lock()
	if p.closed || len(p.queue) >= p.Queue || p.bytes+size > queueBytes {
		closed := p.closed
		p.mu.Unlock()
		if !closed {
			p.losses.count(1, errFull)
			signal(p.full)
		}
		return
	}
	p.queue = append(p.queue, item)
	p.bytes += size
	waiting := len(p.queue)
	p.mu.Unlock()
	if waiting == 1 {
		signal(p.some)
	}
	if waiting == p.Batch {
		signal(p.full)
	}
}

func signal(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default: // it was told already
	}
}

// take gives the next batch; it is good until the next one is taken.
func (p *pipeline[T]) take() []T {
	p.mu.Lock()
	defer p.mu.Unlock()
	n, bytes := 0, 0
	for n < min(p.Batch, len(p.queue)) {
		size := p.queue[n].size()
		if n > 0 && bytes+size > batchBytes {
			break
		}
		bytes += size
		n++
	}
	clear(p.batch) // what was sent need not stay in memory
	p.batch = append(p.batch[:0], p.queue[:n]...)
	rest := copy(p.queue, p.queue[n:])
	clear(p.queue[rest:])
	p.queue = p.queue[:rest]
	p.bytes -= bytes
	return p.batch
}

// run exports until close, and then what is left, until ctx ends.
func (p *pipeline[T]) run(ctx context.Context) {
	for {
		select {
		case <-p.some:
		case <-p.closing:
			p.drain(ctx)
			p.losses.tell(true)
			return
		}
		delay := time.NewTimer(p.Delay)
		select {
		case <-p.full:
		case <-delay.C:
		case <-p.closing:
		}
		delay.Stop()
		p.drain(ctx)
		p.losses.tell(false)
	}
}

func (p *pipeline[T]) drain(ctx context.Context) {
	for batch := p.take(); len(batch) > 0; batch = p.take() {
		err := persist(ctx, p.Timeout, p.closing, p.random, func(ctx context.Context) error { return p.export(ctx, batch) })
		p.losses.countError(len(batch), err)
		p.losses.tell(false)
	}
}

func (p *pipeline[T]) close() {
	if p == nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.closed {
		p.closed = true
		close(p.closing)
	}
}

// The time between two tries doubles from the first to the last of these.
const (
	firstPause = time.Second
	lastPause  = 10 * time.Second
)

// persist tries an export until it succeeds, cannot, or its time is over. When the
// program ends there is no time for another try.
func persist(ctx context.Context, most time.Duration, closing <-chan struct{}, random func() uint64, export func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, most)
	defer cancel()
	for pause := firstPause; ; pause = min(2*pause, lastPause) {
		err := export(ctx)
		var again *RetryError
		if !errors.As(err, &again) || ctx.Err() != nil || isClosed(closing) {
			return err
		}
		wait := again.After
		if wait == 0 { // programs that failed together should not come back together
			wait = pause/2 + time.Duration(random()%uint64(pause))
		}
		if deadline, _ := ctx.Deadline(); time.Until(deadline) <= wait {
			return err
		}
		timer := time.NewTimer(wait)
		select {
		case <-timer.C:
		case <-closing: // the last try
		case <-ctx.Done():
		}
		timer.Stop()
	}
}

func isClosed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

// losses counts what could not be exported, and tells of it at once and then at most
// once a minute.
type losses struct {
	signal string
	log    *slog.Logger
	now    func() time.Time

	mu   sync.Mutex
	lost int
	why  error
	told time.Time
}

const tellEvery = time.Minute

// countError counts a batch that was not exported, or what the collector refused of it.
func (l *losses) countError(batch int, err error) {
	var rejected *RejectedError
	switch {
	case err == nil:
	case errors.As(err, &rejected):
		l.count(rejected.Count, err)
	default:
		l.count(batch, err)
	}
}

func (l *losses) count(n int, why error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.lost += n
	if l.why == nil || why != errFull { //nolint:errorlint // which one it is; a full queue only follows from another trouble
		l.why = why
	}
}

func (l *losses) tell(last bool) {
	l.mu.Lock()
	lost, why, now := l.lost, l.why, l.now()
	if why == nil || !last && !l.told.IsZero() && now.Sub(l.told) < tellEvery {
		l.mu.Unlock()
		return
	}
	l.lost, l.why, l.told = 0, nil, now
	l.mu.Unlock()
	l.log.Warn("telemetry was not sent", "signal", l.signal, "lost", lost, "error", why)
}
