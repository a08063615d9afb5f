package corpus

import (
	"bytes"
	"errors"
	"io"

	"remit/internal/search/tree"
)

const (
	wholeSize   = 128 << 10 // larger files are read in full only if they do not begin like a binary
	mostText    = 64 << 20  // larger files are never kept
	mostScratch = 4 << 20   // a file that is not kept is read in pieces if it is larger
)

// read reads a file into what room gives for a size, unless it is larger than most or begins like a binary. The content must
// be judged if it is unread and there is any; if there is none, the file was too large, or room gave nil.
func (c *Corpus) read(f *tree.File, most int64, room func(size int) []byte) (data []byte, is kind) {
	var size int64
	data, err := c.tree.Read(f, func(n int64) []byte {
		if size = n; n > wholeSize {
			return nil
		}
		return room(int(n) + 1)
	})
	switch {
	case err != nil:
		return nil, unreadable
	case size <= wholeSize:
		return data, unread
	case size > most:
		return nil, unread
	}
	return c.readLarge(f, int(size), room)
}

// readLarge reads the beginning of a file first.
func (c *Corpus) readLarge(f *tree.File, size int, room func(size int) []byte) (data []byte, is kind) {
	file, err := c.tree.Open(f)
	if err != nil {
		return nil, unreadable
	}
	defer file.Close()
	var head [headSize]byte
	n, err := fill(file, head[:])
	if err != nil {
		return nil, unreadable
	}
	if begunBinary(head[:n]) {
		return nil, binary
	}
	data = room(max(size+1, n))
	if data == nil {
		return nil, unread
	}
	copy(data, head[:n])
	more, err := fill(file, data[n:])
	if err != nil {
		return nil, unreadable
	}
	return data[:n+more], unread
}

// begunBinary tells whether a file that begins so is binary.
func begunBinary(head []byte) bool {
	e, _ := detect(head)
	return e == plain && bytes.IndexByte(head, 0) >= 0
}

// fill reads until data is full or the file ends.
func fill(r io.Reader, data []byte) (int, error) {
	n, err := io.ReadFull(r, data)
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		err = nil
	}
	return n, err
}

// decoded returns what is searched of the content of a file.
func decoded(data []byte) ([]byte, kind) {
	e, mark := detect(data)
	data = data[mark:]
	if e != plain {
		data, _ = e.decode(nil, data, true)
	}
	return judge(data)
}

// load reads the file of a doc into memory, if there is room for its text.
func (c *Corpus) load(d *doc, l *allocator) {
	if d.kind == link {
		return
	}
	data, is := c.read(d.file, mostText, func(size int) []byte {
		if !c.fits(int64(size), l) {
			return nil
		}
		return l.room(size)
	})
	d.kind = is
	if data == nil {
		return
	}
	text, is := decoded(data)
	d.kind = is
	if len(text) == 0 {
		return
	}
	if &text[0] == &data[len(data)-len(text)] || &text[0] == &data[0] {
		d.arena = l.keep(len(data))
	} else {
		room := l.room(len(text))
		copy(room, text)
		text, d.arena = room, l.keep(len(room))
	}
	d.base, d.length = &text[0], uint32(len(text))
}

// fits tells whether so many bytes more are within the budget for texts.
func (c *Corpus) fits(size int64, l *allocator) bool {
	return l.has(size) || c.textBytes.Load()+l.takes(size) <= c.textShare()
}

// textShare is what texts may take of the budget.
func (c *Corpus) textShare() int64 { return c.o.Budget / 4 * 3 }

// A scratch is memory that is used for one file after another.
type scratch struct{ memory *arena }

func (s *scratch) room(size int) []byte {
	if s.memory == nil || len(s.memory.data) < size {
		s.close()
		s.memory = newArena(max(size, smallArena), false)
	}
	return s.memory.data[:size]
}

func (s *scratch) close() {
	if s.memory != nil {
		s.memory.letGo()
	}
	s.memory = nil
}

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
