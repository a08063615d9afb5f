package memlog

import "context"

// Place says where an entry went.
type Place struct {
	Line  int64 // the 1-based number of the entry's first line
	Bytes int   // appended to the file for this entry, with every newline that took
}

// Ticket stands for an entry on its way to disk.
type Ticket struct {
	log     *Log
	body    []byte
	durable bool

	// The log's mutex guards what follows, except that place is the goroutine's
	// own while the ticket is taken, and nothing changes once it is settled.
	taken   bool // in a batch: only the disk knows how it ends; before, it may be withdrawn
	settled bool // stored, failed or withdrawn
	place   Place
	err     error
	next    *Ticket       // in the queue
	done    chan struct{} // closed when settled; nil while nobody waits
}

// Wait returns when the entry is durable. If ctx ends first and the entry has not
// been taken into a batch, it is withdrawn (never written) and ctx's error
// returned; once taken into a batch, Wait waits for the batch's outcome. For an
// entry that need not be durable, Wait returns when it is written.
func (t *Ticket) Wait(ctx context.Context) (Place, error) {
	done := t.settling()
	select {
	case <-done:
	case <-ctx.Done():
		t.withdraw(ctx.Err())
		<-done
	}
	return t.place, t.err
}

// settling makes the channel only now: most entries of an audit are never waited for.
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
		t.settle(Place{}, err)
	}
}

// settle records the outcome and lets go of the body, which a caller that keeps
// its ticket would otherwise keep too. The log's mutex is held.
func (t *Ticket) settle(p Place, err error) {
	if err != nil {
		p = Place{}
	}
	t.settled, t.place, t.err, t.body = true, p, err, nil
	if t.done != nil {
		close(t.done)
	}
}

// queue is linked through its tickets: it costs an entry no allocation, and a
// batch the same however many wait behind it.
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
