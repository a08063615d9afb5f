package corpus

import (
	"cmp"
	"strings"

	"remit/internal/search/tree"
)

// A tray is what was found in a unit, or in a part of it.
type tray struct {
	found   []finding // the files of which something is given, in order
	matches int
	skipped int  // matches that are not after Query.After
	matched int  // files with matches
	files   int  // files that proved to be texts, less those that were known as texts and were not searched
	missed  bool // not all was looked at
}

// A finding is matching lines of one file.
type finding struct {
	doc   *doc
	count int
	hits  []hit  // where lines are in the text, if that stays,
	lines []Line // and the lines, if it does not
}

// A hit is a matching line: its number, and where it begins and ends in the text.
type hit struct{ number, start, end int }

// mostLines is how many lines are kept before they are handed on, if all are wanted.
const mostLines = 1024

// A worker searches one unit after another.
type worker struct {
	*search
	hand    func(unit int, t *tray, last bool)
	unit    int
	tray    *tray
	kept    int   // lines in the tray
	hits    []hit // room for those that are made lines at once
	scratch scratch
	file    *tree.File // that is read for this search alone
}

// do searches a unit.
func (w *worker) do(u *unit) {
	w.unit, w.tray, w.kept = u.number, &tray{}, 0
	for i := range u.jobs {
		switch j := &u.jobs[i]; {
		case w.stop.Load():
			w.miss(j.doc)
		case j.far():
			w.lookFar(j)
		default:
			w.look(j, j.text(), sheet{stays: true})
		}
	}
	w.hand(w.unit, w.tray, true)
}

// miss notes that a doc was not searched, or not to its end.
func (w *worker) miss(d *doc) {
	w.tray.missed = true
	if d.kind == textual {
		w.tray.files--
	}
}

// A sheet says what a text is of which a part, or all, is searched.
type sheet struct {
	stays  bool // the text is there until the search has ended
	lines  int  // that come before it in the file
	before int  // bytes of it that were searched before, and are there for context
	end    int  // what comes after this is there for context; 0: nothing is
	again  bool // there were matches in the file before
}

// look searches a text, and returns false if it was stopped, and how many lines matched.
func (w *worker) look(j *job, data []byte, s sheet) (count int, whole bool) {
	text := data[s.before:cmp.Or(s.end, len(data))]
	var skipped int
	f := finding{doc: j.doc}
	if j.from == never || w.query.Tally || w.room() == 0 {
		count, whole = w.count(j, text)
	} else {
		count, skipped, whole = w.collect(&f, j, data, text, s)
	}
	if j.from == never {
		skipped = count
	}
	w.settle(&f, data, s)
	w.note(&f, count, skipped, s.again)
	if whole {
		j.slot.keep(count)
	} else {
		w.miss(j.doc)
	}
	return count, whole
}

// count counts the lines that match, unless it is known how many there are.
func (w *worker) count(j *job, text []byte) (count int, whole bool) {
	if count, known := j.slot.known(); known {
		return count, true
	}
	return w.query.Pattern.Count(text, &w.stop)
}

// never is the line after which lines of a file are given of which none are.
const never = int(^uint(0) >> 1)

// from returns the line after which lines of a file are given.
func (q *Query) from(path string) int {
	if q.After.Path == "" {
		return 0
	}
	switch order := strings.Compare(path, q.After.Path); {
	case order > 0:
		return 0
	case order < 0 || q.Tally:
		return never
	}
	return q.After.Line
}

// room returns how many lines more are collected.
func (w *worker) room() int {
	switch {
	case w.full.Load() || int64(w.unit) > w.enough.Load():
		return 0
	case w.query.Limit == 0:
		return never
	}
	return max(0, w.query.Limit-w.kept)
}

// collect notes the lines that are wanted, and counts the others.
func (w *worker) collect(f *finding, j *job, data, text []byte, s sheet) (count, skipped int, whole bool) {
	room := w.room()
	rest := -1 // where lines begin that are only counted
	whole = w.query.Pattern.Scan(text, &w.stop, func(number, start, end int) bool {
		if s.lines+number <= j.from {
			skipped++
			count++
			return true
		}
		if room == 0 {
			rest = start
			return false
		}
		room--
		count++
		w.keep(f, data, s, hit{number, s.before + start, s.before + end})
		return true
	})
	if rest < 0 {
		return count, skipped, whole
	}
	if known, ok := j.slot.known(); ok {
		count = known
	} else {
		var more int
		more, whole = w.query.Pattern.Count(text[rest:], &w.stop)
		count += more
	}
	return count, skipped, whole
}

// keep puts a line into the finding. If there are very many, they are handed on.
func (w *worker) keep(f *finding, data []byte, s sheet, h hit) {
	if w.kept++; w.kept == w.query.Limit {
		w.suffices()
	}
	if f.hits == nil && w.forgets(s) {
		f.hits = w.hits[:0]
	}
	f.hits = append(f.hits, h)
	if w.kept < mostLines || w.query.Limit > 0 {
		return
	}
	w.settle(f, data, s)
	f.count = len(f.lines)
	w.tray.found = append(w.tray.found, *f)
	w.hand(w.unit, w.tray, false)
	w.tray, w.kept = &tray{}, 0
	*f = finding{doc: f.doc}
}

// suffices notes that nothing is given of the units after this one.
func (w *worker) suffices() {
	for {
		before := w.enough.Load()
		if int64(w.unit) >= before || w.enough.CompareAndSwap(before, int64(w.unit)) {
			return
		}
	}
}

// forgets tells whether lines must be made at once: because the text goes away, or because so many are wanted that all
// workers should make some.
func (w *worker) forgets(s sheet) bool { return !s.stays || w.query.Limit == 0 }

// settle makes the lines that must be made at once.
func (w *worker) settle(f *finding, data []byte, s sheet) {
	if len(f.hits) > 0 && w.forgets(s) {
		f.lines = w.lines(data, f.hits, s.lines)
		w.hits, f.hits = f.hits, nil
	}
}

// note adds what was found in a file to the tray.
func (w *worker) note(f *finding, count, skipped int, again bool) {
	w.tray.matches += count
	w.tray.skipped += skipped
	if count > 0 && !again {
		w.tray.matched++
	}
	switch {
	case w.query.Limit == 0 && !w.query.Tally:
		f.count = len(f.lines)
	default:
		f.count = count
	}
	given := len(f.hits)+len(f.lines) > 0 || w.query.Tally && count > skipped && !w.full.Load()
	if given {
		w.tray.found = append(w.tray.found, *f)
	}
}
