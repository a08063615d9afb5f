package knowledge

import (
	"cmp"
	"container/heap"
	"context"
	"sync"
)

// urgency is the priority of a job.
type urgency uint8

const (
	fresh urgency = iota // somebody may search for it right now
	prose                // documents written for people
	other
)

// A job is a file to be examined, which may no longer exist.
type job struct {
	path    string // of the source
	must    bool   // read it even if its stamp is unchanged
	known   bool   // the source was in the catalog at the time of queueing
	stamp   stamp  // at the time of queueing
	urgency urgency
	dead    bool // still in the heap, but to be skipped
}

// before is the order of jobs: small files first, so that many are indexed soon.
func (j *job) before(k *job) bool {
	order := cmp.Or(cmp.Compare(j.urgency, k.urgency), cmp.Compare(j.stamp.size, k.stamp.size))
	return order < 0 || order == 0 && j.path < k.path
}

// A queue holds the waiting jobs. Only one worker at a time processes a path.
type queue struct {
	mu      sync.Mutex
	waiting jobHeap
	byPath  map[string]*job
	held    map[string]*active
	done    int           // since counting began
	runs    int           // callers that count everything done meanwhile
	changed chan struct{} // closed and replaced with every change
}

// active holds the job being processed for a path and the one to process next.
type active struct{ now, later *job }

func newQueue() *queue {
	return &queue{byPath: map[string]*job{}, held: map[string]*active{}, changed: make(chan struct{})}
}

// put adds jobs. Each replaces the one for the same path.
func (q *queue) put(jobs ...*job) {
	if len(jobs) == 0 {
		return
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	for _, j := range jobs {
		q.add(j)
	}
	q.broadcast()
}

// restart resets the count if there is nothing to do and nobody is counting.
func (q *queue) restart() {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.none() && q.runs == 0 {
		q.done = 0
	}
}

// count resets the count like restart, and keeps it running until it is stopped.
func (q *queue) count() (stop func()) {
	q.restart()
	q.more(1)
	return func() { q.more(-1) }
}

func (q *queue) more(runs int) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.runs += runs
}

// isHeld reports whether a worker is processing a path.
func (q *queue) isHeld(path string) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.held[path] != nil
}

// add adds one job. The caller must hold mu.
func (q *queue) add(j *job) {
	if h := q.held[j.path]; h != nil {
		j.merge(h.later)
		h.later = j
		return
	}
	old := q.byPath[j.path]
	j.merge(old)
	if old != nil {
		old.dead = true
	}
	q.byPath[j.path] = j
	heap.Push(&q.waiting, j)
}

// merge takes over the requirements of an older job for the same path.
func (j *job) merge(old *job) {
	if old != nil {
		j.urgency, j.must = min(j.urgency, old.urgency), j.must || old.must
	}
}

// broadcast wakes all who wait for a change. The caller must hold mu.
func (q *queue) broadcast() {
	close(q.changed)
	q.changed = make(chan struct{})
}

// Limits of a batch, in files and in bytes.
const (
	batchFiles = 32
	batchBytes = 1 << 20
)

// take returns the next jobs that are at least as urgent as least. The caller must return them with
// finish.
func (q *queue) take(least urgency) []*job {
	q.mu.Lock()
	defer q.mu.Unlock()
	var batch []*job
	var size int64
	for len(batch) < batchFiles && size < batchBytes {
		j := q.first()
		if j == nil || j.urgency > least {
			break
		}
		heap.Pop(&q.waiting)
		delete(q.byPath, j.path)
		q.held[j.path] = &active{now: j}
		size += j.stamp.size
		batch = append(batch, j)
	}
	return batch
}

// first returns the next job, or nil. The caller must hold mu.
func (q *queue) first() *job {
	for len(q.waiting) > 0 && q.waiting[0].dead {
		heap.Pop(&q.waiting)
	}
	if len(q.waiting) == 0 {
		return nil
	}
	return q.waiting[0]
}

// finish returns jobs: done, or to be done again.
func (q *queue) finish(jobs []*job, done bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for _, j := range jobs {
		next := q.held[j.path].later
		delete(q.held, j.path)
		switch {
		case done:
			q.done++
		case next == nil:
			next = j
		default:
			next.merge(j)
		}
		if next != nil {
			q.add(next)
		}
	}
	q.broadcast()
}

// prune removes jobs that another process has done.
func (q *queue) prune(over func(*job) bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for path, j := range q.byPath {
		if over(j) {
			delete(q.byPath, path)
			j.dead = true
			q.done++
		}
	}
	q.broadcast()
}

// progress returns how many jobs are left, and how many are done since counting began.
func (q *queue) progress() (left, done int) {
	q.mu.Lock()
	defer q.mu.Unlock()
	return len(q.byPath) + len(q.held), q.done
}

// kinds returns how many of the jobs left are for sources that were known, and for others.
func (q *queue) kinds() (known, added int) {
	q.mu.Lock()
	defer q.mu.Unlock()
	count := func(j *job) {
		if j.known {
			known++
		} else {
			added++
		}
	}
	for _, j := range q.byPath {
		count(j)
	}
	for _, h := range q.held {
		count(h.now)
	}
	return known, added
}

// await waits until ready, which is called with the queue locked, returns true. It returns false if
// ctx ends first.
func (q *queue) await(ctx context.Context, ready func() bool) bool {
	for {
		q.mu.Lock()
		done, changed := ready(), q.changed
		q.mu.Unlock()
		if done {
			return true
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return false
		}
	}
}

// some reports whether there is a job to take, none whether nothing is left. The caller must hold
// mu.
func (q *queue) some() bool { return len(q.byPath) > 0 }
func (q *queue) none() bool { return len(q.byPath) == 0 && len(q.held) == 0 }

// calm reports whether nothing fresh is left. The caller must hold mu.
func (q *queue) calm() bool {
	if j := q.first(); j != nil && j.urgency == fresh {
		return false
	}
	for _, h := range q.held {
		if h.now.urgency == fresh || h.later != nil && h.later.urgency == fresh {
			return false
		}
	}
	return true
}

type jobHeap []*job

func (h jobHeap) Len() int           { return len(h) }
func (h jobHeap) Less(i, k int) bool { return h[i].before(h[k]) }
func (h jobHeap) Swap(i, k int)      { h[i], h[k] = h[k], h[i] }
func (h *jobHeap) Push(j any)        { *h = append(*h, j.(*job)) }
func (h *jobHeap) Pop() any {
	old := *h
	last := len(old) - 1
	j := old[last]
	old[last] = nil
	*h = old[:last]
	return j
}
