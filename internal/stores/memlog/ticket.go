package memlog

import (
	"context"
	"io"

	"remit/internal/engine/audit"
)

// Position is the place of an entry in its file.
type Position struct {
	Line  int64 // the 1-based number of the entry's first line
	Bytes int   // appended to the file for this entry, including all newlines
}

// Ticket represents an entry that is being written to disk.
type Ticket struct {
	log     *Log
	body    []byte
	durable bool
	check   func(io.ReaderAt) error // nil if the entry is stored in any case

	// The log's mutex guards the fields below, except that place belongs to the goroutine while the
	// ticket is taken, and nothing changes after the ticket is settled.
	// announcing means that the record of the call is not on disk yet, and has not failed with
	// refusal. The entry is not taken before.
	announcing bool
	step       *audit.Step // nil for an entry without a call
	refusal    error
	from       int64 // the record says that the entry begins there or later
	// Part of a batch, so its outcome depends on the disk; until then it can be withdrawn.
	taken   bool
	settled bool // stored, failed or withdrawn
	place   Position
	err     error
	next    *Ticket       // in the queue
	done    chan struct{} // closed when settled; nil while no caller waits
}

// Wait returns when the entry is durable. If ctx ends before the entry is part of a batch, the
// entry is withdrawn, so it is never written, and Wait returns the error of ctx. Once the entry is
// part of a batch, Wait waits for the outcome of the batch. For an entry that need not be durable,
// Wait returns when it is written.
func (t *Ticket) Wait(ctx context.Context) (Position, error) {
	done := t.settling()
	select {
	case <-done:
	case <-ctx.Done():
		t.withdraw(ctx.Err())
		<-done
	}
	return t.place, t.err
}

// settling returns the channel that is closed when the ticket is settled. It creates the channel on
// demand, because most audit entries are never waited for.
func (t *Ticket) settling() <-chan struct{} {
	t.log.mu.Lock()
	defer t.log.mu.Unlock()
	if t.done == nil {
		t.done = make(chan struct{})
		if t.settled {
			close(t.done)
		}
	}
	return t.done
}

func (t *Ticket) withdraw(err error) {
	t.log.mu.Lock()
	defer t.log.mu.Unlock()
	if !t.taken && !t.settled {
		t.step.Report(audit.NotMade)
		t.settle(Position{}, err)
	}
}

// settle records the outcome and releases the body, so that a caller that keeps its ticket does not
// keep the body in memory. The caller holds the log's mutex.
func (t *Ticket) settle(p Position, err error) {
	if err != nil {
		p = Position{}
	}
	t.settled, t.place, t.err, t.body = true, p, err, nil
	if t.done != nil {
		close(t.done)
	}
}

// queue is a linked list of tickets: an entry needs no allocation, and taking a batch costs the
// same however many tickets are queued behind it.
type queue struct{ first, last *Ticket }

func (q *queue) push(t *Ticket) {
	if q.first == nil {
		q.first = t
	} else {
		q.last.next = t
	}
	q.last = t
}

func (q *queue) pop() *Ticket {
	t := q.first
	q.first, t.next = t.next, nil
	if q.first == nil {
		q.last = nil
	}
	return t
}
