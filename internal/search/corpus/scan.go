package corpus

import (
	"cmp"
	"strings"

	"remit/internal/search/tree"
)

// A unitResult is what was found in a unit, or in a part of it.
type unitResult struct {
	found   []fileResult // files to deliver, in order
	matches int
	skipped int  // matches that are not after Query.After
	matched int  // files with matches
	files   int  // files found to be texts, minus known texts that were not searched
	missed  bool // something was not searched

	tooLarge bool // a file is too large to be searched
	// Files that were found to be unreadable.
	unreadable []string
	bytes      int64 // size of the searched texts that were not known before
}

// A fileResult holds the matching lines of one file.
type fileResult struct {
	doc   *doc
	count int
	hits  []hit  // places of lines in the text, if that stays in memory
	lines []Line // the lines, if it does not
	bytes int64  // number of bytes of the text that were searched
}

// A hit is a matching line: its number, and the offsets of its start and end in the text.
type hit struct{ number, start, end int }

// maxBatchLines is the number of lines that are collected before they are passed on, if the query
// has no limit.
const maxBatchLines = 1024

// A worker searches one unit after another.
type worker struct {
	*search
	put        func(unit int, t *unitResult, last bool)
	unit       int
	unitResult *unitResult
	kept       int   // lines in the result
	hits       []hit // buffer for hits that are converted to lines at once
	scratch    scratch
	file       *tree.File // a file that is read for this search alone
}

// do searches a unit.
func (w *worker) do(u *unit) {
	w.unit, w.unitResult, w.kept = u.number, &unitResult{}, 0
	for i := range u.jobs {
		switch j := &u.jobs[i]; {
		case w.stop.Load():
			w.markMissed(j.doc)
		case j.onDisk():
			w.searchOnDisk(j)
		default:
			w.searchText(j, j.text(), textRange{stays: true})
		}
	}
	w.put(w.unit, w.unitResult, true)
}

// markMissed records that a doc was not searched, or not to its end.
func (w *worker) markMissed(d *doc) {
	w.unitResult.missed = true
	if d.kind == textual {
		w.unitResult.files--
	}
}

// A textRange describes a text and the part of it to search.
type textRange struct {
	stays  bool  // the text stays in memory until the search has ended
	lines  int   // number of lines before the part to search in the file
	offset int64 // offset of the text in the file
	before int   // bytes at its start that are only context
	end    int   // bytes after this offset are only context; 0 if there are none
	found  int   // number of lines that matched in earlier parts of the file
}

// searchText searches a text. It returns the number of matching lines, and false if it was stopped.
func (w *worker) searchText(j *job, data []byte, s textRange) (count int, whole bool) {
	text := data[s.before:cmp.Or(s.end, len(data))]
	if j.kind != textual {
		w.unitResult.bytes += int64(len(text))
	}
	var skipped int
	f := fileResult{doc: j.doc, bytes: s.offset + int64(s.before+len(text))}
	if j.from == noLines || w.query.CountOnly || w.remaining() == 0 {
		count, whole = w.count(j, text)
		count = min(count, w.query.allowed(s))
	} else {
		count, skipped, whole = w.collect(&f, j, data, text, s)
	}
	if j.from == noLines {
		skipped = count
	}
	w.makeLines(&f, data, s)
	w.record(&f, count, skipped, s.found > 0)
	switch {
	case whole && count < w.query.allowed(s):
		j.slot.keep(count)
	case !whole:
		w.markMissed(j.doc)
	}
	return count, whole
}

// allowed returns how many lines may be found in a part of a file.
func (q *Query) allowed(s textRange) int {
	if q.PerFile == 0 {
		return noLines
	}
	return q.PerFile - s.found
}

// count counts the matching lines, unless the count is cached.
func (w *worker) count(j *job, text []byte) (count int, whole bool) {
	if count, known := j.slot.known(); known {
		return count, true
	}
	return w.query.Pattern.Count(text, &w.stop)
}

// noLines is a line number after which no file has lines.
const noLines = int(^uint(0) >> 1)

// from returns the line of the file after which lines are delivered.
func (q *Query) from(path string) int {
	if q.After.Path == "" {
		return 0
	}
	switch order := strings.Compare(path, q.After.Path); {
	case order > 0:
		return 0
	case order < 0 || q.CountOnly:
		return noLines
	}
	return q.After.Line
}

// remaining returns how many more lines to collect.
func (w *worker) remaining() int {
	switch {
	case w.full.Load() || int64(w.unit) > w.enough.Load():
		return 0
	case w.query.Limit == 0:
		return noLines
	}
	return max(0, w.query.Limit-w.kept)
}

// collect keeps the lines to deliver and counts the others.
func (w *worker) collect(f *fileResult, j *job, data, text []byte, s textRange) (count, skipped int, whole bool) {
	left, allowed := w.remaining(), w.query.allowed(s)
	rest := -1 // offset from which lines are only counted
	whole = w.query.Pattern.Scan(text, &w.stop, func(number, start, end int) bool {
		if s.lines+number <= j.from {
			skipped++
			count++
			return count < allowed
		}
		if left == 0 {
			rest = start
			return false
		}
		left--
		count++
		w.keepLine(f, data, s, hit{number, s.before + start, s.before + end})
		return count < allowed
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
	return min(count, allowed), skipped, whole
}

// keepLine adds a line to the result. In a search without a limit, it delivers the lines in batches
// of maxBatchLines.
func (w *worker) keepLine(f *fileResult, data []byte, s textRange, h hit) {
	if w.kept++; w.kept == w.query.Limit {
		w.markEnough()
	}
	if f.hits == nil && w.linesNow(s) {
		f.hits = w.hits[:0]
	}
	f.hits = append(f.hits, h)
	if w.kept < maxBatchLines || w.query.Limit > 0 {
		return
	}
	w.makeLines(f, data, s)
	f.count = len(f.lines)
	w.unitResult.found = append(w.unitResult.found, *f)
	w.put(w.unit, w.unitResult, false)
	w.unitResult, w.kept = &unitResult{}, 0
	*f = fileResult{doc: f.doc, bytes: f.bytes}
}

// markEnough records that the units after this one need not deliver anything.
func (w *worker) markEnough() {
	for {
		before := w.enough.Load()
		if int64(w.unit) >= before || w.enough.CompareAndSwap(before, int64(w.unit)) {
			return
		}
	}
}

// linesNow reports whether hits must be converted to lines at once: because the text goes away, or
// because there are so many lines that all workers should share the work.
func (w *worker) linesNow(s textRange) bool { return !s.stays || w.query.Limit == 0 }

// makeLines converts hits to lines if that must be done at once.
func (w *worker) makeLines(f *fileResult, data []byte, s textRange) {
	if len(f.hits) > 0 && w.linesNow(s) {
		f.lines = w.lines(data, f.hits, s)
		w.hits, f.hits = f.hits, nil
	}
}

// record adds what was found in a file to the unit's result.
func (w *worker) record(f *fileResult, count, skipped int, again bool) {
	w.unitResult.matches += count
	w.unitResult.skipped += skipped
	if count > 0 && !again {
		w.unitResult.matched++
	}
	switch {
	case w.query.Limit == 0 && !w.query.CountOnly:
		f.count = len(f.lines)
	default:
		f.count = count
	}
	delivers := len(f.hits)+len(f.lines) > 0 || w.query.CountOnly && count > skipped && !w.full.Load()
	if delivers {
		w.unitResult.found = append(w.unitResult.found, *f)
	}
}
