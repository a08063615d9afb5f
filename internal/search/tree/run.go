package tree

import (
	"cmp"
	"context"
	"runtime"
	"slices"
	"sync"
)

// run is the work of one Update. A folder is visited after its parent, never at the same time,
// because a visit may find that everything below is gone.
type run struct {
	t        *Tree
	ctx      context.Context //nolint:containedctx // a run lives as long as the call
	each     func(Change)
	covering map[*folder]struct{} // folders with a job that covers everything below

	report sync.Mutex // serializes calls of each

	mu   sync.Mutex // guards the fields below
	wake *sync.Cond
	jobs []job
	busy int
	err  error
}

// job is a visit to a folder, or a check of some of its files.
type job struct {
	folder *folder
	do     todo
	files  []*File
}

// runAll processes all marked folders. If it fails, it marks what remains to be done again.
func (r *run) runAll() error {
	marked := r.t.marked
	r.t.marked = nil
	for _, f := range marked {
		f.queued = false
	}
	slices.SortStableFunc(marked, func(a, b *folder) int { return cmp.Compare(a.depth(), b.depth()) })
	r.covering = map[*folder]struct{}{}
	w := &worker{run: r}
	for _, f := range marked {
		if f.todo == 0 || f.gone || r.isCovered(f) {
			continue
		}
		if f.todo&(check|deep) != 0 {
			r.push(job{folder: f})
			continue
		}
		w.runJob(job{folder: f})
	}
	w.flush()
	r.runParallel()
	return r.err
}

// isCovered reports whether a job covers the folder.
func (r *run) isCovered(f *folder) bool {
	for ; f != nil; f = f.parent {
		if _, found := r.covering[f]; found {
			return true
		}
	}
	return false
}

// push adds jobs. Before runParallel they are only collected.
func (r *run) push(jobs ...job) {
	if r.wake == nil {
		for _, j := range jobs {
			if (j.do|j.folder.todo)&(check|deep) != 0 {
				r.covering[j.folder] = struct{}{}
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

// runParallel processes the jobs, and those that they add, with several workers.
func (r *run) runParallel() {
	if len(r.jobs) == 0 {
		return
	}
	r.wake = sync.NewCond(&r.mu)
	var workers sync.WaitGroup
	for range runtime.GOMAXPROCS(0) {
		workers.Go(func() {
			w := &worker{run: r}
			for j, more := r.next(false); more; j, more = r.next(true) {
				w.runJob(j)
			}
			w.flush()
		})
	}
	workers.Wait()
	for _, j := range r.jobs {
		r.t.mark(j.folder, j.remaining())
	}
}

// next waits for a job. It returns false if there will be none. done says that the caller's
// previous job is done.
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

// remaining returns the tasks to mark if the job is not done.
func (j job) remaining() todo {
	if j.files != nil {
		return stat
	}
	return j.do
}

// runJob does a job, or marks it if the run has ended.
func (w *worker) runJob(j job) {
	err := w.ctx.Err()
	if err == nil {
		err = w.do(j)
	}
	if err == nil {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.t.mark(j.folder, j.remaining())
	if w.err == nil {
		w.err = err
	}
}

// batch is the approximate number of files reported at a time.
const batch = 512

// size returns the number of files that the worker has not reported yet.
func (w *worker) size() int {
	n := len(w.change.Added) + len(w.change.Removed)
	for _, files := range w.changed {
		n += len(files)
	}
	return n
}

// flush reports what the worker has found. Other readers get it at their next Update.
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
		case reader == nil || !reader.caughtUp || c.size() == 0:
		case reader != w.t:
			reader.missed.add(c)
		case w.each != nil:
			w.each(c)
		}
	}
	w.change, w.changed = Change{}, [maxReaders][]*File{}
}
