package corpus

import "sync"

// run searches a view: in this goroutine if there is little to do, otherwise with workers.
func (s *search) run(v *view) {
	s.plan = newPlan(s.corpus, v, &s.query)
	s.summary.Files = s.plan.texts
	if s.query.Bytes {
		s.summary.Bytes = v.bytes(s.query.Only)
	}
	var first unit
	switch {
	case !s.plan.next(&first):
	case s.plan.more():
		s.runParallel(first)
	default:
		w := &worker{search: s, put: func(_ int, t *unitResult, _ bool) { s.deliver(t) }}
		w.do(&first)
		w.scratch.close()
	}
	s.deliver(&s.plan.known)
}

// runParallel searches with several workers, and delivers their results in order. One worker begins
// with first, which was taken already.
func (s *search) runParallel(first unit) {
	l := &orderedQueue{
		window:  16 * s.corpus.o.Workers,
		results: map[int][]*unitResult{},
		done:    map[int]bool{},
		workers: s.corpus.o.Workers,
	}
	l.changed.L = &l.mu
	var working sync.WaitGroup
	for i := range s.corpus.o.Workers {
		working.Go(func() {
			defer l.workerDone()
			w := &worker{search: s, put: l.put}
			defer w.scratch.close()
			var u unit
			if i == 0 {
				u = first
				w.do(&u)
			}
			for s.plan.next(&u) {
				w.do(&u)
			}
		})
	}
	for t := l.take(); t != nil; t = l.take() {
		s.deliver(t)
		if s.ended {
			l.abandon()
		}
	}
	working.Wait()
}

// deliver delivers the results of a unit.
func (s *search) deliver(t *unitResult) {
	sum := &s.summary
	sum.Matches += t.matches
	sum.Skipped += t.skipped
	sum.Matched += t.matched
	sum.Files += t.files
	if s.query.Bytes {
		sum.Bytes += t.bytes
	}
	s.missed = s.missed || t.missed
	s.tooLarge = s.tooLarge || t.tooLarge
	s.unreadable = append(s.unreadable, t.unreadable...)
	for i := range t.found {
		if s.ended || s.query.Limit > 0 && s.delivered >= s.query.Limit {
			return
		}
		s.deliverFile(&t.found[i])
	}
}

// deliverFile delivers a file with as many of its lines as the limit still allows.
func (s *search) deliverFile(f *fileResult) {
	found := FileMatches{Path: f.doc.file.Path, Count: f.count, Lines: f.lines}
	if s.query.Bytes {
		found.Bytes = f.bytes
	}
	if s.query.CountOnly {
		s.delivered++
	} else {
		wanted := len(f.hits) + len(f.lines)
		if s.query.Limit > 0 {
			wanted = min(wanted, s.query.Limit-s.delivered)
		}
		if f.lines == nil {
			found.Lines = s.lines(f.doc.text(), f.hits[:wanted], textRange{})
		} else {
			found.Lines = f.lines[:wanted]
		}
		s.delivered += wanted
	}
	if s.query.Limit > 0 && s.delivered >= s.query.Limit {
		s.full.Store(true)
	}
	if !s.each(found) {
		s.ended = true
		s.stop.Store(true)
	}
}

// An orderedQueue passes the results of workers to the consumer in the order of units. It limits
// how far workers can run ahead, so that few results are buffered.
type orderedQueue struct {
	window int // how many units workers may be ahead

	mu        sync.Mutex
	changed   sync.Cond
	current   int                   // the unit being delivered
	results   map[int][]*unitResult // results of units that are not delivered yet
	done      map[int]bool          // the unit has no more results
	workers   int                   // number of running workers
	abandoned bool                  // no more results are delivered
}

// put adds a result. If it is not the last of its unit, put blocks until the consumer needs it.
func (l *orderedQueue) put(unit int, t *unitResult, last bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for !l.abandoned && (unit >= l.current+l.window || !last && (unit != l.current || len(l.results[unit]) > 0)) {
		l.changed.Wait()
	}
	if l.abandoned {
		return
	}
	l.results[unit] = append(l.results[unit], t)
	if last {
		l.done[unit] = true
	}
	if unit == l.current {
		l.changed.Broadcast()
	}
}

// take returns the next result, or nil after the last one.
func (l *orderedQueue) take() *unitResult {
	l.mu.Lock()
	defer l.mu.Unlock()
	for !l.abandoned {
		if results := l.results[l.current]; len(results) > 0 {
			l.results[l.current] = results[1:]
			l.changed.Broadcast()
			return results[0]
		}
		switch {
		case l.done[l.current]:
			delete(l.results, l.current)
			delete(l.done, l.current)
			l.current++
			l.changed.Broadcast()
		case l.workers == 0:
			return nil
		default:
			l.changed.Wait()
		}
	}
	return nil
}

// workerDone records that a worker has finished.
func (l *orderedQueue) workerDone() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.workers--
	l.changed.Broadcast()
}

// abandon lets workers finish without storing results.
func (l *orderedQueue) abandon() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.abandoned = true
	l.changed.Broadcast()
}
