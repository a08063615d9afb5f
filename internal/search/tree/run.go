package tree

import (
	"cmp"
	"context"
	"runtime"
	"slices"
	"sync"
)

// run is the work of one Update. A folder is visited after the folder that it is in, never at the same time: a visit may find that
// what is beneath is gone.
type run struct {
	t     *Tree
	ctx   context.Context //nolint:containedctx // a run lives as long as the call
	each  func(Change)
	later map[*folder]struct{} // those with a job that reaches all that is beneath

	report sync.Mutex // each is called by one at a time

	mu   sync.Mutex // guards the rest
	wake *sync.Cond
	jobs []job
	busy int
	err  error
}

// job is a visit to a folder, or a look at some of its files.
type job struct {
	folder *folder
	do     todo
	files  []*File
}

// all does what is marked. What is not done when it returns is marked again.
func (r *run) all() error {
	marked := r.t.marked
	r.t.marked = nil
	for _, f := range marked {
		f.queued = false
	}
	slices.SortStableFunc(marked, func(a, b *folder) int { return cmp.Compare(a.depth(), b.depth()) })
	r.later = map[*folder]struct{}{}
	w := &worker{run: r}
	for _, f := range marked {
		if f.todo == 0 || f.gone || r.covered(f) {
			continue
		}
		if f.todo&(look|deep) != 0 {
			r.push(job{folder: f})
			continue
		}
		w.take(job{folder: f})
	}
	w.flush()
	r.spread()
	return r.err
}

// covered tells whether a job reaches the folder.
func (r *run) covered(f *folder) bool {
	for ; f != nil; f = f.parent {
		if _, found := r.later[f]; found {
			return true
		}
	}
	return false
}

// push adds jobs. Before the run is spread they are kept for then.
func (r *run) push(jobs ...job) {
	if r.wake == nil {
		for _, j := range jobs {
			if (j.do|j.folder.todo)&(look|deep) != 0 {
				r.later[j.folder] = struct{}{}
			}
		}
		r.jobs = append(r.jobs, jobs...)
		return
	}
	r.mu.Lock()
	r.jobs = append(r.jobs, jobs...)
	r.mu.Unlock()
	if len(jobs) == 1 {
		r.wake.Signal()
	} else {
		r.wake.Broadcast()
	}
}

// spread has many workers do the jobs, and those that come of them.
func (r *run) spread() {
	if len(r.jobs) == 0 {
		return
	}
	r.wake = sync.NewCond(&r.mu)
	var workers sync.WaitGroup
	for range runtime.GOMAXPROCS(0) {
		workers.Go(func() {
			w := &worker{run: r}
			for j, more := r.next(false); more; j, more = r.next(true) {
				w.take(j)
			}
			w.flush()
		})
	}
	workers.Wait()
	for _, j := range r.jobs {
		r.t.mark(j.folder, j.rest())
	}
}

// next waits for a job; false means that there will be none. done tells that the one before is done.
func (r *run) next(done bool) (job, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if done {
		r.busy--
	}
	for len(r.jobs) == 0 && r.busy > 0 && r.err == nil {
		r.wake.Wait()
	}
	if len(r.jobs) == 0 || r.err != nil {
		r.wake.Broadcast()
		return job{}, false
	}
	last := len(r.jobs) - 1
	j := r.jobs[last]
	r.jobs[last] = job{}
	r.jobs = r.jobs[:last]
	r.busy++
	return j, true
}

// rest is what is left to do if the job is not done.
func (j job) rest() todo {
	if j.files != nil {
		return stat
	}
	return j.do
}

// take does a job, or marks it if the run has ended.
func (w *worker) take(j job) {
	err := w.ctx.Err()
	if err == nil {
		err = w.do(j)
	}
	if err == nil {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.t.mark(j.folder, j.rest())
	if w.err == nil {
		w.err = err
	}
}

// batch is how many files are reported at a time, about.
const batch = 512

// size is how many files the worker has to report.
func (w *worker) size() int {
	n := len(w.change.Added) + len(w.change.Removed)
	for _, files := range w.changed {
		n += len(files)
	}
	return n
}

// flush reports what the worker has found, to other readers when they ask.
func (w *worker) flush() {
	if w.size() == 0 {
		return
	}
	w.report.Lock()
	defer w.report.Unlock()
	for slot, reader := range w.t.readers {
		c := w.change
		c.Changed = w.changed[slot]
		switch {
		case reader == nil || !reader.told || c.size() == 0:
		case reader != w.t:
			reader.missed.note(c)
		case w.each != nil:
			w.each(c)
		}
	}
	w.change, w.changed = Change{}, [maxReaders][]*File{}
}
