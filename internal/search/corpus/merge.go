package corpus

import "sync"

// run searches a view: in this goroutine if there is little to do, with workers otherwise.
func (s *search) run(v *view) {
	s.plan = newPlan(s.corpus, v, &s.query)
	s.summary.Files = s.plan.texts
	var first unit
	switch {
	case !s.plan.next(&first):
	case s.plan.more():
		s.together(first)
	default:
		w := &worker{search: s, hand: func(_ int, t *tray, _ bool) { s.give(t) }}
		w.do(&first)
		w.scratch.close()
	}
	s.give(&s.plan.recalled)
}

// together lets several workers search, and gives what they find in order. One of them begins with a unit that was taken already.
func (s *search) together(first unit) {
	l := &lineUp{
		window:  16 * s.corpus.o.Workers,
		trays:   map[int][]*tray{},
		done:    map[int]bool{},
		workers: s.corpus.o.Workers,
	}
	l.changed.L = &l.mu
	var working sync.WaitGroup
	for i := range s.corpus.o.Workers {
		working.Go(func() {
			defer l.leave()
			w := &worker{search: s, hand: l.hand}
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
		s.give(t)
		if s.ended {
			l.abandon()
		}
	}
	working.Wait()
}

// give takes up what was found in a unit.
func (s *search) give(t *tray) {
	sum := &s.summary
	sum.Matches += t.matches
	sum.Skipped += t.skipped
	sum.Matched += t.matched
	sum.Files += t.files
	s.missed = s.missed || t.missed
	for i := range t.found {
		if s.ended || s.query.Limit > 0 && s.given >= s.query.Limit {
			return
		}
		s.giveFile(&t.found[i])
	}
}

// giveFile gives a file, with as many of its lines as are still wanted.
func (s *search) giveFile(f *finding) {
	found := Found{Path: f.doc.file.Path, Count: f.count, Lines: f.lines}
	if s.query.Tally {
		s.given++
	} else {
		wanted := len(f.hits) + len(f.lines)
		if s.query.Limit > 0 {
			wanted = min(wanted, s.query.Limit-s.given)
		}
		if f.lines == nil {
			found.Lines = s.lines(f.doc.text(), f.hits[:wanted], 0)
		} else {
			found.Lines = f.lines[:wanted]
		}
		s.given += wanted
	}
	if s.query.Limit > 0 && s.given >= s.query.Limit {
		s.full.Store(true)
	}
	if !s.each(found) {
		s.ended = true
		s.stop.Store(true)
	}
}

// A lineUp hands what workers find to the one who gives it, in the order of units. Nobody gets far ahead, so that little waits.
type lineUp struct {
	window int // how many units may be ahead

	mu        sync.Mutex
	changed   sync.Cond
	turn      int             // the unit that is given now
	trays     map[int][]*tray // of units that are not given yet
	done      map[int]bool    // all trays of the unit have been handed
	workers   int             // that still work
	abandoned bool            // nothing more is given
}

// hand takes a tray. One that is not the last of its unit waits until it is wanted.
func (l *lineUp) hand(unit int, t *tray, last bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for !l.abandoned && (unit >= l.turn+l.window || !last && (unit != l.turn || len(l.trays[unit]) > 0)) {
		l.changed.Wait()
	}
	if l.abandoned {
		return
	}
	l.trays[unit] = append(l.trays[unit], t)
	if last {
		l.done[unit] = true
	}
	if unit == l.turn {
		l.changed.Broadcast()
	}
}

// take returns the next tray, or nil after the last one.
func (l *lineUp) take() *tray {
	l.mu.Lock()
	defer l.mu.Unlock()
	for !l.abandoned {
		if trays := l.trays[l.turn]; len(trays) > 0 {
			l.trays[l.turn] = trays[1:]
			l.changed.Broadcast()
			return trays[0]
		}
		switch {
		case l.done[l.turn]:
			delete(l.trays, l.turn)
			delete(l.done, l.turn)
			l.turn++
			l.changed.Broadcast()
		case l.workers == 0:
			return nil
		default:
			l.changed.Wait()
		}
	}
	return nil
}

// leave says that a worker has ended.
func (l *lineUp) leave() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.workers--
	l.changed.Broadcast()
}

// abandon lets workers go on to their end without handing anything.
func (l *lineUp) abandon() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.abandoned = true
	l.changed.Broadcast()
}
