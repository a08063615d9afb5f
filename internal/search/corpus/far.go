package corpus

import "remit/internal/search/tree"

// lookFar searches a doc whose text is not in memory.
//
// What the tree knows of a file is when it was last read, to tell what has changed since. That is for those who read files for
// the view: what a search reads is forgotten, and must not make the view's texts or trigrams look newer than they are. So it
// reads under a name of its own.
func (w *worker) lookFar(j *job) {
	w.file = &tree.File{Path: j.file.Path}
	data, is := w.corpus.read(w.file, mostScratch, w.scratch.room)
	if is == unread && data == nil {
		w.lookLarge(j)
		return
	}
	var text []byte
	if is == unread {
		text, is = decoded(data)
	}
	w.reckon(j.doc, is == textual)
	if is == textual {
		w.look(j, text, sheet{})
	}
}

// reckon corrects how many files are searched by what a doc has proved to be.
func (w *worker) reckon(d *doc, isText bool) {
	switch {
	case isText && d.kind != textual:
		w.tray.files++
	case !isText && d.kind == textual:
		w.tray.files--
	}
}

// lookLarge searches a doc piece by piece.
func (w *worker) lookLarge(j *job) {
	f, err := w.corpus.tree.Open(w.file)
	if err != nil {
		w.reckon(j.doc, false)
		return
	}
	defer f.Close()
	p := newPieces(f, w.query.Context, &w.stop, pieceSize, longestLine)
	w.reckon(j.doc, p != nil)
	if p == nil {
		return
	}
	matched, whole := false, true
	for whole && p.next() {
		var count int
		count, whole = w.look(j, p.data, sheet{lines: p.lines, before: p.from, end: p.to, again: matched})
		matched = matched || count > 0
	}
	if whole && w.stop.Load() {
		w.miss(j.doc)
	}
}
