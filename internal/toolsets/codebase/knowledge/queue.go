package knowledge

import (
	"cmp"
	"container/heap"
	"context"
	"sync"
)

// urgency says what is indexed before what.
type urgency uint8

const (
	fresh urgency = iota // somebody may look for it right now
	prose                // what people wrote for people
	other
)

// A job is a file to be looked at, which may be gone.
type job struct {
	path    string // of the source
	must    bool   // read it, whatever its stamp says
	stamp   stamp  // as it was when it was put here
	urgency urgency
	dead    bool // in the heap still, but to be skipped
}

// before is the order of jobs: the small ones first, so that much is there soon.
func (j *job) before(k *job) bool {
	order := cmp.Or(cmp.Compare(j.urgency, k.urgency), cmp.Compare(j.stamp.size, k.stamp.size))
	return order < 0 || order == 0 && j.path < k.path
}

// A queue is the jobs that wait. A path is in one hand at a time.
type queue struct {
	mu      sync.Mutex
	waiting jobHeap
	byPath  map[string]*job
	held    map[string]*hand
	done    int           // since the count began
	runs    int           // who want the count of all that is done meanwhile
	changed chan struct{} // closed and made anew with every change
}

// A hand is what somebody does, and what is to be done with the same path afterwards.
type hand struct{ now, later *job }

func newQueue() *queue {
	return &queue{byPath: map[string]*job{}, held: map[string]*hand{}, changed: make(chan struct{})}
}

// put adds jobs, each in the place of the one for the same path.
func (q *queue) put(jobs ...*job) {
	if len(jobs) == 0 {
		return
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	for _, j := range jobs {
		q.add(j)
	}
	q.tell()
}

// restart begins to count anew, if there is nothing to do and nobody counts.
func (q *queue) restart() {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.none() && q.runs == 0 {
		q.done = 0
	}
}

// count begins to count anew as restart does, and goes on until it is stopped.
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

// isHeld tells whether somebody is at work on a path.
func (q *queue) isHeld(path string) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.held[path] != nil
}

// add puts one job. mu must be locked.
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

// merge takes over what an older job for the same path wanted.
func (j *job) merge(old *job) {
	if old != nil {
		j.urgency, j.must = min(j.urgency, old.urgency), j.must || old.must
	}
}

// tell wakes all who wait for a change. mu must be locked.
func (q *queue) tell() {
	close(q.changed)
	q.changed = make(chan struct{})
}

// Batches are of so many files, or of so many bytes.
const (
	batchFiles = 32
	batchBytes = 1 << 20
)

// take gives the next jobs, no less urgent than least. They must be given back by finish.
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
		q.held[j.path] = &hand{now: j}
		size += j.stamp.size
		batch = append(batch, j)
	}
	return batch
}

// first is the job that comes next; nil if there is none. mu must be locked.
func (q *queue) first() *job {
	for len(q.waiting) > 0 && q.waiting[0].dead {
		heap.Pop(&q.waiting)
	}
	if len(q.waiting) == 0 {
		return nil
	}
	return q.waiting[0]
}

// finish gives jobs back: done, or to be done again.
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
	q.tell()
}

// prune takes out jobs that are done by somebody else.
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
	q.tell()
}

// progress is how many jobs are left, and how many are done since the count began.
func (q *queue) progress() (left, done int) {
	q.mu.Lock()
	defer q.mu.Unlock()
	return len(q.byPath) + len(q.held), q.done
}

// await waits until ready, which is called with the queue locked, is true; false if ctx ended before.
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

// some tells whether there is a job to take, none whether nothing is left. mu must be locked.
func (q *queue) some() bool { return len(q.byPath) > 0 }
func (q *queue) none() bool { return len(q.byPath) == 0 && len(q.held) == 0 }

// calm tells whether nothing fresh is left. mu must be locked.
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
